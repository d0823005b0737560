"""The event time of a simulated van against the wall clock."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import ceil

from edge_agent.core.windows import WINDOW_MS
from model_export.simulator.van import Minute
from model_export.simulator.weather import DAY_MS, MINUTE_MS

OVERRUN_MS = 1_000  # extra time for a van that waits for its broker
CATCH_UP_MS = 7 * DAY_MS  # how long ago an endless van starts, if it runs faster than the clock


@dataclass(frozen=True, slots=True)
class Journey:
    """Event time from `start_ms` on, `speed_up` times as fast as the wall clock and never ahead of it."""

    began_ms: int
    start_ms: int
    speed_up: float
    ends_ms: float = float("inf")  # by the wall clock

    def due_ms(self, event_ms: int) -> int:
        """The wall time at which an event time is reached.

        >>> Journey(began_ms=1_000_000, start_ms=0, speed_up=10.0).due_ms(600_000)
        1060000
        >>> Journey(began_ms=1_000_000, start_ms=1_000_000, speed_up=10.0).due_ms(1_600_000)
        1600000
        """
        return max(self.began_ms + round((event_ms - self.start_ms) / self.speed_up), event_ms)

    def over(self, now_ms: int) -> bool:
        """Whether the time is over, including the time to wait for the broker."""
        return now_ms > self.ends_ms + OVERRUN_MS


def plan(now_ms: int, speed_up: float, duration_ms: float = float("inf")) -> Journey:
    """A journey that starts in the past, so that its event time reaches the present only at its end.

    The agent refuses readings from the future, so a fast van must start in the past. The journey starts at
    the start of a window. If it is long enough for a window, it ends at the end of one.

    >>> plan(now_ms=1_000_000_000, speed_up=60.0, duration_ms=40_000)
    Journey(began_ms=1000000000, start_ms=998100000, speed_up=60.0, ends_ms=1000030000)
    """
    endless = duration_ms == float("inf")
    span_ms = CATCH_UP_MS if endless else duration_ms * speed_up
    span_ms -= span_ms % WINDOW_MS if span_ms >= WINDOW_MS else 0
    start_ms = now_ms - (ceil(span_ms) if speed_up > 1.0 else 0)
    ends_ms = float("inf") if endless else now_ms + ceil(span_ms / speed_up)
    return Journey(now_ms, start_ms - start_ms % WINDOW_MS, speed_up, ends_ms)


def pace(
    minutes: Iterable[Minute], journey: Journey, now_ms: Callable[[], int], wait: Callable[[float], bool]
) -> Iterator[Minute]:
    """Yield each minute when it is over; `wait` takes seconds and returns whether to stop."""
    for minute in minutes:
        due_ms = journey.due_ms(minute.at_ms + MINUTE_MS)
        if due_ms > journey.ends_ms or journey.over(now_ms()):
            return
        if wait(max(due_ms - now_ms(), 0) / 1000):
            return
        yield minute
