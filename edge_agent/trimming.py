"""What the journal deletes: what is too old, and what is too much for its size."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from edge_agent import database
from edge_agent.closed_windows import WAITING, ClosedWindows
from edge_agent.database import trouble

AT_ONCE = 500  # rows, so that deleting never delays the loop


class Dropped(NamedTuple):
    """What a full journal deleted although somebody waits for it."""

    estimates: int = 0  # that were not delivered
    readings: int = 0  # that came late and are in no revision yet
    more: bool = False  # whether there may be more to delete


class Trimming:
    """Deletes rows of the journal, but no reading of an open window."""

    def __init__(self, path: Path, db: database.Connection, closed: ClosedWindows) -> None:
        self._path, self._db, self._closed = path, db, closed
        self._looked: dict[str, int] = {}  # table -> the next row that `forget` looks at
        self._unrevised_ms = 0  # rows of closed windows that `shrink` deletes next start before it

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

    def shrink(
        self, max_bytes: int, first_open: int, first_fix: int, revised_after_ms: int, seconds: float
    ) -> Dropped:
        """Delete until the size fits, for about so long; a little in any case."""
        until, estimates, readings, more = perf_counter() + seconds, 0, 0, True
        while more and self.size_bytes() > max_bytes:
            part = self._delete_some(first_open, first_fix, revised_after_ms)
            estimates, readings = estimates + part.estimates, readings + part.readings
            more = part.more
            if perf_counter() >= until:
                return Dropped(estimates, readings, more)
        return Dropped(estimates, readings)

    def _delete_some(self, first_open: int, first_fix: int, revised_after_ms: int) -> Dropped:
        """Delete the next rows; returns whether there were any.

        Rows of closed windows without an estimate go first: a sensor that sends old times closes thousands a
        second. Then readings of final windows go, then old positions, then delivered estimates, then readings
        of closed windows, which can then not be revised, then late readings, and then queued estimates.
        """
        passed, settled, old = (
            f"id < {first_open}",
            f"waiting != {WAITING}",
            f"arrived_ms < {revised_after_ms}",
        )
        found = (
            self._shed()
            or self._delete_unrevised()
            or self._delete_oldest("batch", passed, old)
            or self._delete_oldest("late", settled, old)
            or self._delete_oldest("fix", f"id < {first_fix}")
            or self._delete_oldest("estimate", "waiting = 0")
            or self._delete_oldest("batch", passed)
            or self._delete_oldest("late", settled)
        )
        if found:
            return Dropped(more=True)
        # All late readings that are left wait for a revision.
        readings = sum(1 for _ in self._closed.waiting(AT_ONCE))
        if self._delete_oldest("late", "1"):
            return Dropped(readings=readings, more=True)
        estimates = self._drop_waiting()
        return Dropped(estimates, more=bool(estimates))

    def _shed(self) -> int:
        """Delete rows of closed windows that are of no use."""
        with self._transaction():
            return self._closed.shed(AT_ONCE)

    def _delete_unrevised(self) -> bool:
        """Delete rows of windows that lost estimates or late readings; returns whether there may be any."""
        if not self._unrevised_ms:
            return False
        with self._transaction():
            more = self._closed.forget(self._unrevised_ms, AT_ONCE)
        self._unrevised_ms = self._unrevised_ms if more else 0
        return True

    def _delete_oldest(self, table: str, condition: str, old: str = "1") -> int:
        """Delete the next rows that meet the condition, if they are old: where they are not, none is."""
        first = f"SELECT * FROM {table} WHERE {condition} ORDER BY id LIMIT {AT_ONCE}"  # noqa: S608
        oldest = f"SELECT id FROM ({first}) WHERE {old}"  # noqa: S608
        with self._transaction() as db:
            if table in ("estimate", "late"):
                self._revise_after(f"SELECT max(start_ms) FROM {table} WHERE id IN ({oldest})")  # noqa: S608
            return db.execute(f"DELETE FROM {table} WHERE id IN ({oldest})").rowcount  # noqa: S608

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
            self._unrevised_ms = from_ms

    @contextmanager
    def _transaction(self) -> Iterator[database.Connection]:
        with trouble(self._path), database.transaction(self._db) as db:
            yield db
