"""Closed windows in the journal: their newest revision, where their readings are, and what came late."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgpack  # type: ignore[import-untyped]

from edge_agent.core.derived import SEPARATOR, Derived
from edge_agent.core.messages import FINAL, Estimate, Reading, format_time
from edge_agent.core.tables import sound
from edge_agent.core.warming import REACH_MS
from edge_agent.core.windows import IMPLAUSIBLE_MS, ChannelMean
from edge_agent.database import INSERT, Connection, trouble

SETTLED, WAITING, TOO_LATE = 0, 1, 2  # late readings that a revision has, will have, or never has
SETTLE = f"""UPDATE late SET waiting = {SETTLED}, checksum = checksum - waiting
    WHERE sensor = ? AND start_ms = ? AND id <= ? AND waiting = {WAITING}"""  # noqa: S608
# The newest window of each sensor stays: its estimate is published again on every connection. So do windows
# of an old backlog that closed lately: a restart needs their temperatures. So do windows beyond the first
# open one, as long as their estimates: nothing else says that they are closed.
FORGET = """DELETE FROM closed WHERE (sensor, start_ms) IN (
    SELECT sensor, start_ms FROM closed AS old WHERE start_ms < ?1 AND closed_ms < ?1
    AND start_ms < (SELECT max(start_ms) FROM closed AS other WHERE other.sensor = old.sensor)
    AND (start_ms < (SELECT closed_until_ms FROM sensor WHERE name = old.sensor)
        OR NOT EXISTS (SELECT 1 FROM estimate WHERE id = old.estimate)) LIMIT ?2)
    RETURNING start_ms"""
# Rows of deleted estimates that are not revised any more, and are older than the temperatures for a restart.
USELESS = f"""DELETE FROM closed WHERE (sensor, start_ms) IN (
    SELECT sensor, start_ms FROM closed AS old WHERE start_ms < ?1
    AND start_ms < (SELECT closed_until_ms FROM sensor WHERE name = old.sensor) - {REACH_MS}
    AND NOT EXISTS (SELECT 1 FROM estimate WHERE id = old.estimate) LIMIT ?2)"""  # noqa: S608
KEEP = INSERT["closed"].replace("OR REPLACE", "OR IGNORE")
AT_ONCE = 50  # batches that are read in one step

Settled = tuple[str, int, int]  # sensor, start, the last row of late readings that a revision has


class ClosedWindow(NamedTuple):
    """One row: a window and the newest estimate of it."""

    start_ms: int
    revision: int
    closed_ms: int  # when that estimate was made
    first_batch: int  # the batches that hold its readings in time; 0 if it had none
    last_batch: int
    final: bool
    channels: dict[str, ChannelMean]
    payload: bytes | None  # None if the estimate was deleted


class Newest(NamedTuple):
    """The newest estimate of a window."""

    start_ms: int
    revision: int
    payload: bytes | None  # None if it was deleted


class LateReadings(NamedTuple):
    """The late readings of one window, in the order they came, and the last row that holds some."""

    readings: list[Reading]
    last_row: int


def closed_row(
    window: tuple[str, int, int], estimate: Estimate | Derived, batches: tuple[int, int], now_ms: int
) -> tuple[Any, ...]:
    """The row of a window (series, start, number of the estimate) that was closed or revised.

    `batches` are those of its readings in time.
    """
    means = estimate.channels if isinstance(estimate, Estimate) else {}
    channels = msgpack.packb({channel: tuple(mean) for channel, mean in means.items()})
    return *window, estimate.revision, now_ms, *batches, int(estimate.status == FINAL), channels


class ClosedWindows:
    """Reads and writes two tables of the journal; the journal gives the transaction."""

    def __init__(self, path: Path, db: Connection, window_ms: int, damage: list[str]) -> None:
        """`damage` is the journal's list of what was skipped."""
        self._path, self._db, self._window_ms, self._damage = path, db, window_ms, damage
        self.revise_from_ms = 0  # windows that start before it may have lost revisions or readings

    def revise_later(self, from_ms: int) -> None:
        """Revise no window that starts before `from_ms`, also after a restart."""
        self.revise_from_ms = max(self.revise_from_ms, from_ms)
        self._db.execute(INSERT["fact"], ("revise_from", self.revise_from_ms))

    def insert_late(self, readings: Iterable[Reading], waiting: int, now_ms: int) -> None:
        """Readings of closed windows, one row for each window: WAITING for a revision or TOO_LATE."""
        windows: dict[tuple[str, int], list[Reading]] = {}
        for each in readings:
            windows.setdefault((each.sensor, each.at_ms - each.at_ms % self._window_ms), []).append(each)
        for (sensor, start_ms), late in windows.items():
            row = None, sensor, start_ms, now_ms, msgpack.packb((late, ())), waiting
            self._db.execute(INSERT["late"], row)

    def settle(self, settled: Iterable[Settled]) -> None:
        """A revision has these late readings, or they change nothing."""
        self._db.executemany(SETTLE, settled)

    def one(self, sensor: str, start_ms: int) -> ClosedWindow | None:
        """The row of one window."""
        return next(iter(self.between(sensor, start_ms, start_ms)), None)

    def between(self, sensor: str, first_ms: int, last_ms: int) -> list[ClosedWindow]:
        """The windows of a sensor that start in [first, last], oldest first; damaged ones are left out."""
        query = f"""SELECT start_ms, revision, closed_ms, first_batch, last_batch, final, channels,
            (SELECT payload FROM estimate WHERE id = estimate AND {sound("estimate")}) FROM closed
            WHERE sensor = ? AND start_ms BETWEEN ? AND ? AND {sound("closed")} ORDER BY start_ms"""  # noqa: S608
        with trouble(self._path):
            rows = self._db.execute(query, (sensor, first_ms, last_ms)).fetchall()
        return [ClosedWindow._make((*row[:5], bool(row[5]), _means(row[6]), row[7])) for row in rows]

    def newest(self, series: str, first_ms: int, last_ms: int) -> list[Newest]:
        """The newest estimates that start in [first, last], oldest first; also if their row was deleted."""
        if first_ms >= self.revise_from_ms:
            rows = self.between(series, first_ms, last_ms)
            return [Newest(each.start_ms, each.revision, each.payload) for each in rows]
        # Slower: there is no index by start.
        query = f"""SELECT start_ms, payload FROM estimate
            WHERE sensor = ? AND start_ms BETWEEN ? AND ? AND {sound("estimate")} ORDER BY id"""  # noqa: S608
        with trouble(self._path):
            payloads: dict[int, bytes] = dict(self._db.execute(query, (series, first_ms, last_ms)))
        return [Newest(at_ms, json.loads(data)["revision"], data) for at_ms, data in sorted(payloads.items())]

    def next_start(self, sensor: str, from_ms: int) -> int | None:
        """The first window of a sensor that starts at `from_ms` or later."""
        query = "SELECT min(start_ms) FROM closed WHERE sensor = ? AND start_ms >= ?"
        with trouble(self._path):
            row = self._db.execute(query, (sensor, from_ms)).fetchone()
        return None if row[0] is None else int(row[0])

    def is_lost(self, sensor: str, start_ms: int) -> bool:
        """Whether a window without a sound row was closed before; a damaged row is reported."""
        with trouble(self._path):
            window = "WHERE sensor = ? AND start_ms = ?", (sensor, start_ms)
            if self._db.execute(f"SELECT 1 FROM closed {window[0]}", window[1]).fetchone():  # noqa: S608
                start = format_time(start_ms)
                self._damage.append(f"{self._path}: {sensor} {start} is damaged; it is not revised")
                return True
            return bool(self._db.execute(f"SELECT 1 FROM estimate {window[0]}", window[1]).fetchone())  # noqa: S608

    def first_from(self, sensors: Iterable[str], first_ms: int) -> int | None:
        """The start of the first window of these sensors that starts then or later."""
        query = "SELECT min(start_ms) FROM closed WHERE sensor = ? AND start_ms >= ?"
        with trouble(self._path):
            found = [self._db.execute(query, (sensor, first_ms)).fetchone()[0] for sensor in sensors]
        return min((start_ms for start_ms in found if start_ms is not None), default=None)

    def late(self, sensor: str, start_ms: int) -> LateReadings | None:
        """The late readings of a window, but not those that came too late; None if a row is damaged."""
        query = f"""SELECT id, readings, {sound("late")} FROM late
            WHERE sensor = ? AND start_ms = ? AND waiting != {TOO_LATE} ORDER BY id"""  # noqa: S608
        with trouble(self._path):
            rows = self._db.execute(query, (sensor, start_ms)).fetchall()
        if not all(is_sound for _, _, is_sound in rows):
            return None
        readings = [Reading(*each) for _, blob, _ in rows for each in msgpack.unpackb(blob)[0]]
        return LateReadings(readings, rows[-1][0] if rows else 0)

    def newest_late(self, sensor: str) -> int | None:
        """The start of the newest window with late readings of a sensor, but not of one far in the future."""
        query = "SELECT max(start_ms) FROM late WHERE sensor = ? AND start_ms <= arrived_ms + ?"
        with trouble(self._path):
            row = self._db.execute(query, (sensor, IMPLAUSIBLE_MS)).fetchone()
        return None if row[0] is None else int(row[0])

    def late_between(self, sensor: str, first_ms: int, last_ms: int) -> Iterator[Reading]:
        """The late readings of a sensor in windows that start in [first, last], in the order they came."""
        query = f"""SELECT readings FROM late
            WHERE sensor = ? AND start_ms BETWEEN ? AND ? AND {sound("late")} ORDER BY id"""  # noqa: S608
        with trouble(self._path):
            for (blob,) in self._db.execute(query, (sensor, first_ms, last_ms)):
                yield from (Reading(*each) for each in msgpack.unpackb(blob)[0])

    def in_time(self, sensor: str, window: ClosedWindow) -> Iterator[list[Reading] | None]:
        """The readings of a window that came in time, of some batches after the other.

        None if a batch is deleted or damaged. Those of a clock that was behind may be deleted before others.
        """
        query = f"SELECT readings, {sound('batch')} FROM batch WHERE id BETWEEN ? AND ?"  # noqa: S608
        end_ms = window.start_ms + self._window_ms
        for first in range(window.first_batch or window.last_batch + 1, window.last_batch + 1, AT_ONCE):
            last = min(first + AT_ONCE - 1, window.last_batch)
            with trouble(self._path):
                rows = self._db.execute(query, (first, last)).fetchall()
            complete = len(rows) == last - first + 1
            if not all(is_sound for _, is_sound in rows):
                start = format_time(window.start_ms)
                self._damage.append(f"{self._path}: readings of {sensor} are damaged; {start} is not revised")
                complete = False
            if not complete:
                yield None
                return
            yield [
                Reading(*each)
                for blob, _ in rows
                for each in msgpack.unpackb(blob)[0]
                if each[0] == sensor and window.start_ms <= each[2] < end_ms
            ]

    def waiting(self, rows: int = -1) -> Iterator[Reading]:
        """Late readings that no revision has yet, of so many rows; by default of all."""
        some = f"SELECT * FROM late WHERE waiting = {WAITING} ORDER BY id LIMIT ?"  # noqa: S608
        query = f"SELECT readings FROM ({some}) WHERE {sound('late')}"  # noqa: S608
        with trouble(self._path):
            for (blob,) in self._db.execute(query, (rows,)):
                yield from (Reading(*each) for each in msgpack.unpackb(blob)[0])

    def revised(self) -> Iterator[tuple[str, int, int, int]]:
        """Sensor, start, revision and when it was made, of every window that was revised."""
        query = """SELECT sensor, start_ms, revision, closed_ms FROM closed
            WHERE revision > 0 AND instr(sensor, '/') = 0"""
        with trouble(self._path):
            yield from self._db.execute(query)

    def made_after(self, id_: int) -> list[tuple[str, int, int, int]]:
        """Each sensor with estimates above this number: the first start, the first and the last number."""
        return self._after(id_, "sensor, min(start_ms)", "sensor")

    def starts_after(self, id_: int) -> list[tuple[int, int, int]]:
        """Each start of estimates above this number: the first and the last number."""
        return self._after(id_, "start_ms", "start_ms")

    def _after(self, id_: int, what: str, by: str) -> list[Any]:
        query = f"""SELECT {what}, min(id), max(id) FROM estimate
            WHERE id > ? AND instr(sensor, '{SEPARATOR}') = 0 GROUP BY {by}"""  # noqa: S608
        with trouble(self._path):
            return self._db.execute(query, (id_,)).fetchall()

    def ahead(self, closed_until: Mapping[str, int]) -> set[tuple[str, int]]:
        """Closed windows beyond the first that is open: they come from implausible timestamps."""
        query = "SELECT sensor, start_ms FROM closed WHERE sensor = ? AND start_ms >= ?"
        with trouble(self._path):
            return {row for each in closed_until.items() for row in self._db.execute(query, each)}

    def forget(self, revised_after_ms: int, most: int) -> bool:
        """Delete windows that are not revised any more; returns whether there may be more than `most`.

        A late reading may still wait, but without the row of its window those in time are unknown, and the
        windows of the next day lack its temperature. Later windows are not lost, although `revised_after_ms`
        may say so: that clock may be a year ahead.
        """
        deleted = self._db.execute(FORGET, (revised_after_ms, most)).fetchall()
        lost_until_ms = max((start_ms + 1 for (start_ms,) in deleted), default=-REACH_MS) + REACH_MS
        if (from_ms := min(lost_until_ms, revised_after_ms)) > self.revise_from_ms:
            self.revise_later(from_ms)
        return len(deleted) == most

    def shed(self, most: int) -> int:
        """Delete up to `most` rows of deleted estimates that nothing needs; returns how many."""
        return self._db.execute(USELESS, (self.revise_from_ms, most)).rowcount


def recover(db: Connection) -> None:
    """Give windows of the last day without a row one, from the newest estimate of each.

    Where their readings are is unknown, so late ones do not change them.
    """
    closed_until_ms = "(SELECT closed_until_ms FROM sensor WHERE name = estimate.sensor)"
    made = f"""SELECT id, sensor, start_ms, closed_ms, payload FROM estimate
        WHERE start_ms >= {closed_until_ms} - {REACH_MS} AND {sound("estimate")} ORDER BY id DESC"""  # noqa: S608
    for id_, sensor, start_ms, closed_ms, payload in db.execute(made):
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            record = json.loads(payload)
            row = sensor, start_ms, id_, record["revision"], closed_ms, 0, 0, 1, _channels(record)
            db.execute(KEEP, row)


def _channels(record: dict[str, Any]) -> bytes:
    """The means that an estimate was computed from; a mean over hours has none."""
    inputs = record.get("inputs", {})
    found = {name: float(mean) for name, mean in inputs.items() if name in record["minutes"]}
    counts = {name: int(record["minutes"][name]) for name in found}
    packed: bytes = msgpack.packb(
        {name: (mean, counts[name], counts[name], mean, mean) for name, mean in found.items()}
    )
    return packed


def _means(blob: bytes) -> dict[str, ChannelMean]:
    with suppress(ValueError, TypeError, AttributeError, msgpack.UnpackException):
        return {name: ChannelMean(*mean) for name, mean in msgpack.unpackb(blob).items()}
    return {}
