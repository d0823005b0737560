"""Coverage: how many minutes a window needs, at the cadence of its channel."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.coverage import expected_minutes, needed_minutes
from edge_agent.core.windows import (
    MINUTE_MS,
    Windows,
)
from tests.edge_agent.core.test_windows import LENGTH_MS, reading


@pytest.mark.parametrize(
    ("cadence", "expected", "needed"),
    [
        (1, 15, 12),
        (2, 7, 6),
        (3, 5, 4),
        (4, 3, 3),
        (5, 3, 2),
        (6, 2, 2),
        (7, 2, 2),
        (8, 1, 1),
        (15, 1, 1),
        (16, 1, 1),
        (1440, 1, 1),
    ],
)
def test_coverage_is_counted_at_the_cadence_of_the_channel(cadence: int, expected: int, needed: int) -> None:
    assert (expected_minutes(LENGTH_MS, cadence), needed_minutes(LENGTH_MS, cadence)) == (expected, needed)


@given(
    cadence=st.integers(1, 30),
    length=st.integers(1, 240),
    coverage=st.floats(0.0, 1.0),
    phase_ms=st.integers(0, 30 * MINUTE_MS),
    jitter=st.randoms(use_true_random=False),
)
def test_a_slow_sensor_that_loses_nothing_is_never_refused(
    cadence: int, length: int, coverage: float, phase_ms: int, jitter: random.Random
) -> None:
    """Whatever its phase, and with up to a minute of jitter; readings more often than that never hurt."""
    windows = Windows(length * MINUTE_MS)
    for number in range(6 * length // cadence + 6):
        for faster in range(jitter.choice([1, 1, 2])):
            at_ms = phase_ms + number * cadence * MINUTE_MS + jitter.randrange(MINUTE_MS) + faster
            windows.add(reading(at_ms), now_ms=at_ms)
    needed = needed_minutes(length * MINUTE_MS, cadence, coverage)
    whole = windows.close_all()[1:-1]
    assert cadence == 1 or all(window.channels["op1"].minutes >= needed for window in whole)


@given(coverage=st.floats(0.0, 1.0), length=st.integers(1, 1440))
def test_at_one_reading_a_minute_the_share_is_exact(coverage: float, length: int) -> None:
    """Jitter is no excuse there: the plain rule, for every setting of coverage."""
    needed = needed_minutes(length * MINUTE_MS, 1, coverage)
    assert needed - 1 < max(1.0, coverage * length) <= needed
