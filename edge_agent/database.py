"""The journal's SQLite file: its tables, and a checksum for every row.

SQLite detects damage to the structure of its pages, not inside a row. The checksums detect the rest.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edge_agent.core.errors import JournalCorrupt, JournalUnavailable
from edge_agent.core.tables import CHECKSUMS, checksum

Connection = sqlite3.Connection
# Python cannot read SQLite's message if it quotes a damaged name or statement.
DAMAGED = sqlite3.DatabaseError, UnicodeDecodeError
IntegrityError = sqlite3.IntegrityError

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
UNWRITABLE = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")
# Sectors that cannot be read are damage; any other trouble of the disk may pass.
UNREADABLE = ("SQLITE_IOERR_READ", "SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS")
UNAVAILABLE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")


def _insert(table: str) -> str:
    columns = ", ".join(COLUMNS[table])
    values = ", ".join(f"? AS {column}" for column in COLUMNS[table])
    return f"INSERT OR REPLACE INTO {table} SELECT {columns}, {CHECKSUMS[table]} FROM (SELECT {values})"  # noqa: S608


# By table: stores a row of COLUMNS with its checksum. A row with the same key is replaced.
INSERT = {table: _insert(table) for table in COLUMNS}


# All batches, if this fact is lost.
REBUILD_FROM = f"""ifnull(
    (SELECT value FROM fact WHERE name = 'rebuild_from' AND checksum IS {CHECKSUMS["fact"]}), 0)"""  # noqa: S608


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
    except DAMAGED as error:
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


def read_write(path: Path) -> Connection:
    """The journal of the one agent that writes it."""
    return _open(str(path))


def read_only(path: Path) -> Connection:
    """A journal that an agent may have open, for reading.

    A reader that cannot write beside a file without a log must call it immutable.
    """
    has_log = path.with_name(path.name + "-wal").exists()
    mode = "mode=ro" if has_log or os.access(path.parent, os.W_OK) else "mode=ro&immutable=1"
    return _open(f"{path.absolute().as_uri()}?{mode}", uri=True)


def _open(name: str, uri: bool = False) -> Connection:
    """A connection with the SQL function `crc`, which can read damaged text."""
    db = sqlite3.connect(name, uri=uri, isolation_level=None, timeout=5.0)
    db.text_factory = lambda raw: raw.decode(errors="replace")
    db.create_function("crc", -1, checksum, deterministic=True)
    return db
