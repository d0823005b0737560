"""Late readings of one sensor: its windows are read again and estimated, in short turns of the loop."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

from edge_agent.closed_windows import ClosedWindow, Settled
from edge_agent.core.derived import content
from edge_agent.core.messages import LATE_READINGS, Estimate, Reading, estimate_record
from edge_agent.core.model import Model
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.places import Place, decode_position
from edge_agent.core.revisions import Due
from edge_agent.core.warming import REACH_MS
from edge_agent.core.windows import Window, window_of
from edge_agent.journal import Journal

Known = Mapping[int, ClosedWindow]  # by start


class Shape(NamedTuple):
    """How windows are made."""

    length_ms: int
    max_readings: int


class Backlog:
    """The windows that are due: late readings are merged with those in time, and later windows follow.

    `began_ms` is the steady clock at its start. Readings that come later need another revision.
    """

    def __init__(
        self, due: Due, began_ms: int, journal: Journal, pipeline: Pipeline, model: Model | None, shape: Shape
    ) -> None:
        self.due, self.began_ms = due, began_ms
        self.estimates: list[Estimate] = []
        self.settled: list[Settled] = []
        self._journal, self._closed = journal, journal.closed_windows
        self._pipeline, self._model, self._shape = pipeline, model, shape
        self._changed: dict[int, Window] = {}
        self._steps = self._work()

    def go_on(self, seconds: float) -> bool:
        """Work for about so long; returns whether all is done."""
        until = perf_counter() + seconds
        return all(perf_counter() <= until for _ in self._steps)

    def take(self, most: int) -> list[Estimate]:
        """The next of the estimates, when all is done."""
        part, self.estimates = self.estimates[:most], self.estimates[most:]
        return part

    def _work(self) -> Iterator[None]:
        for start_ms in self.due.starts_ms:
            yield from self._merge(start_ms)
            yield
        until_ms = -1
        # Windows that close meanwhile come after the changed ones, so all later ones are estimated again.
        while until_ms != self._closed_until_ms():
            until_ms, from_ms = self._closed_until_ms(), self._journal.revise_from_ms
            changed = {start_ms: each for start_ms, each in self._changed.items() if start_ms >= from_ms}
            if changed:
                yield from self._estimate(changed, until_ms)

    def _closed_until_ms(self) -> int:
        return self._journal.closed_until().get(self.due.sensor, 0)

    def _merge(self, start_ms: int) -> Iterator[None]:
        """A window from all its readings, unless some are lost, or it is final by now."""
        sensor, end_ms = self.due.sensor, start_ms + self._shape.length_ms
        late = self._closed.late(sensor, start_ms)
        if late is None:
            return
        self.settled.append((sensor, start_ms, late.last_row))
        known = self._closed.one(sensor, start_ms)
        if not late.readings or start_ms >= self._closed_until_ms():
            return
        if known and (known.final or known.payload is None):
            return
        if known is None and self._closed.is_lost(sensor, start_ms):
            return
        readings: list[Reading] = []
        for part in self._closed.in_time(sensor, known) if known else ():
            if part is None:
                return
            readings += part
            yield
        readings += late.readings
        self._changed[start_ms] = window_of(sensor, start_ms, end_ms, readings, self._shape.max_readings)

    def _estimate(self, changed: Mapping[int, Window], until_ms: int) -> Iterator[None]:
        """New estimates of the changed windows, and of later ones that these change."""
        self.estimates, first_ms = [], min(changed)
        # Not those from implausible timestamps, which lie beyond.
        stored = self._closed.between(self.due.sensor, first_ms - REACH_MS, until_ms - 1)
        known = {each.start_ms: each for each in stored}
        if not (self._model and self._model.warming):
            known = {start_ms: known[start_ms] for start_ms in changed if start_ms in known}
        for estimate in self._pipeline.revise(self.due.sensor, self._windows(known, changed)):
            start_ms = estimate.start_ms
            if start_ms >= first_ms:
                self.estimates += _differing(estimate, known.get(start_ms), start_ms in changed)
            yield

    def _windows(
        self, known: Known, changed: Mapping[int, Window]
    ) -> Iterator[tuple[Window, bool, Place | None]]:
        """Changed windows and the others around them, oldest first, with the clock and place they had."""
        for start_ms in sorted({*known, *changed}):
            before = known.get(start_ms)
            record = _record(before) if before else {}
            window = changed.get(start_ms) or Window(
                self.due.sensor,
                start_ms,
                start_ms + self._shape.length_ms,
                before.channels if before else {},
            )
            place = _place(record) if before else None
            yield window, record.get("clock") != "unsynchronised", place


def _differing(estimate: Estimate, before: ClosedWindow | None, changed: bool) -> Iterator[Estimate]:
    """The estimate as a revision, if it says something else than before.

    A window that did not change itself keeps the estimate of a model, or in a unit, of before.
    """
    if before is None:
        yield replace(estimate, revision=1, cause=LATE_READINGS)
    elif before.payload is not None:
        record, number = _record(before), before.revision
        same = (record.get("model"), record.get("unit")) == (estimate.model, estimate.unit)
        if (same or changed) and content(estimate_record(estimate)) != content(record):
            yield replace(estimate, revision=number + 1, supersedes=number, cause=LATE_READINGS)


def _place(record: Mapping[str, Any]) -> Place:
    moving = "moving" in record.get("reasons", ())
    return Place(decode_position(record.get("position")), record.get("site"), moving)


def _record(window: ClosedWindow) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(window.payload or b"{}")
    return record
