"""Event time against the wall clock, with a clock that the test controls."""

from collections.abc import Iterator
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from model_export.simulator.journey import Journey, pace, plan
from model_export.simulator.van import Minute

NOW_MS = 1_763_258_437_123


class Clock:
    """A wall clock that advances only during waits."""

    def __init__(self, stop_after_ms: float = float("inf")) -> None:
        self.now_ms = NOW_MS
        self._stops_ms = NOW_MS + stop_after_ms

    def wait(self, seconds: float) -> bool:
        assert seconds >= 0.0
        self.now_ms += round(seconds * 1000)
        return self.now_ms >= self._stops_ms


def empty_minutes(start_ms: int) -> Iterator[Minute]:
    return (Minute(start_ms + 60_000 * n, 0.5, {}) for n in count())


def paced(journey: Journey, clock: Clock) -> Iterator[tuple[int, int]]:
    """(event, wall) of every minute."""
    for minute in pace(empty_minutes(journey.start_ms), journey, lambda: clock.now_ms, clock.wait):
        yield minute.at_ms, clock.now_ms


@given(st.floats(0.5, 5_000.0), st.integers(1, 120))
def test_no_reading_is_ever_ahead_of_the_clock(speed_up: float, seconds: int) -> None:
    """A minute is sent when it is over, never before; so an agent accepts all of them."""
    journey = plan(NOW_MS, speed_up, seconds * 1000)
    for event_ms, wall_ms in paced(journey, Clock()):
        assert event_ms + 60_000 <= wall_ms


@given(st.floats(2.0, 5_000.0), st.integers(1, 120))
def test_a_bounded_journey_is_whole_windows_within_its_time(speed_up: float, seconds: int) -> None:
    """As many windows as fit; if none fits, as many minutes as fit."""
    clock, journey = Clock(), plan(NOW_MS, speed_up, seconds * 1000)
    rows = [*paced(journey, clock)]
    minutes = int(speed_up * seconds / 60)
    assert clock.now_ms <= NOW_MS + seconds * 1000 + 1
    assert journey.start_ms % 900_000 == 0
    assert len(rows) == (minutes if minutes < 15 else minutes - minutes % 15)


def test_an_endless_journey_catches_up_and_then_keeps_step() -> None:
    """A week behind at 5040 times the speed: after two minutes it continues in real time."""
    journey, clock = plan(NOW_MS, 5_040.0), Clock()
    rows = [row for row, _ in zip(paced(journey, clock), range(10_085), strict=False)]
    assert rows[0][0] == journey.start_ms
    behind = [wall - event for event, wall in rows]
    assert behind[0] > 6 * 86_400_000
    assert set(behind[-3:]) == {60_000}


def test_a_journey_that_is_held_up_ends_soon_after_its_time() -> None:
    """With a broker that takes two seconds a minute, ten seconds still end."""
    journey, clock = plan(NOW_MS, 600.0, 10_000), Clock()
    for _ in paced(journey, clock):
        clock.now_ms += 2_000
    assert clock.now_ms <= NOW_MS + 13_000


def test_a_stop_ends_it_at_once() -> None:
    """No minute is sent after the wait said stop."""
    journey = plan(NOW_MS, 60.0, 3_600_000)
    assert len([*paced(journey, Clock(stop_after_ms=10_500))]) == 10


def test_real_time_starts_now() -> None:
    """From the start of the window that is open, and no further back."""
    assert plan(NOW_MS, 1.0, 60_000).start_ms == NOW_MS - NOW_MS % 900_000
