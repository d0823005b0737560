"""The consensus of the van: after each commit, that of the windows which new estimates complete or change."""

import json
from collections.abc import Container, Iterable
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

from edge_agent.change import Outgoing
from edge_agent.clock import Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.consensus_messages import LATE_SENSOR, ConsensusEstimate, consensus_of
from edge_agent.core.derived import SEPARATOR
from edge_agent.core.errors import BadEstimate
from edge_agent.core.messages import LATE_READINGS, PRELIMINARY, Estimate, decode_estimate
from edge_agent.core.topics import CONSENSUS
from edge_agent.journal import Journal
from edge_agent.publisher import Retain
from edge_agent.settings import Consensus, Settings

FACT = "consensus_until"  # the last estimate that the consensus of its window has
LATELY_MS = 3_600_000  # a sensor without a window for so long is not waited for
MOST = 3_000  # windows that wait: a month. A sensor that sends times from 1970 on closes a million


class _New(NamedTuple):
    """Estimates of a window that its consensus does not have: since when, and the number of the first."""

    since_ms: int | None  # by the steady clock
    number: int


class Comparing:
    """Compares the consensus in the journal with what the estimates give now, one window at a time."""

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        commits: GroupCommit,
        models: Container[str],
        retain: Retain,
    ) -> None:
        """`models` has the sensors with a model; it may change."""
        self._chosen = settings.consensus or Consensus()
        self._journal, self._commits, self._models = journal, commits, models
        self._patience_ms = int(self._chosen.patience_s * 1000)
        self._length_ms = settings.windows.length_s * 1000
        self._final_ms = int(settings.windows.final_h * 3_600_000)
        self._busy = False
        self._new: dict[int, _New] = {}  # start of a window -> what is new in it
        self._newest = int(journal.fact(FACT) or 0)
        waiting = journal.closed_windows.starts_after(self._newest)
        # By number: one window in the far future would make all others look old.
        for start_ms, first, last in sorted(waiting, key=itemgetter(2))[-MOST:]:
            self._newest = max(self._newest, last)
            self._new[start_ms] = _New(None, first)
        self._retain, self._topic = retain, settings.own_topics.latest(CONSENSUS)
        self._latest_ms = -1  # the start of the newest window
        self._restore_latest()

    @property
    def waits(self) -> bool:
        """Whether there is more to do soon."""
        return self._busy and bool(self._new)

    def note(self, committed: Iterable[Outgoing]) -> None:
        """These estimates are in the journal now."""
        for each in committed:
            if each.sensor == CONSENSUS:
                self._publish_latest(each.start_ms, each.payload)
            elif SEPARATOR not in each.sensor and self._takes(each.sensor):
                self._newest = max(self._newest, each.id)
                self._new.setdefault(each.start_ms, _New(None, each.id))
        if len(self._new) > 2 * MOST:
            self._new = dict(sorted(self._new.items())[-MOST:])

    def run_due(self, time: Timekeeper) -> None:
        """Make the consensus of one window; the next commit has it."""
        if not self._new or self._commits.has_derived:
            return
        start_ms = self._due(time.elapsed_ms)
        self._busy = start_ms is not None
        if start_ms is None:
            return
        made = self._differing(start_ms, time)
        # Not before the reads above, which may fail: the window is then looked at again.
        del self._new[start_ms]
        if made:
            self._commits.add_derived([made])
            first = min((each.number for each in self._new.values()), default=self._newest + 1)
            self._commits.add_fact(FACT, str(first - 1))

    def _restore_latest(self) -> None:
        for start_ms in self._journal.last_closed(CONSENSUS, 1):
            window = self._journal.closed_windows.one(CONSENSUS, start_ms)
            if window and window.payload and start_ms < self._closed_ms:
                self._publish_latest(start_ms, window.payload)

    def _publish_latest(self, start_ms: int, payload: bytes) -> None:
        """Retain the newest window; one in the future, made by wrong clocks, does not stay for ever."""
        if start_ms >= self._latest_ms or self._latest_ms >= self._closed_ms:
            self._latest_ms = start_ms
            self._retain(self._topic, payload)

    @property
    def _closed_ms(self) -> int:
        """Until when a sensor has closed its windows."""
        return max(self._journal.closed_until().values(), default=0)

    def _due(self, elapsed_ms: int) -> int | None:
        """The first window that every sensor has closed, or that has waited for long enough."""
        closed_until = {
            sensor: closed_ms
            for sensor, closed_ms in self._journal.closed_until().items()
            if self._takes(sensor)
        }
        for start_ms, (since_ms, number) in sorted(self._new.items()):
            if since_ms is None:
                self._new[start_ms] = _New(elapsed_ms, number)
            lately = (each for each in closed_until.values() if each > start_ms - LATELY_MS)
            complete = min(lately, default=0) >= start_ms + self._length_ms
            if complete or elapsed_ms - (elapsed_ms if since_ms is None else since_ms) >= self._patience_ms:
                return start_ms
        return None

    def _takes(self, sensor: str) -> bool:
        return sensor in self._models and self._chosen.takes(sensor)

    def _differing(self, start_ms: int, time: Timekeeper) -> ConsensusEstimate | None:
        """The consensus of a window, if it is not in the journal, or says something else there."""
        before = self._journal.closed_windows.one(CONSENSUS, start_ms)
        if before is None and self._journal.closed_windows.is_lost(CONSENSUS, start_ms):
            return None  # it was published, and its row is deleted
        then = json.loads(before.payload or b"{}") if before else {}
        known = {*then.get("sensors", ()), *then.get("left_out", ())}
        is_open = before is None or not self._is_final(start_ms, time)
        sensors = sorted(known | (self._taken() if is_open else set()))
        estimates = [each for sensor in sensors if (each := self._estimate(sensor, start_ms))]
        # A sensor that had no model then takes no part, although it has one now.
        made = consensus_of([each for each in estimates if each.model])
        if made is None or (before and made.says_the_same(then)):
            return None
        if len(estimates) < len(sensors):
            made = replace(made, status=PRELIMINARY)
        if before is None:
            return made
        late = made.sensors.keys() | made.left_out.keys()
        return made.replacing(before.revision, LATE_SENSOR if late - known else LATE_READINGS)

    def _taken(self) -> set[str]:
        return {*filter(self._takes, self._journal.closed_until())}

    def _is_final(self, start_ms: int, time: Timekeeper) -> bool:
        """Whether no more sensors join the consensus of a window."""
        return time.trusted and start_ms + self._length_ms + self._final_ms <= time.now_ms

    def _estimate(self, sensor: str, start_ms: int) -> Estimate | None:
        window = self._journal.closed_windows.one(sensor, start_ms)
        with suppress(BadEstimate):
            return decode_estimate(window.payload or b"") if window else None
        return None
