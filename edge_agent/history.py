"""History on request: looked up a little in each iteration, and sent slowly, so that nothing else waits."""

import json
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from edge_agent.archive import Archive
from edge_agent.core.errors import BadRequest, JournalCorrupt, JournalUnavailable
from edge_agent.core.messages import Reading, format_time
from edge_agent.core.request import MOST, Request, decode_request
from edge_agent.core.topics import OwnTopics
from edge_agent.mqtt import Connection

MAX_REQUESTS = 16
AHEAD_MS = 3_600_000  # a reading can arrive before its own time, if the sensor's clock is ahead
IN_FLIGHT = 20  # answers sent and not acknowledged

Answer = dict[str, Any]


class History:
    """Requests that wait, the one that is looked up, and its answers."""

    def __init__(self, connection: Connection, topics: OwnTopics, directory: Path) -> None:
        self._connection, self._topics, self._directory = connection, topics, directory
        self._requests: deque[Request] = deque()
        self._looking: Iterator[list[Answer]] | None = None
        self._answers: deque[Answer] = deque()
        self._sent: set[int] = set()  # paho's numbers

    def ask(self, payload: bytes) -> None:
        """Queue a request; a wrong one with an id is answered with an error."""
        try:
            request = decode_request(payload)
        except BadRequest as error:
            self._refuse(error.id, str(error))
            return
        if request and len(self._requests) >= MAX_REQUESTS:
            self._refuse(request.id, "too many requests wait; ask again later")
        elif request:
            self._requests.append(request)

    def answer(self) -> bool:
        """Look up a little, send a few answers; True while more wait, so that the loop continues soon."""
        if not self._answers:
            self._look_up()
        while self._answers and self._connection.connected and len(self._sent) < IN_FLIGHT:
            answer = self._answers.popleft()
            payload = json.dumps(answer, separators=(",", ":")).encode()
            self._sent.add(self._connection.publish(self._topics.response(answer["id"]), payload))
        return self._connection.connected and bool(
            self._answers or self._requests or self._looking is not None
        )

    def settle(self, mid: int) -> None:
        """The broker has acknowledged a publication, which may be an answer."""
        self._sent.discard(mid)

    def _refuse(self, id_: str, reason: str) -> None:
        if len(self._answers) < MOST + MAX_REQUESTS:
            self._answers.append({"id": id_, "error": reason})

    def _look_up(self) -> None:
        """Take one step of the present request, or of the next."""
        if self._looking is None and self._requests:
            self._looking = _found(self._directory, self._requests.popleft())
        if self._looking is not None:
            found = next(self._looking, None)
            self._looking = None if found is None else self._looking
            self._answers += found or ()


def _found(directory: Path, request: Request) -> Iterator[list[Answer]]:
    """The answers, after empty steps that each take a moment."""
    try:
        with closing(Archive(directory)) as archive:
            if request.what == "readings":
                yield from _readings(archive, request)
            else:
                yield _published(archive, request)
    except (JournalUnavailable, JournalCorrupt):
        yield [{"id": request.id, "error": "the journal cannot be read now; ask again later"}]


def _published(archive: Archive, request: Request) -> list[Answer]:
    """Estimates or the consensus, as they were published."""
    payloads = archive.history(
        request.sensor, request.from_ms, request.to_ms, request.after_seq, request.last, MOST + 1
    )
    kind = "consensus" if request.what == "consensus" else "estimate"
    return _numbered(request, kind, [json.loads(payload) for payload in payloads])


def _readings(archive: Archive, request: Request) -> Iterator[list[Answer]]:
    """The channels of one time together, as a sensor may send them."""
    rows: dict[int, dict[str, float]] = {}
    most = request.last or MOST + 1
    for table in ("batch", "late"):
        taken = 0
        for readings in archive.arrived(table, request.from_ms - AHEAD_MS, newest_first=bool(request.last)):
            wanted = [each for each in readings if _wanted(each, request)]
            for reading in wanted:
                rows.setdefault(reading.at_ms, {})[reading.channel] = reading.value
            rows = {at_ms: rows[at_ms] for at_ms in _kept(rows, request.last, most)}
            yield []
            taken += len({each.at_ms for each in wanted})
            if request.last and taken >= most:
                break
    times = _kept(rows, request.last, most)
    yield _numbered(request, "reading", [{"at": format_time(at_ms), **rows[at_ms]} for at_ms in times])


def _kept(times: Iterable[int], last: int | None, most: int) -> list[int]:
    return sorted(times)[-most:] if last else sorted(times)[:most]


def _wanted(reading: Reading, request: Request) -> bool:
    return reading.sensor == request.sensor and request.from_ms <= reading.at_ms < request.to_ms


def _numbered(request: Request, kind: str, found: list[Any]) -> list[Answer]:
    more, found = len(found) > MOST, found[:MOST]
    head = {"id": request.id, "of": len(found), "more": more}
    if not found:
        return [{**head, "index": 0, kind: None}]
    return [{**head, "index": index, kind: each} for index, each in enumerate(found)]
