"""The journal of an agent, opened read-only while the agent runs or not."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from edge_agent import database
from edge_agent.core.derived import SEPARATOR
from edge_agent.core.errors import JournalUnavailable
from edge_agent.core.messages import Reading
from edge_agent.core.positions import Fix
from edge_agent.core.tables import sound
from edge_agent.database import trouble
from edge_agent.journal import FILE, decoded

BATCHES_AT_ONCE = 100
FIXES_AT_ONCE = 1_000
# Other names are those of derived series.
SENSORS = f"SELECT name FROM sensor WHERE seq > 0 AND instr(name, '{SEPARATOR}') = 0 ORDER BY name"  # noqa: S608
NEVER = 1 << 62


class Archive:
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
            raise JournalUnavailable(f"{self.path}: {error.strerror}; try sudo") from error
        with trouble(self.path):
            self._db = database.read_only(self.path)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def sensors(self) -> list[str]:
        """Every sensor with an estimate, by name."""
        with trouble(self.path):
            rows = self._db.execute(SENSORS)
            return [name for (name,) in rows]

    def estimates(self, sensor: str, from_ms: int, to_ms: int) -> list[bytes]:
        """The newest payload of every window of a sensor in [from, to), in order of time; b"" if damaged."""
        payload = f"iif({sound('estimate')}, payload, x'')"
        there = "FROM estimate WHERE sensor = ? AND start_ms >= ? AND start_ms < ? ORDER BY id"
        with trouble(self.path):
            newest = dict(self._db.execute(f"SELECT start_ms, {payload} {there}", (sensor, from_ms, to_ms)))
        return [newest[start_ms] for start_ms in sorted(newest)]

    def batches(self) -> Iterator[list[Reading] | None]:
        """The readings of every batch, then the late ones, as they were accepted; None for a damaged row."""
        for table in ("batch", "late"):
            yield from self._batches(table)

    def _batches(self, table: str) -> Iterator[list[Reading] | None]:
        query = f"SELECT id, readings, {sound(table)} FROM {table} WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608
        last = 0
        while True:
            with trouble(self.path):
                rows = self._db.execute(query, (last, BATCHES_AT_ONCE)).fetchall()
            for last, blob, is_sound in rows:  # noqa: B007 - the next query goes on from it
                yield decoded(blob)[0] if is_sound else None
            if not rows:
                return

    def fixes(self) -> Iterator[Fix | None]:
        """Every fix, in the order they were accepted; None for a damaged one."""
        columns = f"id, at_ms, lat, lon, speed_kmh, {sound('fix')}"
        query = f"SELECT {columns} FROM fix WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608
        last = 0
        while True:
            with trouble(self.path):
                rows = self._db.execute(query, (last, FIXES_AT_ONCE)).fetchall()
            for last, *fix, is_sound in rows:  # noqa: B007 - the next query goes on from it
                yield Fix(*fix) if is_sound else None
            if not rows:
                return

    def history(
        self, sensor: str, from_ms: int, to_ms: int, after_seq: int, last: int | None, most: int
    ) -> list[bytes]:
        """Sound payloads of a sensor in the order of seq: the first `most`, or the `last`.

        They start in [from, to), and have numbers above `after_seq`.
        """
        order = "DESC" if last else "ASC"
        seq = f"iif({sound('estimate')}, json_extract(CAST(payload AS TEXT), '$.seq'), -1)"
        query = f"""SELECT payload FROM estimate WHERE sensor = ? AND start_ms >= ? AND start_ms < ?
            AND {seq} > ? ORDER BY id {order} LIMIT ?"""  # noqa: S608
        with trouble(self.path):
            rows = self._db.execute(query, (sensor, from_ms, to_ms, after_seq, last or most)).fetchall()
        payloads = [payload for (payload,) in rows]
        return payloads[::-1] if last else payloads

    def arrived(self, table: str, since_ms: int, newest_first: bool) -> Iterator[list[Reading]]:
        """The readings of sound rows of `batch` or `late` since then, BATCHES_AT_ONCE rows at once."""
        first = self._first_since(table, since_ms)
        order, beyond = ("DESC", "<") if newest_first else ("ASC", ">")
        query = f"""SELECT id, readings, {sound(table)} FROM {table}
            WHERE id {beyond} ? AND id >= ? ORDER BY id {order} LIMIT ?"""  # noqa: S608
        last = NEVER if newest_first else first - 1
        while True:
            with trouble(self.path):
                rows = self._db.execute(query, (last, first, BATCHES_AT_ONCE)).fetchall()
            if not rows:
                return
            last = rows[-1][0]
            yield [reading for _, blob, is_sound in rows if is_sound for reading in decoded(blob)[0]]

    def _first_since(self, table: str, arrived_ms: int) -> int:
        """The first row that arrived then or later: by bisection, because reading all rows takes long."""
        with trouble(self.path):
            between = f"SELECT ifnull(min(id), 1), ifnull(max(id), 0) + 1 FROM {table}"  # noqa: S608
            low, high = self._db.execute(between).fetchone()
            while low < high:
                middle = (low + high) // 2
                query = f"SELECT arrived_ms FROM {table} WHERE id >= ? ORDER BY id LIMIT 1"  # noqa: S608
                row = self._db.execute(query, (middle,)).fetchone()
                low, high = (middle + 1, high) if row and row[0] < arrived_ms else (low, middle)
        return int(low)

    def fact(self, name: str) -> str | None:
        """A named value of the agent; None if there is none, or if it is damaged."""
        with trouble(self.path):
            query = f"SELECT value FROM fact WHERE name = ? AND {sound('fact')}"  # noqa: S608
            row = self._db.execute(query, (name,)).fetchone()
        return None if row is None else str(row[0])

    def health(self) -> str:
        """The last health record of the agent."""
        with trouble(self.path):
            row = self._db.execute("SELECT value FROM fact WHERE name = 'health'").fetchone()
        if row is None:
            raise JournalUnavailable(f"{self.path}: no health record yet; try again in a minute")
        return str(row[0])


def newest_health(directory: Path) -> str:
    """The last health record of an agent, running or not."""
    with closing(Archive(directory)) as archive:
        return archive.health()
