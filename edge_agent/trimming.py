"""What the journal deletes: what is too old, and what is too much for its size."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from edge_agent import database
from edge_agent.closed_windows import WAITING, ClosedWindows
from edge_agent.database import trouble

AT_ONCE = 500  # rows, so that deleting never delays the loop


class Dropped(NamedTuple):
    """What a full journal deleted although somebody waits for it."""

    estimates: int = 0  # that were not delivered
    readings: int = 0  # that came late and are in no revision yet


class Trimming:
    """Deletes rows of the journal, but no reading of an open window."""

    def __init__(self, path: Path, db: database.Connection, closed: ClosedWindows) -> None:
        self._path, self._db, self._closed = path, db, closed
        self._looked: dict[str, int] = {}  # table -> the next row that `forget` looks at

    def size_bytes(self) -> int:
        """The size of the journal's content on disk, without free pages."""
        query = "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count"
        with trouble(self._path):
            [pages] = self._db.execute(query).fetchone()
            [page_bytes] = self._db.execute("PRAGMA page_size").fetchone()
        return int(pages * page_bytes)

    def forget(self, keep_after_ms: int, now_ms: int, first_open: int, revised_after_ms: int) -> bool:
        """Delete some of what is too old, but no queued estimate; returns whether there may be more.

        Batches from `first_open` on are needed.
        """
        before, settled = dict(self._looked), f"waiting != {WAITING}"
        try:
            with self._transaction():
                more = [
                    self._forget("batch", "arrived_ms", f"id < {first_open}", keep_after_ms, now_ms),
                    self._forget(
                        "estimate", "max(closed_ms, start_ms)", "waiting = 0", keep_after_ms, now_ms
                    ),
                    self._forget("fix", "max(arrived_ms, at_ms)", "1", keep_after_ms, now_ms),
                    self._forget("late", "max(arrived_ms, start_ms)", settled, keep_after_ms, now_ms),
                    self._closed.forget(revised_after_ms, AT_ONCE),
                ]
        except BaseException:
            self._looked = before  # nothing was deleted
            raise
        return any(more)

    def _forget(self, table: str, stamp: str, condition: str, keep_after_ms: int, now_ms: int) -> bool:
        """Look at the next rows, the oldest first, up to the first ones of which none is too old.

        Rows that were stamped by a clock in the future do not count: old ones may come after them.
        """
        first = self._looked.get(table, 0)
        rows = f"SELECT id, {stamp} AS at_ms FROM {table} WHERE id >= ? ORDER BY id LIMIT {AT_ONCE}"  # noqa: S608
        last, oldest_ms = self._db.execute(f"SELECT max(id), min(at_ms) FROM ({rows})", (first,)).fetchone()  # noqa: S608
        delete = f"DELETE FROM {table} WHERE id BETWEEN ? AND ? AND {stamp} < ? AND {condition}"  # noqa: S608
        self._db.execute(delete, (first, last, keep_after_ms))
        goes_on = last is not None and not keep_after_ms <= oldest_ms <= now_ms
        self._looked[table] = last + 1 if goes_on else 0
        return goes_on

    def shrink(self, max_bytes: int, first_open: int, first_fix: int, revised_after_ms: int) -> Dropped:
        """Delete until the size fits.

        Rows of closed windows without an estimate go first: a sensor that sends old times closes thousands a
        second. Then readings of final windows go, then old positions, then delivered estimates, then readings
        of closed windows, which can then not be revised, and then queued estimates.
        """
        passed, settled, old = (
            f"id < {first_open}",
            f"waiting != {WAITING}",
            f"arrived_ms < {revised_after_ms}",
        )
        self._shed(max_bytes)
        self._reduce("batch", passed, max_bytes, old)
        self._reduce("late", settled, max_bytes, old)
        self._reduce("fix", f"id < {first_fix}", max_bytes)
        self._reduce("estimate", "waiting = 0", max_bytes)
        self._reduce("batch", passed, max_bytes)
        self._reduce("late", settled, max_bytes)
        readings = self._drop_late(max_bytes)
        estimates = 0
        while self.size_bytes() > max_bytes and (rows := self._drop_waiting()):
            estimates += rows
        return Dropped(estimates, readings)

    def _shed(self, max_bytes: int) -> None:
        """Delete rows of closed windows that are of no use, while there is too much."""
        rows = AT_ONCE
        while rows and self.size_bytes() > max_bytes:
            with self._transaction():
                rows = self._closed.shed(AT_ONCE)

    def _reduce(self, table: str, condition: str, max_bytes: int, old: str = "1") -> None:
        while self.size_bytes() > max_bytes and self._delete_oldest(table, condition, old):
            pass

    def _delete_oldest(self, table: str, condition: str, old: str = "1") -> int:
        """Delete the next rows that meet the condition, if they are old: where they are not, none is."""
        first = f"SELECT * FROM {table} WHERE {condition} ORDER BY id LIMIT {AT_ONCE}"  # noqa: S608
        oldest = f"SELECT id FROM ({first}) WHERE {old}"  # noqa: S608
        with self._transaction() as db:
            if table in ("estimate", "late"):
                self._revise_after(f"SELECT max(start_ms) FROM {table} WHERE id IN ({oldest})")  # noqa: S608
            return db.execute(f"DELETE FROM {table} WHERE id IN ({oldest})").rowcount  # noqa: S608

    def _drop_late(self, max_bytes: int) -> int:
        """Late readings that wait for a revision; returns how many were deleted."""
        if self.size_bytes() <= max_bytes:
            return 0
        before = sum(1 for _ in self._closed.waiting())
        self._reduce("late", "1", max_bytes)
        return before - sum(1 for _ in self._closed.waiting())

    def _drop_waiting(self) -> int:
        """From the sensor that has most, so that one flood does not push out the estimates of others."""
        counts = "SELECT sensor FROM estimate WHERE waiting = 1 GROUP BY sensor ORDER BY count(*) DESC"
        return self._delete_oldest("estimate", f"waiting = 1 AND sensor = ({counts} LIMIT 1)")

    def _revise_after(self, newest: str) -> None:
        """Windows whose estimates or late readings are deleted are not revised any more."""
        # Not beyond the last estimate: a start may come from an implausible timestamp.
        query = f"SELECT min(ifnull(({newest}), 0) + 1, (SELECT max(closed_ms) FROM estimate))"  # noqa: S608
        [from_ms] = self._db.execute(query).fetchone()
        if from_ms and from_ms > self._closed.revise_from_ms:
            self._closed.revise_later(from_ms)
            while self._closed.forget(from_ms, AT_ONCE):
                pass

    @contextmanager
    def _transaction(self) -> Iterator[database.Connection]:
        with trouble(self._path), database.transaction(self._db) as db:
            yield db
