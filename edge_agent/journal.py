"""The agent's disk: readings before they are acknowledged, estimates until they are delivered.

One SQLite file. Readings come in batches, one row each, because a row for each reading would wear out an
SD card; a batch and the estimates it closed are one transaction.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import msgpack  # type: ignore[import-untyped]

from edge_agent.core.errors import JournalCorrupt, JournalUnavailable, JournalUnwritable
from edge_agent.core.messages import LIMIT, Estimate, Reading, encode_estimate
from edge_agent.strides import Strides, Window

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
CACHE_KIB = (
    64  # of SQLite's pages; the kernel caches the file, its default of 2 MB would be memory for nothing
)
WAL_PAGES = 250  # the log is folded into the file at 1 MB, so that a small disk does not fill with it
TRIM_ROWS = 500  # deleted in one go, so that trimming never holds up the loop


class Outgoing(NamedTuple):
    """An estimate that waits to be delivered."""

    id: int
    sensor: str
    start_ms: int
    payload: bytes


class Mean(NamedTuple):
    """What an estimate says of one channel."""

    start_ms: int
    mean: float
    minutes: int
    expected: int


Trace = tuple[int, str, str, float]  # mid, sensor, channel, value: see intake


@dataclass(slots=True)
class Change:
    """What becomes durable together: readings and what they closed, or what was delivered."""

    readings: list[Reading] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    held: list[Reading] = field(default_factory=list)  # stamped with time since `boot`
    boot: str = ""
    released: bool = False  # whether everything held before has got its real stamp in `readings`
    estimates: list[Estimate] = field(default_factory=list)
    closed_until: dict[str, int] = field(default_factory=dict)  # where not simply the end of an estimate
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
        self._strides = Strides()
        with _trouble(path):
            self._db = sqlite3.connect(path, isolation_level=None, timeout=5.0)
            try:
                self._prepare(durability, sensors)
            except sqlite3.Error:
                self._db.close()  # a damaged file is about to be renamed
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
        # Not below what `rebuild` begins with, although old batches may all have been trimmed away.
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
                self._strides.note(id_, arrived_ms, windows)
                yield readings, traces

    def held(self, boot: str) -> tuple[list[Reading], list[Trace], int]:
        """Readings stamped with time since this boot; those of other boots are counted and let go."""
        with self._transaction() as db:
            rows = [(of, *self._unpack(blob)) for of, blob in db.execute("SELECT boot, readings FROM held")]
            if any(of != boot for of, _, _ in rows):
                db.execute("DELETE FROM held WHERE boot != ?", (boot,))
        kept = [reading for of, readings, _ in rows if of == boot for reading in readings]
        traces = [trace for of, _, traces in rows if of == boot for trace in traces]
        return kept, traces, sum(len(readings) for of, readings, _ in rows if of != boot)

    def commit(self, change: "Change", now_ms: int) -> list[Outgoing]:
        """Make all of a change durable at once; estimates get their sequence numbers here."""
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
        if change.readings:
            self._strides.note(self._next_batch, now_ms, self._windows(change.readings) - closed)
            self._next_batch += 1
        self._strides.close(closed)
        return outgoing

    def _insert(self, outgoing: list[Outgoing], closed: set[Window], now_ms: int) -> None:
        rows = ((each.id, each.sensor, each.start_ms, now_ms, each.payload) for each in outgoing)
        self._db.executemany("INSERT INTO estimate VALUES (?, ?, ?, ?, ?, 1)", rows)
        rebuild_from = self._strides.first_open(beside=closed) or self._next_batch
        self._db.execute("INSERT OR REPLACE INTO fact VALUES ('rebuild_from', ?)", (rebuild_from,))

    def waiting(self, after: int, most: int) -> list[Outgoing]:
        """The oldest estimates that are not delivered, behind number `after`."""
        columns = "SELECT id, sensor, start_ms, payload FROM estimate"
        query = f"{columns} WHERE waiting = 1 AND id > ? ORDER BY id LIMIT ?"
        with _trouble(self.path):
            return [Outgoing(*row) for row in self._db.execute(query, (after, most))]

    def outbox(self) -> tuple[int, int | None]:
        """How many estimates wait, and since when the oldest does."""
        with _trouble(self.path):
            depth, oldest_ms = self._db.execute(
                "SELECT count(*), min(closed_ms) FROM estimate WHERE waiting = 1"
            ).fetchone()
        return depth, oldest_ms

    def history(self, sensor: str, last: int) -> list[bytes]:
        """The payloads of a sensor's last estimates, in the order they were made: a start may be untrue."""
        query = "SELECT payload FROM estimate WHERE sensor = ? ORDER BY id DESC LIMIT ?"
        with _trouble(self.path):
            return [payload for (payload,) in self._db.execute(query, (sensor, last))][::-1]

    def means(self, sensor: str, channel: str, last: int) -> list[Mean]:
        """A channel in a sensor's last estimates, in the order they were made, without what is damaged."""
        newest = "SELECT id, start_ms, CAST(payload AS TEXT) AS said FROM estimate WHERE sensor = ?"
        query = f"""
            SELECT start_ms, json_extract(said, ?), json_extract(said, ?), json_extract(said, ?)
            FROM ({newest} ORDER BY id DESC LIMIT ?) WHERE json_valid(said) ORDER BY id"""  # noqa: S608
        paths = f"$.inputs.{channel}", f"$.minutes.{channel}", "$.minutes.expected"
        with _trouble(self.path):
            rows = self._db.execute(query, (*paths, sensor, last)).fetchall()
        return [Mean(*row) for row in rows if _are_numbers(row)]

    def last_closed(self, sensor: str, last: int) -> list[int]:
        """The starts of a sensor's last closed windows, in the order they were closed."""
        query = "SELECT start_ms FROM estimate WHERE sensor = ? ORDER BY id DESC LIMIT ?"
        with _trouble(self.path):
            return [start_ms for (start_ms,) in self._db.execute(query, (sensor, last))][::-1]

    def newest(self) -> list[Outgoing]:
        """The estimate of each sensor that was made last."""
        query = "SELECT max(id), sensor, start_ms, payload FROM estimate GROUP BY sensor"
        with _trouble(self.path):
            return [Outgoing(*row) for row in self._db.execute(query)]

    def size_bytes(self) -> int:
        """What the journal's content takes on disk, without pages that are free again."""
        with _trouble(self.path):
            used = self._one(
                "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count"
            )
            return used * self._one("PRAGMA page_size")

    def forget(self, keep_after_ms: int) -> None:
        """Let go of what is too old, but never of what is open or waits."""
        with self._transaction() as db:
            db.execute(
                "DELETE FROM batch WHERE arrived_ms < ? AND id < ?", (keep_after_ms, self._first_open())
            )
            db.execute("DELETE FROM estimate WHERE closed_ms < ? AND waiting = 0", (keep_after_ms,))

    def shrink(self, max_bytes: int) -> int:
        """Let go of what is too much; returns how many waiting estimates were dropped.

        Readings of closed windows go first, then delivered estimates, and only then undelivered ones.
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
        return self._strides.first_open() or self._next_batch

    def close(self) -> None:
        """Fold the write-ahead log into the file and let go of it."""
        self._db.close()

    def _numbered(self, change: Change) -> tuple[dict[str, tuple[int, int]], list[Outgoing]]:
        """Sequence numbers for estimates; the states they lead to are taken on only after the commit."""
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
        """From the sensor that has most, so that one flood does not push out what all others have to say."""
        counts = "SELECT sensor FROM estimate WHERE waiting = 1 GROUP BY sensor ORDER BY count(*) DESC"
        return self._delete_oldest("estimate", f"waiting = 1 AND sensor = ({counts} LIMIT 1)")

    def _unpack(self, blob: bytes) -> tuple[list[Reading], list[Trace]]:
        """SQLite notices damage to its own pages, not to what is inside a row."""
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


def _are_numbers(row: tuple[object, ...]) -> bool:
    """A bit that fell over in a payload may have made anything of one."""
    return all(isinstance(each, int | float) and abs(each) < LIMIT for each in row)


@contextmanager
def _trouble(path: Path) -> Iterator[None]:
    """SQLite's failures in our words: a damaged file, or a disk that does not take it."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(DAMAGED):
            raise JournalCorrupt(f"{path}: {error}") from error
        if name.startswith(UNWRITABLE):
            raise JournalUnwritable(f"{path}: {error}; is this another user's? Try sudo") from error
        if name.startswith(UNAVAILABLE):
            raise JournalUnavailable(f"{path}: {error}; is the disk full or read-only?") from error
        raise


def salvage(damaged: Path) -> list[tuple[str, int, int]]:
    """The sensors of a damaged journal where they can still be read, so that consumers see no number fall."""
    try:
        with closing(sqlite3.connect(damaged)) as db:
            return db.execute("SELECT name, closed_until_ms, seq FROM sensor").fetchall()
    except sqlite3.DatabaseError:
        return []


def newest_health(directory: Path) -> str:
    """The health record that an agent has noted, running or not."""
    path = directory / FILE
    if not path.is_file():
        raise JournalUnavailable(f"{path}: no such file; expected the journal of an agent that has run")
    with _trouble(path), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        row = db.execute("SELECT value FROM fact WHERE name = 'health'").fetchone()
    if row is None:
        raise JournalUnavailable(f"{path}: no health yet; ask again in a minute")
    return str(row[0])
