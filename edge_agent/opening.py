"""Opens the journal's file: creates it, migrates an older one, or finds that it is damaged."""

from pathlib import Path

from edge_agent import write_ahead_log
from edge_agent.closed_windows import recover
from edge_agent.core.errors import BadSettings, JournalCorrupt
from edge_agent.core.tables import CHECKSUMS, sound
from edge_agent.database import (
    COLUMNS,
    INSERT,
    REBUILD_FROM,
    SCHEMA,
    VERSION,
    Connection,
    read_write,
    transaction,
)

SYNCHRONOUS = {"power-loss": "FULL", "process-crash": "NORMAL"}
# Of SQLite's pages. The kernel caches the file, so the default of 2 MB would only cost memory.
CACHE_KIB = 64
# A commit writes whole pages, and most rows are small. A day of six sensors writes a quarter less than with
# 1024, the file is a quarter smaller, and exports take as long.
PAGE_BYTES = 512
WAL_PAGES = 2_000  # the log is merged into the file at 1 MB, so that it does not fill a small disk
FORMAT_0 = ("batch", "sensor", "estimate", "held", "fact")
# Numbers of revisions may be lost, or temperatures of the day before: no window is revised for a day.
REVISE_LATER = "SELECT max(closed_ms) + 86400000 FROM estimate"


def connect(path: Path, durability: str, damage: list[str]) -> Connection:
    """A sound journal of this version; an older one is migrated. Lost commits are added to `damage`."""
    log = write_ahead_log.read(path)
    lost, words = log.is_damaged, f"{path}-wal: the last commits are damaged and lost"
    db = read_write(path)
    try:
        _configure(db, durability)
        busy, accepted, _ = db.execute("PRAGMA wal_checkpoint").fetchone()
        lost = lost or (not busy and log.has_lost(accepted, write_ahead_log.salts(path)))
        _prepare(db, path)
    except BaseException:
        db.close()  # the caller may rename a damaged file
        raise
    finally:
        if lost and words not in damage:
            damage.append(words)
    return db


def _configure(db: Connection, durability: str) -> None:
    db.execute("PRAGMA cell_size_check = ON")
    db.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a new file
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA synchronous = {SYNCHRONOUS[durability]}")
    db.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
    db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")


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
        if version < VERSION:
            restart_revisions(db)
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


def restart_revisions(db: Connection) -> None:
    """Note from which start on windows may be revised, after rows were lost or before there were any.

    Closed windows without a row get one from their estimates: the temperatures of the last day are needed.
    """
    recover(db)
    [from_ms] = db.execute(REVISE_LATER).fetchone()
    if from_ms is not None:
        db.execute(INSERT["fact"], ("revise_from", from_ms))


def _check(db: Connection, path: Path) -> None:
    """Older batches are checked when they are read: they are most of the file."""
    names = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if names != {*SCHEMA}:
        raise JournalCorrupt(f"{path}: expected the tables of format {VERSION}, got others")
    for table in COLUMNS:
        used = f"id >= {REBUILD_FROM}" if table == "batch" else "1"
        query = f"SELECT count(*) FROM {table} WHERE {used} AND NOT ({sound(table)})"  # noqa: S608
        if damaged := db.execute(query).fetchone()[0]:
            raise JournalCorrupt(f"{path}: expected sound rows, got {damaged} damaged in {table}")
