"""The agent's disk: readings before they are acknowledged, estimates until they are delivered.

One SQLite file. Readings are stored in batches, one row per batch, because a row per reading would wear out
an SD card. A batch and the estimates of the windows it closed are one transaction.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import NamedTuple

import msgpack  # type: ignore[import-untyped]

from edge_agent import database
from edge_agent.change import Change, Outgoing, Trace
from edge_agent.closed_windows import TOO_LATE, WAITING, ClosedWindows, closed_row
from edge_agent.core.derived import SEPARATOR, Derived
from edge_agent.core.errors import JournalCorrupt, JournalUnavailable
from edge_agent.core.messages import LAST_MS, LIMIT, Estimate, Reading, encode_estimate, is_sensor
from edge_agent.core.positions import MOST, Fix
from edge_agent.core.tables import sound
from edge_agent.database import INSERT, REBUILD_FROM, trouble
from edge_agent.opening import connect
from edge_agent.outbox import Outbox
from edge_agent.sequences import Sequences
from edge_agent.trimming import Dropped, Trimming

FILE = "journal.db"
NEW = ".new"  # a journal that replaces this one at the next start
DELIVERED = "UPDATE estimate SET waiting = 0, checksum = checksum - waiting WHERE id = ?"
NEXT_ESTIMATE = """SELECT 1 + max(ifnull((SELECT max(id) FROM estimate), 0),
    ifnull((SELECT max(estimate) FROM closed), 0))"""
DAY_MS = 86_400_000


class Mean(NamedTuple):
    """One channel in one estimate."""

    start_ms: int
    mean: float
    minutes: int


Window = tuple[str, int]  # sensor, start


class Journal:
    """Readings, estimates and sequence numbers that survive a crash or a power cut."""

    def __init__(
        self, path: Path, window_ms: int, durability: str = "power-loss", damage: list[str] | None = None
    ) -> None:
        self.path = path
        # What was found damaged and skipped, until the agent has logged it.
        self.damage: list[str] = [] if damage is None else damage
        self._window_ms = window_ms
        self._open: dict[Window, int] = {}  # the first batch with readings of each open window, in its order
        self._beside = Sequences(path.parent, durable=durability == "power-loss")
        with trouble(path):
            self._db = connect(path, durability, self.damage)
            self.closed_windows = ClosedWindows(path, self._db, window_ms, self.damage)
            self.outbox = Outbox(path, self._db, self.damage)
            self._trimming = Trimming(path, self._db, self.closed_windows)
            try:
                self._load()
                self._inode = path.stat().st_ino
            except BaseException:
                self._db.close()
                raise

    def _load(self) -> None:
        self._sensors = {
            name: (closed_ms, seq)
            for name, closed_ms, seq in self._db.execute("SELECT name, closed_until_ms, seq FROM sensor")
        }
        # Not below the first batch of `rebuild`, although all old batches may have been deleted.
        self._next_batch = self._one(f"SELECT max({REBUILD_FROM}, ifnull(max(id), 0) + 1) FROM batch")  # noqa: S608
        # Also above estimates that were deleted and still have a row in `closed`.
        self._next_estimate = self._one(NEXT_ESTIMATE)
        self._next_fix = self._one("SELECT ifnull(max(id), 0) + 1 FROM fix")
        self.dropped = self._fact("dropped")
        self.closed_windows.revise_from_ms = self._fact("revise_from")
        self._catch_up()

    def _catch_up(self) -> None:
        """Numbers never go back, although the file may: a lost log, a replaced or an old file."""
        noted, damaged = self._beside.read()
        ahead = {
            name: state for name, state in noted.items() if state[1] > self._sensors.get(name, (0, 0))[1]
        }
        if damaged:
            self.damage.append(damaged)
        if ahead:
            lost = sum(seq - self._sensors.get(name, (0, 0))[1] for name, (_, seq) in ahead.items())
            self.damage.append(
                f"{self.path}: older than {self._beside.path.name}, {lost} estimates are missing"
            )
            with self._transaction() as db:
                db.executemany(INSERT["sensor"], ((name, *state) for name, state in ahead.items()))
                self.closed_windows.revise_later(self._beside.written_ms() + DAY_MS)
            self._sensors |= ahead
        if damaged or self._sensors != noted:
            self._beside.write(self._sensors)

    def closed_until(self, series: bool = False) -> dict[str, int]:
        """For each sensor, the start of the first window that is not closed yet; also of means, if asked."""
        return {
            name: closed_ms
            for name, (closed_ms, _) in self._sensors.items()
            if series or SEPARATOR not in name
        }

    def rebuild(self) -> Iterator[tuple[list[Reading], list[Trace]]]:
        """The batches from which open windows are rebuilt, in the order they were accepted."""
        closed = self.closed_until()
        ahead = self.closed_windows.ahead(closed)
        batches = f"SELECT id, readings, {sound('batch')} FROM batch WHERE id >= {REBUILD_FROM}"  # noqa: S608
        with trouble(self.path):
            for id_, blob, is_sound in self._db.execute(batches):
                readings, traces = self._unpack(blob, is_sound, f"batch {id_}")
                self._note(id_, readings, closed, ahead)
                yield readings, traces

    def held(self, boot: str) -> tuple[list[Reading], list[Trace], int]:
        """Readings stamped with time since this boot; those of other boots are counted and deleted."""
        with self._transaction() as db:
            held = db.execute(f"SELECT boot, readings, {sound('held')} FROM held")  # noqa: S608
            rows = [(of, *self._unpack(blob, is_sound, "held readings")) for of, blob, is_sound in held]
            if any(of != boot for of, _, _ in rows):
                db.execute("DELETE FROM held WHERE boot != ?", (boot,))
        kept = [reading for of, readings, _ in rows if of == boot for reading in readings]
        # Also of other boots: what is counted as lost may be delivered again.
        traces = [trace for _, _, traces in rows for trace in traces]
        return kept, traces, sum(len(readings) for of, readings, _ in rows if of != boot)

    def commit(self, change: Change, now_ms: int) -> list[Outgoing]:
        """Make all of a change durable at once; estimates get their sequence numbers here."""
        if not change:
            return []
        sensors, outgoing = self._numbered(change)
        closed = {(estimate.sensor, estimate.start_ms) for estimate in change.estimates}
        self._expect_file()
        self._note(self._next_batch, change.readings)
        with self._transaction() as db:
            if change.readings:
                blob = msgpack.packb((change.readings, change.traces))
                # Without a network a clock may be behind by months; nothing arrives before its own time.
                arrived_ms = max(now_ms, min(each.at_ms for each in change.readings))
                db.execute(INSERT["batch"], (self._next_batch, arrived_ms, blob))
            if outgoing:
                rows = ((each.id, each.sensor, each.start_ms, now_ms, each.payload, 1) for each in outgoing)
                db.executemany(INSERT["estimate"], rows)
                db.execute(INSERT["fact"], ("rebuild_from", self._first_open(without=closed)))
                last_batch = self._next_batch if change.readings else self._next_batch - 1
                self._insert_closed(outgoing, [*change.estimates, *change.derived], last_batch, now_ms)
            if change.late or change.too_late or change.settled:
                self._insert_late(change, now_ms)
            states = ((name, *state) for name, state in sensors.items())
            db.executemany(INSERT["sensor"], states)
            if change.released:
                db.execute("DELETE FROM held")
            if change.held:
                db.execute(INSERT["held"], (change.boot, msgpack.packb((change.held, change.traces))))
            db.executemany(DELIVERED, ((id_,) for id_ in change.delivered))
            db.executemany(INSERT["fact"], change.facts.items())
            fixes = ((id_, now_ms, *fix) for id_, fix in enumerate(change.fixes, self._next_fix))
            db.executemany(INSERT["fix"], fixes)
        if sensors:
            self._sensors |= sensors
            self._beside.write(self._sensors)
        self._next_estimate += len(outgoing)
        self._next_fix += len(change.fixes)
        self._next_batch += bool(change.readings)
        for window in closed:
            self._open.pop(window, None)
        return outgoing

    def _insert_closed(
        self,
        outgoing: list[Outgoing],
        estimates: Sequence[Estimate | Derived],
        last_batch: int,
        now_ms: int,
    ) -> None:
        for each, estimate in zip(outgoing, estimates, strict=True):
            batches = self._open.get((each.sensor, each.start_ms), 0), last_batch
            if each.revision:
                before = self.closed_windows.one(each.sensor, each.start_ms)
                batches = (before.first_batch, before.last_batch) if before else (0, 0)
            window = each.sensor, each.start_ms, each.id
            self._db.execute(INSERT["closed"], closed_row(window, estimate, batches, now_ms))

    def _insert_late(self, change: Change, now_ms: int) -> None:
        self.closed_windows.settle(change.settled)
        self.closed_windows.insert_late(change.late, WAITING, now_ms)
        self.closed_windows.insert_late(change.too_late, TOO_LATE, now_ms)

    def fact(self, name: str) -> str | None:
        """A named value; None if there is none, or if it is damaged."""
        query = f"SELECT value FROM fact WHERE name = ? AND {sound('fact')}"  # noqa: S608
        with trouble(self.path):
            row = self._db.execute(query, (name,)).fetchone()
        return None if row is None else str(row[0])

    def means(self, sensor: str, channel: str, since_ms: int) -> list[Mean]:
        """A channel in the newest revisions of a sensor's windows from `since_ms` on, oldest first.

        Windows beyond the last closed one, from implausible timestamps, are left out.
        """
        with trouble(self.path):
            windows = self.closed_windows.between(sensor, since_ms, self._sensors[sensor][0] - 1)
        found = ((each.start_ms, each.channels.get(channel)) for each in windows)
        return [Mean(start_ms, mean.mean, mean.minutes) for start_ms, mean in found if mean]

    def fixes(self) -> list[Fix]:
        """The last MOST positions, in the order they were accepted."""
        columns = f"at_ms, lat, lon, speed_kmh FROM fix WHERE {sound('fix')}"
        with trouble(self.path):
            rows = self._db.execute(f"SELECT {columns} ORDER BY id DESC LIMIT ?", (MOST,))
            return [Fix(*row) for row in rows][::-1]

    def last_closed(self, sensor: str, last: int) -> list[int]:
        """The newest starts of a sensor's closed windows, oldest first."""
        query = "SELECT start_ms FROM closed WHERE sensor = ? ORDER BY start_ms DESC LIMIT ?"
        with trouble(self.path):
            return [start_ms for (start_ms,) in self._db.execute(query, (sensor, last))][::-1]

    @property
    def revise_from_ms(self) -> int:
        """Windows that start before it may have had revisions or readings that are lost."""
        return self.closed_windows.revise_from_ms

    def size_bytes(self) -> int:
        """The size of the journal's content on disk, without free pages."""
        return self._trimming.size_bytes()

    def forget(self, keep_after_ms: int, revised_after_ms: int = 0, now_ms: int = LAST_MS) -> bool:
        """Delete some of what is too old; returns whether there may be more.

        Windows that start before `revised_after_ms` are not revised any more.
        """
        return self._trimming.forget(keep_after_ms, now_ms, self._first_open(), revised_after_ms)

    def shrink(self, max_bytes: int, revised_after_ms: int = 1 << 62, seconds: float = inf) -> Dropped:
        """Delete until the size fits, for about so long; returns what was dropped although somebody waits."""
        first_open, first_fix = self._first_open(), self._next_fix - MOST
        dropped = self._trimming.shrink(max_bytes, first_open, first_fix, revised_after_ms, seconds)
        if dropped.estimates:
            self.dropped += dropped.estimates
            self.commit(Change(facts={"dropped": self.dropped}), now_ms=0)
        return dropped

    def _first_open(self, without: Container[Window] = ()) -> int:
        """The first batch that may hold readings of open windows: it and later ones are not deleted."""
        open_ = (batch for window, batch in self._open.items() if window not in without)
        return next(open_, self._next_batch)

    def close(self) -> None:
        """Merge the write-ahead log into the file and close it."""
        self._db.close()

    def _numbered(self, change: Change) -> tuple[dict[str, tuple[int, int]], list[Outgoing]]:
        """The new states of sensors and their numbered estimates; they become valid with the commit."""
        sensors: dict[str, tuple[int, int]] = {}
        outgoing = []
        made: list[Estimate | Derived] = [*change.estimates, *change.derived]
        for id_, each in enumerate(made, self._next_estimate):
            name = each.sensor if isinstance(each, Estimate) else each.series
            closed_ms, seq = sensors.get(name) or self._sensors.get(name, (0, 0))
            sensors[name] = max(closed_ms, each.end_ms), seq + 1
            outgoing.append(Outgoing(id_, name, each.start_ms, _encoded(each, seq + 1), each.revision))
        for name, closed_ms in change.closed_until.items():
            _, seq = sensors.get(name) or self._sensors.get(name, (0, 0))
            sensors[name] = closed_ms, seq
        return sensors, outgoing

    def _note(
        self,
        batch: int,
        readings: Iterable[Reading],
        closed: Mapping[str, int] | None = None,
        ahead: Container[Window] = (),
    ) -> None:
        """Windows with readings in this batch are open; numbers grow, so the oldest batch comes first."""
        length_ms = self._window_ms
        for window in {(sensor, at_ms - at_ms % length_ms) for sensor, _, at_ms, _ in readings}:
            if not closed or (window[1] >= closed.get(window[0], 0) and window not in ahead):
                self._open.setdefault(window, batch)

    def _unpack(self, blob: bytes, is_sound: int, what: str) -> tuple[list[Reading], list[Trace]]:
        """The readings of a sound row; a damaged one is noted and has none."""
        if is_sound:
            try:
                return decoded(blob)
            # Of format 0, which had no checksums.
            except (ValueError, TypeError, AttributeError, msgpack.UnpackException):
                pass
        self.damage.append(f"{self.path}: {what} is damaged")
        return [], []

    def _expect_file(self) -> None:
        """SQLite would go on writing to a file that was deleted; its content is kept for the next start."""
        try:
            if self.path.stat().st_ino == self._inode:
                return
        except FileNotFoundError:
            copy = self.path.with_name(self.path.name + NEW)
            copy.unlink(missing_ok=True)  # of an attempt without room
            with trouble(self.path):
                self._db.execute("VACUUM INTO ?", (str(copy),))
        except OSError as error:
            raise JournalUnavailable(f"{self.path}: {error.strerror}") from error
        raise JournalCorrupt(f"{self.path}: expected the file that was opened, got another or none")

    def _fact(self, name: str) -> int:
        found = self._db.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return int(found[0]) if found else 0

    def _one(self, query: str) -> int:
        return int(self._db.execute(query).fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[database.Connection]:
        with trouble(self.path), database.transaction(self._db) as db:
            yield db


def _encoded(estimate: Estimate | Derived, seq: int) -> bytes:
    if isinstance(estimate, Estimate):
        return encode_estimate(estimate, seq)
    return estimate.encode(seq)


def decoded(blob: bytes) -> tuple[list[Reading], list[Trace]]:
    """The readings and traces of a batch; ValueError or TypeError if it holds anything else."""
    readings, traces = msgpack.unpackb(blob)
    decoded = [Reading(*each) for each in readings]
    for sensor, channel, at_ms, value in decoded:
        if not (is_sensor(sensor) and type(channel) is str):
            raise ValueError("expected names")
        if not (type(at_ms) is int and 0 <= at_ms < LAST_MS and abs(value) < LIMIT):
            raise ValueError("expected a time and a value")
    return decoded, [tuple(each) for each in traces]
