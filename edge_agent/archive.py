"""The journal of an agent, opened read-only while the agent runs or not."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from edge_agent import database
from edge_agent.core.errors import JournalUnavailable
from edge_agent.core.messages import Reading
from edge_agent.database import sound, trouble
from edge_agent.journal import FILE, decoded

BATCHES_AT_ONCE = 100


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
            rows = self._db.execute("SELECT name FROM sensor WHERE seq > 0 ORDER BY name")
            return [name for (name,) in rows]

    def estimates(self, sensor: str, from_ms: int, to_ms: int) -> list[bytes]:
        """The newest payload of every window of a sensor in [from, to), in order of time; b"" if damaged."""
        payload = f"iif({sound('estimate')}, payload, x'')"
        there = "FROM estimate WHERE sensor = ? AND start_ms >= ? AND start_ms < ? ORDER BY id"
        with trouble(self.path):
            newest = dict(self._db.execute(f"SELECT start_ms, {payload} {there}", (sensor, from_ms, to_ms)))
        return [newest[start_ms] for start_ms in sorted(newest)]

    def batches(self) -> Iterator[list[Reading] | None]:
        """The readings of every batch, in the order they were accepted; None for a damaged batch."""
        query = f"SELECT id, readings, {sound('batch')} FROM batch WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608
        last = 0
        while True:
            with trouble(self.path):
                rows = self._db.execute(query, (last, BATCHES_AT_ONCE)).fetchall()
            for last, blob, is_sound in rows:  # noqa: B007 - the next query goes on from it
                yield decoded(blob)[0] if is_sound else None
            if not rows:
                return

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
