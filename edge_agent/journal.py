"""The agent's disk: readings before they are acknowledged, estimates until they are delivered.

One SQLite file. Readings are stored in batches, one row per batch, because a row per reading would wear out
an SD card. A batch and the estimates of the windows it closed are one transaction.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import msgpack  # type: ignore[import-untyped]

from edge_agent.core.errors import JournalCorrupt, JournalUnavailable, JournalUnwritable
from edge_agent.core.messages import LIMIT, Estimate, Reading, encode_estimate
from edge_agent.open_batches import OpenBatches, Window

FILE = "journal.db"
SCHEMA = """
CREATE TABLE IF NOT EXISTS batch (
    id INTEGER PRIMARY KEY, arrived_ms INTEGER NOT NULL, readings BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sensor (
    name TEXT PRIMARY KEY, closed_until_ms INTEGER NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS estimate (
    id INTEGER PRIMARY KEY, sensor TEXT NOT NULL, start_ms INTEGER NOT NULL, closed_ms INTEGER NOT NULL,
    payload BLOB NOT NULL, waiting INTEGER NOT NULL DEFAULT 1);
CREATE INDEX IF NOT EXISTS estimate_of_sensor ON estimate (sensor);
CREATE INDEX IF NOT EXISTS outbox ON estimate (id) WHERE waiting = 1;
CREATE INDEX IF NOT EXISTS waiting_of_sensor ON estimate (sensor) WHERE waiting = 1;
CREATE TABLE IF NOT EXISTS held (boot TEXT NOT NULL, readings BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""
REBUILD_FROM = "SELECT ifnull((SELECT value FROM fact WHERE name = 'rebuild_from'), 0)"
SYNCHRONOUS = {"power-loss": "FULL", "process-crash": "NORMAL"}
DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
UNWRITABLE = ("SQLITE_CANTOPEN", "SQLITE_READONLY")
UNAVAILABLE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_BUSY", "SQLITE_LOCKED")
# Of SQLite's pages. The kernel caches the file, so the default of 2 MB would only cost memory.
CACHE_KIB = 64
WAL_PAGES = 250  # the log is merged into the file at 1 MB, so that it does not fill a small disk
BATCHES_AT_ONCE = 100  # of readings, read at once by an export
TRIM_ROWS = 500  # deleted at once, so that deleting never delays the loop


class Outgoing(NamedTuple):
    """An estimate that waits to be delivered."""

    id: int
    sensor: str
    start_ms: int
    payload: bytes


class Mean(NamedTuple):
    """One channel in one estimate."""

    start_ms: int
    mean: float
    minutes: int


Trace = tuple[int, str, str, float]  # mid, sensor, channel, value: see intake


@dataclass(slots=True)
class Change:
    """What becomes durable together: readings and the estimates they closed, deliveries, facts."""

    readings: list[Reading] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    held: list[Reading] = field(default_factory=list)  # stamped with time since `boot`
    boot: str = ""
    released: bool = False  # whether `readings` has all held readings, stamped
    estimates: list[Estimate] = field(default_factory=list)
    closed_until: dict[str, int] = field(default_factory=dict)  # where it is not the end of an estimate
    delivered: list[int] = field(default_factory=list)
    facts: dict[str, str | int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        kept = self.readings or self.held or self.released or self.estimates or self.closed_until
        return bool(kept or self.delivered or self.facts)


class Journal:
    """Readings, estimates and sequence numbers that survive a crash or a power cut."""

    def __init__(
        self,
        path: Path,
        window_ms: int,
        durability: str = "power-loss",
        sensors: Sequence[tuple[str, int, int]] = (),
    ) -> None:
        self.path = path
        self._window_ms = window_ms
        self._open_batches = OpenBatches()
        with _trouble(path):
            self._db = sqlite3.connect(path, isolation_level=None, timeout=5.0)
            try:
                self._prepare(durability, sensors)
            except sqlite3.Error:
                # The caller renames a damaged file.
                self._db.close()
                raise

    def _prepare(self, durability: str, sensors: Sequence[tuple[str, int, int]]) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(f"PRAGMA synchronous = {SYNCHRONOUS[durability]}")
        self._db.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        self._db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._db.executescript(SCHEMA)
        self._db.executemany("INSERT OR IGNORE INTO sensor VALUES (?, ?, ?)", sensors)
        self._sensors = {
            name: (closed_ms, seq) for name, closed_ms, seq in self._db.execute("SELECT * FROM sensor")
        }
        # Not below the first batch of `rebuild`, although all old batches may have been deleted.
        self._next_batch = self._one(f"SELECT max(({REBUILD_FROM}), ifnull(max(id), 0) + 1) FROM batch")  # noqa: S608
        self._next_estimate = self._one("SELECT ifnull(max(id), 0) + 1 FROM estimate")
        self.dropped = self._one("SELECT ifnull((SELECT value FROM fact WHERE name = 'dropped'), 0)")

    def closed_until(self) -> dict[str, int]:
        """For each sensor, the start of the first window that is not closed yet."""
        return {name: closed_ms for name, (closed_ms, _) in self._sensors.items()}

    def rebuild(self) -> Iterator[tuple[list[Reading], list[Trace]]]:
        """The batches from which open windows are rebuilt, in the order they were accepted."""
        query = f"SELECT * FROM batch WHERE id >= ({REBUILD_FROM})"  # noqa: S608
        closed = self.closed_until()
        with _trouble(self.path):
            for id_, arrived_ms, blob in self._db.execute(query):
                readings, traces = self._unpack(blob)
                windows = {w for w in self._windows(readings) if w[1] >= closed.get(w[0], 0)}
                self._open_batches.update(id_, arrived_ms, windows)
                yield readings, traces

    def held(self, boot: str) -> tuple[list[Reading], list[Trace], int]:
        """Readings stamped with time since this boot; those of other boots are counted and deleted."""
        with self._transaction() as db:
            rows = [(of, *self._unpack(blob)) for of, blob in db.execute("SELECT boot, readings FROM held")]
            if any(of != boot for of, _, _ in rows):
                db.execute("DELETE FROM held WHERE boot != ?", (boot,))
        kept = [reading for of, readings, _ in rows if of == boot for reading in readings]
        traces = [trace for of, _, traces in rows if of == boot for trace in traces]
        return kept, traces, sum(len(readings) for of, readings, _ in rows if of != boot)

    def commit(self, change: "Change", now_ms: int) -> list[Outgoing]:
        """Make all of a change durable at once; estimates get their sequence numbers here."""
        if not change:
            return []
        sensors, outgoing = self._numbered(change)
        closed = {(estimate.sensor, estimate.start_ms) for estimate in change.estimates}
        with self._transaction() as db:
            if change.readings:
                blob = msgpack.packb((change.readings, change.traces))
                db.execute("INSERT INTO batch VALUES (?, ?, ?)", (self._next_batch, now_ms, blob))
            if outgoing:
                self._insert(outgoing, closed, now_ms)
            states = ((name, *state) for name, state in sensors.items())
            db.executemany("INSERT OR REPLACE INTO sensor VALUES (?, ?, ?)", states)
            if change.released:
                db.execute("DELETE FROM held")
            if change.held:
                db.execute(
                    "INSERT INTO held VALUES (?, ?)",
                    (change.boot, msgpack.packb((change.held, change.traces))),
                )
            db.executemany(
                "UPDATE estimate SET waiting = 0 WHERE id = ?", ((id_,) for id_ in change.delivered)
            )
            db.executemany("INSERT OR REPLACE INTO fact VALUES (?, ?)", change.facts.items())
        self._sensors |= sensors
        self._next_estimate += len(outgoing)
        if change.readings or closed:
            self._open_batches.update(self._next_batch, now_ms, self._windows(change.readings), closed)
            self._next_batch += bool(change.readings)
        return outgoing

    def _insert(self, outgoing: list[Outgoing], closed: set[Window], now_ms: int) -> None:
        rows = ((each.id, each.sensor, each.start_ms, now_ms, each.payload) for each in outgoing)
        self._db.executemany("INSERT INTO estimate VALUES (?, ?, ?, ?, ?, 1)", rows)
        rebuild_from = self._open_batches.first_open(without=closed) or self._next_batch
        self._db.execute("INSERT OR REPLACE INTO fact VALUES ('rebuild_from', ?)", (rebuild_from,))

    def waiting(self, after: int, most: int) -> list[Outgoing]:
        """The oldest estimates that are not delivered, with numbers above `after`."""
        columns = "SELECT id, sensor, start_ms, payload FROM estimate"
        query = f"{columns} WHERE waiting = 1 AND id > ? ORDER BY id LIMIT ?"
        with _trouble(self.path):
            return [Outgoing(*row) for row in self._db.execute(query, (after, most))]

    def outbox(self) -> tuple[int, int | None]:
        """How many estimates are queued, and when the oldest was made."""
        with _trouble(self.path):
            depth, oldest_ms = self._db.execute(
                "SELECT count(*), min(closed_ms) FROM estimate WHERE waiting = 1"
            ).fetchone()
        return depth, oldest_ms

    def history(self, sensor: str, last: int) -> list[bytes]:
        """The payloads of a sensor's last estimates, in the order they were made (not of their starts)."""
        query = "SELECT payload FROM estimate WHERE sensor = ? ORDER BY id DESC LIMIT ?"
        with _trouble(self.path):
            return [payload for (payload,) in self._db.execute(query, (sensor, last))][::-1]

    def means(self, sensor: str, channel: str, last: int) -> list[Mean]:
        """A channel in a sensor's last estimates, in the order they were made; damaged ones are left out."""
        newest = "SELECT id, start_ms, CAST(payload AS TEXT) AS said FROM estimate WHERE sensor = ?"
        query = f"""
            SELECT start_ms, json_extract(said, ?), json_extract(said, ?)
            FROM ({newest} ORDER BY id DESC LIMIT ?) WHERE json_valid(said) ORDER BY id"""  # noqa: S608
        paths = f"$.inputs.{channel}", f"$.minutes.{channel}"
        with _trouble(self.path):
            rows = self._db.execute(query, (*paths, sensor, last)).fetchall()
        # A flipped bit can turn a stored number into any JSON value.
        return [
            Mean(start_ms, mean, minutes)
            for start_ms, mean, minutes in rows
            if type(mean) is float and abs(mean) < LIMIT and type(minutes) is int
        ]

    def last_closed(self, sensor: str, last: int) -> list[int]:
        """The starts of a sensor's last closed windows, in the order they were closed."""
        query = "SELECT start_ms FROM estimate WHERE sensor = ? ORDER BY id DESC LIMIT ?"
        with _trouble(self.path):
            return [start_ms for (start_ms,) in self._db.execute(query, (sensor, last))][::-1]

    def newest(self) -> list[Outgoing]:
        """The last estimate of each sensor."""
        query = "SELECT max(id), sensor, start_ms, payload FROM estimate GROUP BY sensor"
        with _trouble(self.path):
            return [Outgoing(*row) for row in self._db.execute(query)]

    def size_bytes(self) -> int:
        """The size of the journal's content on disk, without free pages."""
        with _trouble(self.path):
            used = self._one(
                "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count"
            )
            return used * self._one("PRAGMA page_size")

    def forget(self, keep_after_ms: int) -> None:
        """Delete what is too old, but no reading of an open window and no queued estimate."""
        with self._transaction() as db:
            db.execute(
                "DELETE FROM batch WHERE arrived_ms < ? AND id < ?", (keep_after_ms, self._first_open())
            )
            db.execute("DELETE FROM estimate WHERE closed_ms < ? AND waiting = 0", (keep_after_ms,))

    def shrink(self, max_bytes: int) -> int:
        """Delete until the size fits; returns how many queued estimates were dropped.

        Readings of closed windows go first, then delivered estimates, then queued ones.
        """
        for table, condition in (("batch", f"id < {self._first_open()}"), ("estimate", "waiting = 0")):
            while self.size_bytes() > max_bytes and self._delete_oldest(table, condition):
                pass
        dropped = 0
        while self.size_bytes() > max_bytes and (rows := self._drop_waiting()):
            dropped += rows
        if dropped:
            self.dropped += dropped
            self.commit(Change(facts={"dropped": self.dropped}), now_ms=0)
        return dropped

    def _first_open(self) -> int:
        return self._open_batches.first_open() or self._next_batch

    def close(self) -> None:
        """Merge the write-ahead log into the file and close it."""
        self._db.close()

    def _numbered(self, change: Change) -> tuple[dict[str, tuple[int, int]], list[Outgoing]]:
        """The new states of sensors and their numbered estimates; they become valid with the commit."""
        sensors: dict[str, tuple[int, int]] = {}
        outgoing = []
        for id_, estimate in enumerate(change.estimates, self._next_estimate):
            name = estimate.sensor
            closed_ms, seq = sensors.get(name) or self._sensors.get(name, (0, 0))
            sensors[name] = max(closed_ms, estimate.end_ms), seq + 1
            payload = encode_estimate(replace(estimate, seq=seq + 1))
            outgoing.append(Outgoing(id_, name, estimate.start_ms, payload))
        for name, closed_ms in change.closed_until.items():
            _, seq = sensors.get(name) or self._sensors.get(name, (0, 0))
            sensors[name] = closed_ms, seq
        return sensors, outgoing

    def _windows(self, readings: Sequence[Reading]) -> set[Window]:
        return {(r.sensor, r.at_ms - r.at_ms % self._window_ms) for r in readings}

    def _delete_oldest(self, table: str, condition: str) -> int:
        oldest = f"SELECT id FROM {table} WHERE {condition} ORDER BY id LIMIT {TRIM_ROWS}"  # noqa: S608
        with self._transaction() as db:
            return db.execute(f"DELETE FROM {table} WHERE id IN ({oldest})").rowcount  # noqa: S608

    def _drop_waiting(self) -> int:
        """From the sensor that has most, so that one flood does not push out the estimates of others."""
        counts = "SELECT sensor FROM estimate WHERE waiting = 1 GROUP BY sensor ORDER BY count(*) DESC"
        return self._delete_oldest("estimate", f"waiting = 1 AND sensor = ({counts} LIMIT 1)")

    def _unpack(self, blob: bytes) -> tuple[list[Reading], list[Trace]]:
        """SQLite detects damage to its own pages, not inside a row."""
        try:
            readings, traces = msgpack.unpackb(blob)
            return [Reading(*each) for each in readings], [tuple(each) for each in traces]
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise JournalCorrupt(f"{self.path}: a batch of readings is damaged") from error

    def _one(self, query: str) -> int:
        return int(self._db.execute(query).fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with _trouble(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


@contextmanager
def _trouble(path: Path) -> Iterator[None]:
    """Translate SQLite's errors: a damaged file, a file of another user, or a disk that refuses writes."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(DAMAGED):
            raise JournalCorrupt(f"{path}: {error}") from error
        if name.startswith(UNWRITABLE):
            raise JournalUnwritable(f"{path}: {error}; does it belong to another user? Try sudo") from error
        if name.startswith(UNAVAILABLE):
            raise JournalUnavailable(f"{path}: {error}; is the disk full or read-only?") from error
        raise


def salvage(damaged: Path) -> list[tuple[str, int, int]]:
    """The sensors of a damaged journal, if they can be read, so that sequence numbers never go back."""
    try:
        with closing(sqlite3.connect(damaged)) as db:
            return db.execute("SELECT name, closed_until_ms, seq FROM sensor").fetchall()
    except sqlite3.DatabaseError:
        return []


class Archive(Journal):
    """A journal opened read-only, while its agent runs or not.

    A method reads what it returns at once. So a slow reader, such as a pager, never keeps the agent from
    merging its write-ahead log.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        try:
            if not self.path.is_file():
                words = "no such file; expected the journal of an agent that has run"
                raise JournalUnavailable(f"{self.path}: {words}")
        except PermissionError as error:
            raise JournalUnwritable(f"{self.path}: {error.strerror}; try sudo") from error
        with _trouble(self.path):
            self._db = sqlite3.connect(_read_only(self.path), uri=True, isolation_level=None, timeout=5.0)

    def sensors(self) -> list[str]:
        """Every sensor with an estimate, by name."""
        with _trouble(self.path):
            rows = self._db.execute("SELECT name FROM sensor WHERE seq > 0 ORDER BY name")
            return [name for (name,) in rows]

    def estimates(self, sensor: str, from_ms: int, to_ms: int) -> list[bytes]:
        """The newest payload of every window of a sensor that starts in [from, to), in order of time."""
        query = "SELECT start_ms, payload FROM estimate WHERE sensor = ? AND start_ms >= ? AND start_ms < ?"
        with _trouble(self.path):
            newest = dict(self._db.execute(f"{query} ORDER BY id", (sensor, from_ms, to_ms)))
        return [newest[start_ms] for start_ms in sorted(newest)]

    def batches(self) -> Iterator[list[Reading] | None]:
        """The readings of every batch, in the order they were accepted; None for a damaged batch."""
        query = "SELECT id, readings FROM batch WHERE id > ? ORDER BY id LIMIT ?"
        rows = [(0, b"")]
        while rows:
            with _trouble(self.path):
                rows = self._db.execute(query, (rows[-1][0], BATCHES_AT_ONCE)).fetchall()
            for _, blob in rows:
                try:
                    yield self._unpack(blob)[0]
                except JournalCorrupt:
                    yield None

    def health(self) -> str:
        """The last health record of the agent."""
        with _trouble(self.path):
            row = self._db.execute("SELECT value FROM fact WHERE name = 'health'").fetchone()
        if row is None:
            raise JournalUnavailable(f"{self.path}: no health record yet; try again in a minute")
        return str(row[0])


def newest_health(directory: Path) -> str:
    """The last health record of an agent, running or not."""
    with closing(Archive(directory)) as archive:
        return archive.health()


def _read_only(path: Path) -> str:
    """The address for SQLite; a reader that cannot write beside a log-less file must call it immutable."""
    has_log = path.with_name(path.name + "-wal").exists()
    mode = "mode=ro" if has_log or os.access(path.parent, os.W_OK) else "mode=ro&immutable=1"
    return f"{path.absolute().as_uri()}?{mode}"
