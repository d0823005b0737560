"""Limits on what a sensor measures: two thresholds with minimum durations; missing data change nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from edge_agent.core.means import HOUR_MS, Part, running_means
from edge_agent.core.messages import Estimate, format_time
from edge_agent.core.quality import Flag

SPANS_MS = {"window": 0, "1h": HOUR_MS, "8h": 8 * HOUR_MS}  # 0: each window as it is
RAISED, CLEARED = "raised", "cleared"


@dataclass(frozen=True, slots=True)
class Limit:
    """Raised at `above` or more for `raise_after_ms`, cleared below `below` for `clear_after_ms`."""

    name: str
    above: float
    below: float
    mean: str = "window"
    raise_after_ms: int = 0
    clear_after_ms: int = 0
    sensors: tuple[str, ...] = ()  # none: all

    @property
    def reach_ms(self) -> int:
        """How far back a decision looks."""
        return SPANS_MS[self.mean] + HOUR_MS + max(self.raise_after_ms, self.clear_after_ms)


class Transition(NamedTuple):
    """A limit that was raised or cleared; `since_ms` is the start of the time that counts for it."""

    limit: Limit
    sensor: str
    state: str
    since_ms: int
    at_ms: int
    value: float
    unit: str | None


class Level(NamedTuple):
    """A value of the time [start, end); none if data are missing."""

    start_ms: int
    end_ms: int
    value: float | None
    unit: str | None


class Alerts:
    """Every limit at every sensor; told of each estimate once, in order.

    >>> alerts = Alerts([Limit("co-high", above=9.0, below=7.0)])
    >>> window = Estimate("5A2D", 0, 900_000, 1, (), {}, {}, value=12.5, unit="ppm")
    >>> [(each.state, each.value) for each in alerts.update(window)]
    [('raised', 12.5)]
    """

    def __init__(self, limits: Iterable[Limit]) -> None:
        self._limits = list(limits)
        self._watches: dict[tuple[str, str], _Watch] = {}

    def restore(self, name: str, sensor: str, state: str) -> bool:
        """Continue with a state from before a restart; False if there is no such limit for this sensor."""
        for watch in self._of(sensor):
            if watch.limit.name == name:
                watch.state = state
                return True
        return False

    def prime(self, estimate: Estimate) -> None:
        """Count a window from before a restart, whose transitions are known."""
        for watch in self._of(estimate.sensor):
            for level in watch.levels(estimate):
                watch.count(level)

    def update(self, estimate: Estimate) -> list[Transition]:
        """What an estimate raises or clears; revisions change nothing."""
        return [
            transition
            for watch in self._of(estimate.sensor)
            for level in watch.levels(estimate)
            if (transition := watch.judge(level))
        ]

    def _of(self, sensor: str) -> Iterator["_Watch"]:
        for limit in self._limits:
            if not limit.sensors or sensor in limit.sensors:
                yield self._watches.setdefault((limit.name, sensor), _Watch(limit, sensor))


class _Watch:
    """One limit at one sensor."""

    def __init__(self, limit: Limit, sensor: str) -> None:
        self.limit, self.sensor, self.state = limit, sensor, CLEARED
        self._parts: list[Part] = []
        self._seen_ms = self._until_ms = 0  # the ends of the last window and of the last level
        self._unit: str | None = None
        self._above_ms: int | None = None  # since when the value is at `above` or more, without a gap
        self._below_ms: int | None = None

    def levels(self, estimate: Estimate) -> Iterator[Level]:
        """What is to be compared with the limit: the window itself, or the means that end with it."""
        # With a clock that is not synchronised a window may be years ahead.
        if estimate.revision or estimate.clock != "synchronised":
            return
        if estimate.start_ms < self._seen_ms:
            # The windows of a sensor close in order, unless one was years ahead: its time came before the
            # clock could judge it.
            self._parts, self._until_ms = [], 0
        self._seen_ms = estimate.end_ms
        span_ms = SPANS_MS[self.limit.mean]
        part = _part(estimate)
        if not span_ms:
            yield Level(part.start_ms, part.end_ms, part.value, part.unit)
            return
        since_ms = part.end_ms - span_ms - HOUR_MS
        self._parts = [*(each for each in self._parts if each.start_ms >= since_ms), part]
        for mean in running_means(self._parts, span_ms, part.end_ms):
            if mean.end_ms > self._until_ms:
                yield Level(mean.end_ms - HOUR_MS, mean.end_ms, mean.value, mean.unit)

    def count(self, level: Level) -> None:
        """For how long the value has been above or below."""
        if level.start_ms != self._until_ms or level.value is None or level.unit != self._unit:
            self._above_ms = self._below_ms = None
        self._until_ms, self._unit = level.end_ms, level.unit
        if level.value is None:
            return
        is_above, is_below = level.value >= self.limit.above, level.value < self.limit.below
        self._above_ms = _since(self._above_ms, level.start_ms) if is_above else None
        self._below_ms = _since(self._below_ms, level.start_ms) if is_below else None

    def judge(self, level: Level) -> Transition | None:
        """The transition that a level makes, if any."""
        self.count(level)
        raising = self.state == CLEARED
        since_ms = self._above_ms if raising else self._below_ms
        after_ms = self.limit.raise_after_ms if raising else self.limit.clear_after_ms
        if since_ms is None or level.value is None or level.end_ms - since_ms < after_ms:
            return None
        self.state = RAISED if raising else CLEARED
        at_ms, value, unit = level.end_ms, level.value, level.unit
        return Transition(self.limit, self.sensor, self.state, since_ms, at_ms, value, unit)


def alert_record(transition: Transition, agent: str) -> dict[str, Any]:
    """A transition as the map of the wire contract."""
    limit = transition.limit
    return {
        "v": 1,
        "agent": agent,
        "sensor": transition.sensor,
        "alert": limit.name,
        "state": transition.state,
        "since": format_time(transition.since_ms),
        "at": format_time(transition.at_ms),
        "value": round(transition.value, 9),
        "unit": transition.unit,
        "mean": limit.mean,
        "above": limit.above,
        "below": limit.below,
    }


def _since(since_ms: int | None, start_ms: int) -> int:
    return start_ms if since_ms is None else since_ms


def _part(estimate: Estimate) -> Part:
    """A window for a mean; a value that failed counts as missing."""
    used = [n for name, n in estimate.minutes.items() if name in (estimate.weights or ())]
    value = None if estimate.quality == Flag.FAIL else estimate.value
    return Part(
        estimate.start_ms,
        estimate.end_ms,
        value,
        min(used, default=0),
        estimate.minutes.get("expected", 0),
        estimate.quality,
        unit=estimate.unit,
    )
