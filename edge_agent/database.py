"""The journal's SQLite file: opened, checked and migrated; every row has a checksum.

SQLite detects damage to the structure of its pages, not inside a row. The checksums detect the rest.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import msgpack  # type: ignore[import-untyped]

from edge_agent import write_ahead_log
from edge_agent.core.errors import BadSettings, JournalCorrupt, JournalUnavailable

Connection = sqlite3.Connection

VERSION = 2  # of the tables; in user_version and, because one bit can flip there, in the fact `format`
COLUMNS = {
    "batch": ("id", "arrived_ms", "readings"),
    "sensor": ("name", "closed_until_ms", "seq"),
    "estimate": ("id", "sensor", "start_ms", "closed_ms", "payload", "waiting"),
    "held": ("boot", "readings"),
    "fact": ("name", "value"),
    "fix": ("id", "arrived_ms", "at_ms", "lat", "lon", "speed_kmh"),
    "closed": (
        *("sensor", "start_ms", "estimate", "revision", "closed_ms"),
        *("first_batch", "last_batch", "final", "channels"),
    ),
    "late": ("id", "sensor", "start_ms", "arrived_ms", "readings", "waiting"),
}
# A name is checked as bytes: damaged ones are not UTF-8.
CHECKSUMS = {
    "batch": "crc(id, arrived_ms, readings)",
    "sensor": "crc(CAST(name AS BLOB), closed_until_ms, seq)",
    # `waiting` is the last bit, so that a delivery need not read the payload again.
    "estimate": "crc(id, CAST(sensor AS BLOB), start_ms, closed_ms, payload) * 2 + waiting",
    "held": "crc(CAST(boot AS BLOB), readings)",
    "fact": "crc(CAST(name AS BLOB), typeof(value), CAST(value AS BLOB))",
    "fix": "crc(id, arrived_ms, at_ms, lat, lon, speed_kmh)",
    "closed": """crc(CAST(sensor AS BLOB), start_ms, estimate, revision, closed_ms,
        first_batch, last_batch, final, channels)""",
    "late": "crc(CAST(sensor AS BLOB), start_ms, arrived_ms, readings) * 2 + waiting",
}
SCHEMA = (
    """CREATE TABLE batch (
    id INTEGER PRIMARY KEY, arrived_ms INTEGER NOT NULL, readings BLOB NOT NULL, checksum INTEGER NOT NULL)
    STRICT""",
    """CREATE TABLE sensor (
    name TEXT PRIMARY KEY, closed_until_ms INTEGER NOT NULL, seq INTEGER NOT NULL, checksum INTEGER NOT NULL)
    STRICT, WITHOUT ROWID""",
    """CREATE TABLE estimate (
    id INTEGER PRIMARY KEY, sensor TEXT NOT NULL, start_ms INTEGER NOT NULL, closed_ms INTEGER NOT NULL,
    payload BLOB NOT NULL, waiting INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT""",
    "CREATE INDEX estimate_of_sensor ON estimate (sensor)",
    "CREATE INDEX outbox ON estimate (id) WHERE waiting = 1",
    "CREATE INDEX waiting_of_sensor ON estimate (sensor) WHERE waiting = 1",
    "CREATE TABLE held (boot TEXT NOT NULL, readings BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT",
    """CREATE TABLE fact (name TEXT PRIMARY KEY, value ANY NOT NULL, checksum INTEGER NOT NULL)
    STRICT, WITHOUT ROWID""",
    """CREATE TABLE fix (
    id INTEGER PRIMARY KEY, arrived_ms INTEGER NOT NULL, at_ms INTEGER NOT NULL, lat REAL NOT NULL,
    lon REAL NOT NULL, speed_kmh REAL, checksum INTEGER NOT NULL) STRICT""",
    # Since format 2: closed windows and their newest revision, and readings that came after they closed.
    """CREATE TABLE closed (
    sensor TEXT NOT NULL, start_ms INTEGER NOT NULL, estimate INTEGER NOT NULL, revision INTEGER NOT NULL,
    closed_ms INTEGER NOT NULL, first_batch INTEGER NOT NULL, last_batch INTEGER NOT NULL,
    final INTEGER NOT NULL, channels BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (sensor, start_ms)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE late (
    id INTEGER PRIMARY KEY, sensor TEXT NOT NULL, start_ms INTEGER NOT NULL, arrived_ms INTEGER NOT NULL,
    readings BLOB NOT NULL, waiting INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT""",
    "CREATE INDEX late_of_window ON late (sensor, start_ms)",
    "CREATE INDEX late_waiting ON late (id) WHERE waiting = 1",
)
# Numbers of revisions may be lost, or temperatures of the day before: no window is revised for a day.
REVISE_LATER = "SELECT max(closed_ms) + 86400000 FROM estimate"
FORMAT_0 = ("batch", "sensor", "estimate", "held", "fact")
REBUILD_FROM = "ifnull((SELECT value FROM fact WHERE name = 'rebuild_from'), 0)"
SYNCHRONOUS = {"power-loss": "FULL", "process-crash": "NORMAL"}
UNWRITABLE = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")
# Sectors that cannot be read are damage; any other trouble of the disk may pass.
UNREADABLE = ("SQLITE_IOERR_READ", "SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS")
UNAVAILABLE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_BUSY", "SQLITE_LOCKED")
# Of SQLite's pages. The kernel caches the file, so the default of 2 MB would only cost memory.
CACHE_KIB = 64
PAGE_BYTES = 1_024  # a commit writes whole pages, and most rows are small: less wear than with 4096
WAL_PAGES = 1_000  # the log is merged into the file at 1 MB, so that it does not fill a small disk


def _insert(table: str) -> str:
    columns = ", ".join(COLUMNS[table])
    values = ", ".join(f"? AS {column}" for column in COLUMNS[table])
    return f"INSERT OR REPLACE INTO {table} SELECT {columns}, {CHECKSUMS[table]} FROM (SELECT {values})"  # noqa: S608


# By table: stores a row of COLUMNS with its checksum. A row with the same key is replaced.
INSERT = {table: _insert(table) for table in COLUMNS}


def checksum(*values: bytes | str | float | None) -> int:
    """SQL's `crc`: of the values and their types."""
    return crc32(msgpack.packb(values))


def sound(table: str) -> str:
    """The condition that a row is as it was written."""
    return f"checksum IS {CHECKSUMS[table]}"


def connect(path: Path, durability: str) -> tuple[Connection, bool]:
    """A sound journal of this version, and whether its log was damaged; an older one is migrated."""
    ends = write_ahead_log.commits(path.with_name(path.name + "-wal"))
    db = sqlite3.connect(path, isolation_level=None, timeout=5.0)
    try:
        _configure(db, durability)
        _, accepted, _ = db.execute("PRAGMA wal_checkpoint").fetchone()
        _prepare(db, path)
    except BaseException:
        db.close()  # the caller may rename a damaged file
        raise
    return db, write_ahead_log.lost(ends, accepted)


def _configure(db: Connection, durability: str) -> None:
    _define(db)
    db.execute("PRAGMA cell_size_check = ON")
    db.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a new file
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA synchronous = {SYNCHRONOUS[durability]}")
    db.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
    db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")


def _define(db: Connection) -> None:
    db.text_factory = lambda raw: raw.decode(errors="replace")
    db.create_function("crc", -1, checksum, deterministic=True)


def _prepare(db: Connection, path: Path) -> None:
    """Create, migrate or check, and write at least one row: what cannot be written must be found now."""
    with transaction(db):
        version = _version(db, path)
        if version is None:
            _create(db)
            return
        [problem] = db.execute("PRAGMA integrity_check(1)").fetchone()
        if problem != "ok":
            raise JournalCorrupt(f"{path}: {problem}")
        if version == 0:
            _migrate(db)
        elif version == 1:
            _create(db)
            revise_later(db)
        _check(db, path)
        # SQLite opens a file of another user, but does not write it.
        db.execute(INSERT["fact"], ("format", VERSION))


def _version(db: Connection, path: Path) -> int | None:
    """The version of the tables, 0 from before there were numbers; None if there are no tables."""
    if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        if db.execute("PRAGMA page_count").fetchone()[0] > 1:
            raise JournalCorrupt(f"{path}: expected tables, got none")
        return None
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    noted = db.execute("SELECT value FROM fact WHERE name = 'format'").fetchone() or (0,)
    if version != noted[0]:
        raise JournalCorrupt(f"{path}: expected one format, got {version} and {noted[0]!r}")
    if version > VERSION:
        raise BadSettings(f"{path}: format {version}, this agent reads 0-{VERSION}; install a newer agent")
    return version


def _create(db: Connection) -> None:
    """Create the tables and indexes that are not there."""
    there = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_master")}
    for statement in SCHEMA:
        if statement not in there:
            db.execute(statement)
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute(INSERT["fact"], ("format", VERSION))


def _migrate(db: Connection) -> None:
    """From the tables without checksums, within the transaction of the caller."""
    for table in FORMAT_0:
        db.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
    for index in ("estimate_of_sensor", "outbox", "waiting_of_sensor"):
        db.execute(f"DROP INDEX {index}")
    _create(db)
    for table in FORMAT_0:
        source = f"SELECT {', '.join(COLUMNS[table])}, {CHECKSUMS[table]} FROM old_{table}"  # noqa: S608
        db.execute(f"INSERT INTO {table} {source}")
        db.execute(f"DROP TABLE old_{table}")
    revise_later(db)


def revise_later(db: Connection) -> None:
    """Note from which start on windows may be revised, after rows were lost or before there were any."""
    [from_ms] = db.execute(REVISE_LATER).fetchone()
    if from_ms is not None:
        db.execute(INSERT["fact"], ("revise_from", from_ms))


def _check(db: Connection, path: Path) -> None:
    """Older batches are never read again, and they are most of the file."""
    names = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if names != {*SCHEMA}:
        raise JournalCorrupt(f"{path}: expected the tables of format {VERSION}, got others")
    for table in COLUMNS:
        used = f"id >= {REBUILD_FROM}" if table == "batch" else "1"
        query = f"SELECT count(*) FROM {table} WHERE {used} AND NOT ({sound(table)})"  # noqa: S608
        if damaged := db.execute(query).fetchone()[0]:
            raise JournalCorrupt(f"{path}: expected sound rows, got {damaged} damaged in {table}")


@contextmanager
def transaction(db: Connection) -> Iterator[Connection]:
    """All or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def trouble(path: Path) -> Iterator[None]:
    """Translate SQLite's errors: a file of another user, a disk that refuses, or else a damaged file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(UNAVAILABLE) and name not in UNREADABLE:
            raise JournalUnavailable(f"{path}: {error}; is the disk full or read-only?") from error
        if name.startswith(UNWRITABLE) and not _header_is_damaged(path):
            words = "is the disk full, or does the file belong to another user? Try sudo"
            raise JournalUnavailable(f"{path}: {error}; {words}") from error
        raise JournalCorrupt(f"{path}: {error}") from error


def _header_is_damaged(path: Path) -> bool:
    """SQLite opens a file of an unknown format version read-only; the two bytes are 1 or 2."""
    try:
        with path.open("rb") as file:
            versions = file.read(20)[18:]
    except OSError:
        return False
    return bool({*versions} - {1, 2})


def build(path: Path, damaged: Path, durability: str) -> None:
    """Make a journal of every sound row that can be read, from both ends of each table up to the damage."""
    there = f"file:{damaged}?mode=ro"
    with (
        trouble(path),
        closing(sqlite3.connect(there, uri=True)) as old,
        closing(connect(path, durability)[0]) as db,
        transaction(db),
    ):
        _define(old)
        for table in COLUMNS:
            # Errors of the damaged file; those of the new one are translated before they come here.
            with suppress(sqlite3.DatabaseError):
                _copy(old, table, "ASC", db, path)
                continue
            with suppress(sqlite3.DatabaseError):
                _copy(old, table, "DESC", db, path)
        revise_later(db)


def _copy(old: Connection, table: str, order: str, db: Connection, path: Path) -> None:
    for row in _sound_rows(old, table, order):
        with trouble(path), suppress(sqlite3.IntegrityError):  # format 0 allows any type
            db.execute(INSERT[table], row)


def _sound_rows(old: Connection, table: str, order: str) -> Iterator[tuple[Any, ...]]:
    columns, condition = list(COLUMNS[table]), sound(table)
    if len(old.execute(f"SELECT * FROM {table} LIMIT 0").description) == len(columns):  # noqa: S608
        condition = "1"  # format 0 has no checksums
    elif table in ("estimate", "late"):
        # Doubtful ones are delivered again; consumers know them by their numbers.
        columns[-1] = "(waiting = 1 OR checksum % 2)"
        condition = f"checksum / 2 IS ({CHECKSUMS[table]}) / 2"
    if table == "batch":
        condition += f" AND id >= {REBUILD_FROM}"
    if table == "fact":
        condition += " AND name != 'format'"
    yield from old.execute(
        f"SELECT {', '.join(columns)} FROM {table} WHERE {condition} ORDER BY 1 {order}"  # noqa: S608
    )


def read_only(path: Path) -> Connection:
    """A journal that an agent may have open, for reading.

    A reader that cannot write beside a file without a log must call it immutable.
    """
    has_log = path.with_name(path.name + "-wal").exists()
    mode = "mode=ro" if has_log or os.access(path.parent, os.W_OK) else "mode=ro&immutable=1"
    db = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None, timeout=5.0)
    _define(db)
    return db
