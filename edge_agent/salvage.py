"""A new journal from the sound rows of a damaged one."""

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from edge_agent.closed_windows import TOO_LATE
from edge_agent.core.tables import CHECKSUMS, sound
from edge_agent.database import (
    COLUMNS,
    DAMAGED,
    INSERT,
    Connection,
    IntegrityError,
    read_only,
    transaction,
    trouble,
)
from edge_agent.opening import connect, restart_revisions

AT_ONCE = 1_000  # rows; the log of a longer transaction would need as much room as the whole file


def build(path: Path, damaged: Path, durability: str) -> None:
    """Make a journal of every sound row that can be read, from both ends of each table up to the damage."""
    with (
        trouble(path),
        closing(read_only(damaged)) as old,
        closing(connect(path, durability, [])) as db,
        transaction(db),
    ):
        for table in COLUMNS:
            # Errors of the damaged file; those of the new one are translated before they come here.
            with suppress(*DAMAGED):
                _copy(old, table, "ASC", db, path)
                continue
            with suppress(*DAMAGED):
                _copy(old, table, "DESC", db, path)
        restart_revisions(db)


def _copy(old: Connection, table: str, order: str, db: Connection, path: Path) -> None:
    for number, row in enumerate(_sound_rows(old, table, order), 1):
        with trouble(path), suppress(IntegrityError):  # format 0 allows any type
            db.execute(INSERT[table], row)
            if number % AT_ONCE == 0:
                db.execute("COMMIT")
                db.execute("BEGIN IMMEDIATE")


def _sound_rows(old: Connection, table: str, order: str) -> Iterator[tuple[Any, ...]]:
    columns, condition = list(COLUMNS[table]), sound(table)
    if len(old.execute(f"SELECT * FROM {table} LIMIT 0").description) == len(columns):  # noqa: S608
        condition = "1"  # format 0 has no checksums
    elif table in ("estimate", "late"):
        # Doubtful ones are delivered again; consumers know them by their numbers.
        columns[-1] = f"iif(waiting = {TOO_LATE}, waiting, waiting = 1 OR checksum % 2)"
        condition = f"checksum / 2 IS ({CHECKSUMS[table]}) / 2"
    if table == "fact":
        condition += " AND name != 'format'"
    yield from old.execute(
        f"SELECT {', '.join(columns)} FROM {table} WHERE {condition} ORDER BY 1 {order}"  # noqa: S608
    )
