"""Estimates that are in the journal: those that wait for delivery, and those of the last days."""

from pathlib import Path
from typing import Any

from edge_agent import database
from edge_agent.change import Outgoing
from edge_agent.core.tables import sound
from edge_agent.database import Connection, trouble

# A journal of an older format has no rows in `closed`, and no revisions.
NEWEST = """SELECT ifnull(
    (SELECT estimate FROM closed WHERE sensor = name AND start_ms < closed_until_ms
     ORDER BY start_ms DESC LIMIT 1),
    (SELECT max(id) FROM estimate WHERE estimate.sensor = name)) FROM sensor WHERE instr(name, '/') = 0"""


class Outbox:
    """Reads one table of the journal, which writes it; damaged rows are deleted."""

    def __init__(self, path: Path, db: Connection, damage: list[str]) -> None:
        """`damage` is the journal's list of what was skipped."""
        self._path, self._db, self._damage = path, db, damage

    def waiting(self, after: int, most: int) -> list[Outgoing]:
        """The oldest estimates that are not delivered, with numbers above `after`."""
        return self._select("waiting = 1 AND id > ? ORDER BY id LIMIT ?", (after, most))

    def depth(self) -> tuple[int, int | None]:
        """How many estimates are queued, and when the oldest was made."""
        with trouble(self._path):
            depth, oldest_ms = self._db.execute(
                "SELECT count(*), min(closed_ms) FROM estimate WHERE waiting = 1"
            ).fetchone()
        return depth, oldest_ms

    def last(self, sensor: str, most: int) -> list[bytes]:
        """The payloads of a sensor's last estimates, in the order they were made (not of their starts)."""
        estimates = self._select("sensor = ? ORDER BY id DESC LIMIT ?", (sensor, most))
        return [each.payload for each in estimates][::-1]

    def since(self, sensor: str, since_ms: int) -> list[bytes]:
        """The payloads of a sensor's windows that start at `since_ms` or later, as they were made."""
        estimates = self._select("sensor = ? AND start_ms >= ? ORDER BY id", (sensor, since_ms))
        return [each.payload for each in estimates]

    def newest(self) -> list[Outgoing]:
        """The newest revision of the last window of each sensor."""
        return self._select(f"id IN ({NEWEST})", ())

    def _select(self, condition: str, values: tuple[Any, ...]) -> list[Outgoing]:
        """The sound ones; others are noted and deleted, so that they do not stay in the outbox."""
        columns = f"id, sensor, start_ms, payload, {sound('estimate')}"
        query = f"SELECT {columns} FROM estimate WHERE {condition}"  # noqa: S608
        with trouble(self._path):
            rows = self._db.execute(query, values).fetchall()
        if damaged := [id_ for id_, *_, is_sound in rows if not is_sound]:
            with trouble(self._path), database.transaction(self._db) as db:
                db.executemany("DELETE FROM estimate WHERE id = ?", ((id_,) for id_ in damaged))
            self._damage += [f"{self._path}: estimate {id_} is damaged" for id_ in damaged]
            return self._select(condition, values)
        return [Outgoing(*row) for *row, _ in rows]
