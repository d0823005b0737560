"""Means over hours: after each commit, those that new estimates complete or change."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from edge_agent.change import Outgoing
from edge_agent.clock import Every, Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.derived import SEPARATOR
from edge_agent.core.errors import BadEstimate
from edge_agent.core.mean_messages import SPANS_MS, MeanEstimate, mean_estimates
from edge_agent.core.means import HOUR_MS
from edge_agent.core.messages import LATE_READINGS, Estimate, decode_estimate
from edge_agent.journal import Journal

FACT = "means_until"  # the last estimate whose means are in the journal
LOOK_MS = 600_000  # how often sensors that are silent are looked at
SILENT_MS = 10 * HOUR_MS  # after so long no span contains their last window
LONGEST_MS = 48 * HOUR_MS  # spans that are older than the estimates at hand by so much stay as they are
AT_ONCE_MS = 24 * HOUR_MS  # of one sensor in one turn of the loop; new readings wait meanwhile


class _New(NamedTuple):
    """Estimates of a sensor whose means are not made yet: the first start, and the number of the first."""

    start_ms: int
    number: int


class Averaging:
    """Compares the means in the journal with what the estimates give now, one sensor at a time."""

    def __init__(self, journal: Journal, commits: GroupCommit) -> None:
        self._journal, self._commits = journal, commits
        self._new: dict[str, _New] = {}
        self._due: dict[str, None] = {}  # sensors to look at, in order
        self._hours: dict[str, int] = {}  # sensor -> the hour in which its windows are closed
        self._silent: set[str] = set()  # sensors without an estimate since the last look
        # Every sensor of the last hours: whether it was heard since the last look. A start counts as that.
        self._heard = dict.fromkeys(journal.closed_until(), True)
        self._newest = int(journal.fact(FACT) or 0)
        self._look = Every(LOOK_MS)
        for sensor, start_ms, first, last in journal.closed_windows.made_after(self._newest):
            self._newest = max(self._newest, last)
            self._new[sensor] = _New(start_ms, first)
            self._due[sensor] = None

    @property
    def waits(self) -> bool:
        """Whether there is more to do soon."""
        return bool(self._due)

    def note(self, committed: Iterable[Outgoing]) -> None:
        """These estimates are in the journal now."""
        closed_until = self._journal.closed_until()
        for each in committed:
            if SEPARATOR in each.sensor:
                continue
            self._newest = max(self._newest, each.id)
            start_ms, number = self._new.get(each.sensor, (each.start_ms, each.id))
            self._new[each.sensor] = _New(min(start_ms, each.start_ms), number)
            self._heard[each.sensor] = True
            self._silent.discard(each.sensor)
            hour = closed_until[each.sensor] // HOUR_MS
            # Most windows end no hour.
            if each.revision or hour != self._hours.get(each.sensor):
                self._hours[each.sensor], self._due[each.sensor] = hour, None

    def run_due(self, time: Timekeeper) -> None:
        """Make the means of one sensor, at most of a day; the next commit has them."""
        if time.trusted and self._look.due(time.elapsed_ms):
            self._look_at_silent(time.now_ms)
        if self._commits.has_derived or not self._due:
            return
        sensor = next(iter(self._due))
        until_ms = self._journal.closed_until()[sensor]
        if sensor in self._silent and time.trusted:
            # An hour without its last windows waits while they may still come.
            until_ms = max(until_ms, min(time.now_ms - HOUR_MS, until_ms + SILENT_MS))
        new = self._new.get(sensor, _New(until_ms - 1, self._newest))
        last_ms = new.start_ms // HOUR_MS * HOUR_MS + AT_ONCE_MS
        spans = [self._differing(sensor, every, new.start_ms, until_ms, last_ms) for every in SPANS_MS]
        means = [each for span in spans for each in span]
        # Not before the reads above, which may fail: the sensor is then looked at again.
        del self._due[sensor]
        self._new.pop(sensor, None)
        if (next_ms := self._next_ms(sensor, last_ms, until_ms)) is not None:
            # Behind the others: one sensor may have much to do.
            self._new[sensor], self._due[sensor] = new._replace(start_ms=next_ms), None
        if means:
            self._commits.add_derived(means)
            first = min((each.number for each in self._new.values()), default=self._newest + 1)
            self._commits.add_fact(FACT, str(first - 1))

    def _next_ms(self, sensor: str, last_ms: int, until_ms: int) -> int | None:
        """Where the work on a sensor goes on; years without a window are passed over."""
        start_ms = self._journal.closed_windows.next_start(sensor, last_ms - SILENT_MS)
        if last_ms >= until_ms + SILENT_MS or start_ms is None or start_ms >= until_ms:
            return None
        return max(last_ms, start_ms)

    def _look_at_silent(self, now_ms: int) -> None:
        """The last hours of a sensor that sends nothing are over when the clock says so."""
        closed_until = self._journal.closed_until()
        self._silent = {name for name, heard in self._heard.items() if not heard}
        self._due |= dict.fromkeys(self._silent)
        # What was heard since the last look is looked at once more, although its windows may be old.
        recent = (name for name in self._heard if closed_until[name] > now_ms - SILENT_MS)
        heard = (name for name, heard in self._heard.items() if heard)
        self._heard = dict.fromkeys((*recent, *heard), False)

    def _differing(
        self, sensor: str, every: str, start_ms: int, until_ms: int, last_ms: int
    ) -> Iterator[MeanEstimate]:
        """The means until `last_ms` that are not in the journal, or say something else there."""
        span_ms, series = SPANS_MS[every], f"{sensor}{SEPARATOR}{every}"
        made_ms = self._journal.closed_until(series=True).get(series, start_ms)
        if made_ms > until_ms + SILENT_MS:
            made_ms = start_ms  # it was from implausible timestamps
        until_ms = min(max(until_ms, made_ms), last_ms)
        first_ms = min(start_ms // HOUR_MS * HOUR_MS, made_ms) - span_ms + HOUR_MS
        from_ms = max(0, first_ms, (start_ms - LONGEST_MS) // HOUR_MS * HOUR_MS)
        known = {
            each.start_ms: each for each in self._journal.closed_windows.newest(series, from_ms, until_ms)
        }
        for mean in mean_estimates(self._estimates(sensor, from_ms, until_ms), every, from_ms, until_ms):
            before = known.get(mean.start_ms)
            if before is None:
                yield mean
            elif not mean.says_the_same(json.loads(before.payload or b"{}")):
                yield mean.replacing(before.revision, LATE_READINGS)

    def _estimates(self, sensor: str, from_ms: int, until_ms: int) -> Iterator[Estimate]:
        for window in self._journal.closed_windows.newest(sensor, from_ms, until_ms - 1):
            with suppress(BadEstimate):
                yield decode_estimate(window.payload or b"")
