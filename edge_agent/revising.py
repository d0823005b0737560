"""Revisions of closed windows: which late readings change their window, and when."""

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from edge_agent.backlog import Backlog, Shape
from edge_agent.clock import Timekeeper
from edge_agent.closed_windows import Settled
from edge_agent.core.errors import JournalUnavailable
from edge_agent.core.messages import Estimate, Reading
from edge_agent.core.model import Model
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.revisions import Due, Revisions
from edge_agent.core.windows import Windows
from edge_agent.journal import Journal

TURN_S = 0.05  # how long one turn of the loop may read and estimate; new readings wait meanwhile
AT_ONCE = 100  # revisions in one commit, for the same reason


class Revised(NamedTuple):
    """What a commit makes durable: new revisions, and late readings that wait no more."""

    estimates: list[Estimate]
    settled: list[Settled]


class Revising:
    """Decides which late readings change their window, and has one sensor at a time revised."""

    def __init__(
        self,
        journal: Journal,
        pipeline: Pipeline,
        windows: Windows,
        models: Mapping[str, Model],
        revise_after_ms: int,
        final_ms: int,
        turn_s: float = TURN_S,
        at_once: int = AT_ONCE,
    ) -> None:
        self._journal, self._closed = journal, journal.closed_windows
        self._pipeline, self._windows, self._models = pipeline, windows, models
        self._length_ms = windows.length_ms
        self._shape = Shape(windows.length_ms, windows.max_readings)
        self._revisions = Revisions(self._length_ms, revise_after_ms, final_ms, windows.max_readings)
        self._backlog: Backlog | None = None
        self._turn_s, self._at_once = turn_s, at_once
        self.between_parts = False  # some revisions of a sensor are handed out, and others are not

    def restore(self, elapsed_ms: int) -> None:
        """Continue after a restart: late readings that wait, and how often windows were revised."""
        for sensor, channel, at_ms, _ in self._closed.waiting():
            self._revisions.note(sensor, at_ms - at_ms % self._length_ms, channel, elapsed_ms)
        for sensor, start_ms, revision, revised_ms in self._closed.revised():
            self._revisions.resume(sensor, {start_ms: revision}, revised_ms)

    def admits(self, reading: Reading, time: Timekeeper) -> bool:
        """Whether a late reading will change its window, or comes too late for that."""
        start_ms = reading.at_ms - reading.at_ms % self._length_ms
        if time.trusted and self._revisions.is_final(start_ms, time.now_ms):
            return False
        if not self._revisions.waits(reading.sensor, start_ms) and self._is_final(reading.sensor, start_ms):
            return False
        return self._revisions.note(reading.sensor, start_ms, reading.channel, time.elapsed_ms)

    def _is_final(self, sensor: str, start_ms: int) -> bool:
        if start_ms < self._journal.revise_from_ms:
            return True
        # If the disk does not answer, the reading is kept, and the revision asks again.
        with suppress(JournalUnavailable):
            window = self._closed.one(sensor, start_ms)
            return bool(window and window.final)
        return False

    @property
    def busy(self) -> bool:
        """Whether a revision has begun that needs more turns of the loop."""
        return self._backlog is not None

    def due(self, time: Timekeeper) -> Due | None:
        """The sensor and windows that are being revised, or the next ones."""
        if self._backlog:
            return self._backlog.due
        if not self._revisions.any_wait:
            return None
        # The journal notes with the next commit which windows have opened again.
        closed_until = {
            sensor: min(closed_ms, self._windows.closed_until(sensor))
            for sensor, closed_ms in self._journal.closed_until().items()
        }
        return self._revisions.due(time.now_ms, time.elapsed_ms, closed_until)

    def revise(self, due: Due, time: Timekeeper) -> Revised | None:
        """Some new estimates of the windows that are due, and of later ones that these change.

        None if they take more turns of the loop. The last part settles the late readings. After a kill before
        it they are merged again, and estimates that the journal has are not repeated: they stay the same.
        """
        if self._backlog is None:
            model = self._models.get(due.sensor)
            self._backlog = Backlog(due, time.elapsed_ms, self._journal, self._pipeline, model, self._shape)
            # At once: some had no reading in time, never closed, and could open in a later turn.
            self._windows.note_closed(due.sensor, due.starts_ms)
        backlog = self._backlog
        try:
            if not backlog.go_on(self._turn_s):
                return None
        except JournalUnavailable:
            self._backlog = None
            raise
        part = backlog.take(self._at_once)
        numbers = {each.start_ms: each.revision for each in part}
        self._revisions.resume(due.sensor, numbers, time.now_ms)
        self.between_parts = bool(backlog.estimates)
        if self.between_parts:
            return Revised(part, [])
        self._backlog = None
        self._revisions.settle(due.sensor, due.starts_ms, backlog.began_ms)
        return Revised(part, backlog.settled)
