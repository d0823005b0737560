"""Revisions of closed windows: late readings are merged with those in time, and later windows follow."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from edge_agent.clock import Timekeeper
from edge_agent.closed_windows import ClosedWindow, Settled
from edge_agent.core.derived import content
from edge_agent.core.errors import JournalUnavailable
from edge_agent.core.messages import LATE_READINGS, Estimate, Reading, estimate_record
from edge_agent.core.model import Model
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.places import Place, decode_position
from edge_agent.core.revisions import Due, Revisions
from edge_agent.core.warming import REACH_MS
from edge_agent.core.windows import Window, Windows, window_of
from edge_agent.journal import Journal


class Revised(NamedTuple):
    """What a commit makes durable: new revisions, and late readings that wait no more."""

    estimates: list[Estimate]
    settled: list[Settled]


class Revising:
    """Decides which late readings change their window, and computes the new estimates."""

    def __init__(
        self,
        journal: Journal,
        pipeline: Pipeline,
        windows: Windows,
        models: Mapping[str, Model],
        revise_after_ms: int,
        final_ms: int,
    ) -> None:
        self._journal, self._closed = journal, journal.closed_windows
        self._pipeline, self._models = pipeline, models
        self._length_ms, self._max_readings = windows.length_ms, windows.max_readings
        self._revisions = Revisions(self._length_ms, revise_after_ms, final_ms, self._max_readings)

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

    def due(self, time: Timekeeper) -> Due | None:
        """The next sensor with windows to revise."""
        return self._revisions.due(time.now_ms, time.elapsed_ms)

    def revise(self, due: Due, time: Timekeeper) -> Revised:
        """New estimates of the windows that are due, and of later ones that these change."""
        revised = self._revise(due)
        self._revisions.settle(due.sensor, due.starts_ms)
        numbers = {each.start_ms: each.revision for each in revised.estimates}
        self._revisions.resume(due.sensor, numbers, time.now_ms)
        return revised

    def _revise(self, due: Due) -> Revised:
        sensor, model, first_ms = due.sensor, self._models.get(due.sensor), due.starts_ms[0]
        # Not those from implausible timestamps, which lie beyond.
        until_ms = self._journal.closed_until().get(sensor, 0)
        stored = self._closed.between(sensor, first_ms - REACH_MS, until_ms - 1)
        known, settled, changed = {each.start_ms: each for each in stored}, [], {}
        for start_ms in due.starts_ms:
            late = self._closed.late(sensor, start_ms)
            if late:
                settled.append((sensor, start_ms, late.last_row))
                window = self._merged(sensor, start_ms, known.get(start_ms), late.readings)
                if window and start_ms < until_ms:
                    changed[start_ms] = window
        if not changed:
            return Revised([], settled)
        if not (model and model.warming):
            known = {start_ms: known[start_ms] for start_ms in changed if start_ms in known}
        estimates = self._pipeline.revise(sensor, list(self._windows(sensor, known, changed)))
        return Revised(list(_differing(estimates, known, changed)), settled)

    def _merged(
        self, sensor: str, start_ms: int, known: ClosedWindow | None, late: list[Reading]
    ) -> Window | None:
        """A window from all its readings; None if some are lost, or if it is final by now."""
        if not late or start_ms < self._journal.revise_from_ms:
            return None
        in_time = self._closed.in_time(sensor, known) if known else []
        if in_time is None or (known and (known.final or known.payload is None)):
            return None
        end_ms = start_ms + self._length_ms
        return window_of(sensor, start_ms, end_ms, [*in_time, *late], self._max_readings)

    def _windows(
        self, sensor: str, known: Mapping[int, ClosedWindow], changed: Mapping[int, Window]
    ) -> Iterator[tuple[Window, bool, Place | None]]:
        """Changed windows and the others around them, oldest first, with the clock and place they had."""
        for start_ms in sorted({*known, *changed}):
            before = known.get(start_ms)
            record = _record(before) if before else {}
            window = changed.get(start_ms) or Window(
                sensor, start_ms, start_ms + self._length_ms, before.channels if before else {}
            )
            place = _place(record) if before else None
            yield window, record.get("clock") != "unsynchronised", place


def _differing(
    estimates: list[Estimate], known: Mapping[int, ClosedWindow], changed: Mapping[int, Window]
) -> Iterator[Estimate]:
    """The estimates that say something else than before, as revisions.

    A window that did not change itself keeps the estimate of a model, or in a unit, of before.
    """
    first_ms = min(changed)
    for estimate in estimates:
        before = known.get(estimate.start_ms)
        if before is None:
            yield replace(estimate, revision=1, cause=LATE_READINGS)
        elif estimate.start_ms >= first_ms and before.payload is not None:
            record = _record(before)
            same = (record.get("model"), record.get("unit")) == (estimate.model, estimate.unit)
            if (same or estimate.start_ms in changed) and content(estimate_record(estimate)) != content(
                record
            ):
                number = before.revision
                yield replace(estimate, revision=number + 1, supersedes=number, cause=LATE_READINGS)


def _place(record: Mapping[str, Any]) -> Place:
    moving = "moving" in record.get("reasons", ())
    return Place(decode_position(record.get("position")), record.get("site"), moving)


def _record(window: ClosedWindow) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(window.payload or b"{}")
    return record
