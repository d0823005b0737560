"""Hourly and running 8-hour means against a slow obvious version, also with gaps."""

import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.means import HOUR_MS, Part, running_means

MINUTE_MS, WINDOW_MS = 60_000, 900_000


def oracle(parts: list[Part], span_ms: int, until_ms: int) -> list[tuple[int, float | None, int]]:
    """Every minute written out: (start, mean or None, minutes) of each span that has a window."""
    means = []
    for start_ms in range(0, until_ms - span_ms + 1, HOUR_MS):
        values: list[float] = []
        touched = False
        for part in parts:
            if start_ms <= part.start_ms and part.end_ms <= start_ms + span_ms:
                touched = True
                if part.value is not None and part.quality != 4:
                    values += [part.value] * part.minutes
        if touched:
            enough = len(values) >= 0.75 * span_ms / MINUTE_MS
            means.append((start_ms, fmean(values) if enough else None, len(values)))
    return means


def window(
    index: int, value: float | None = 1.0, minutes: int = 15, quality: int = 1, **more: object
) -> Part:
    start_ms = index * WINDOW_MS
    return Part(start_ms, start_ms + WINDOW_MS, value, minutes, 15, quality, **more)  # type: ignore[arg-type]


def random_parts(seed: int) -> list[Part]:
    """Two days with gaps of all lengths, windows without a value, and failed ones."""
    rng = random.Random(seed)
    parts, index = [], rng.randrange(8)
    while index < 192:
        if rng.random() < 0.05:
            index += rng.choice((1, 3, 20, 60))
            continue
        minutes = rng.randint(12, 15) if rng.random() < 0.9 else rng.randint(0, 11)
        value = rng.uniform(0, 9) if minutes >= 12 else None
        parts.append(window(index, value, minutes, rng.choice((1, 1, 1, 3, 4)) if value else 9))
        index += 1
    return parts


@given(st.integers(0, 10_000), st.sampled_from([HOUR_MS, 8 * HOUR_MS]))
def test_means_are_those_of_the_minutes(seed: int, span_ms: int) -> None:
    parts, until_ms = random_parts(seed), 50 * HOUR_MS
    found = list(running_means(parts, span_ms, until_ms))
    expected = oracle(parts, span_ms, until_ms)
    assert [(mean.start_ms, mean.minutes) for mean in found] == [(start, n) for start, _, n in expected]
    assert [mean.value for mean in found] == [
        None if value is None else pytest.approx(value, rel=1e-12) for _, value, _ in expected
    ]


def test_a_mean_weighs_minutes_not_windows() -> None:
    """12 minutes of 1 and 45 minutes of 2: the mean of the four windows would be 1.75."""
    parts = [window(0, 1.0, 12), window(1, 2.0), window(2, 2.0), window(3, 2.0)]
    [mean] = running_means(parts, HOUR_MS, HOUR_MS)
    assert (mean.value, mean.minutes, mean.expected) == ((12 + 90) / 57, 57, 60)


@pytest.mark.parametrize(
    ("windows", "value", "reasons"), [(3, 1.0, ()), (2, None, ("insufficient_coverage",))]
)
def test_an_hour_needs_three_quarters_of_its_minutes(
    windows: int, value: float | None, reasons: tuple[str, ...]
) -> None:
    [mean] = running_means([window(index) for index in range(windows)], HOUR_MS, HOUR_MS)
    assert (mean.value, mean.reasons) == (value, reasons)


def test_a_slow_sensor_is_measured_by_its_own_cadence() -> None:
    """Every 5 minutes: 3 of 3 minutes in a window, 12 of 12 in an hour."""
    parts = [window(index, 2.0)._replace(minutes=3, expected=3) for index in range(4)]
    [mean] = running_means(parts, HOUR_MS, HOUR_MS)
    assert (mean.value, mean.minutes, mean.expected) == (2.0, 12, 12)


def test_an_hour_that_is_not_over_has_no_mean() -> None:
    parts = [window(index) for index in range(7)]
    assert [mean.start_ms for mean in running_means(parts, HOUR_MS, 2 * HOUR_MS - 1)] == [0]


def test_a_mean_carries_the_worst_quality_every_reason_and_every_model() -> None:
    parts = [
        window(0, model="a", unit="ppm"),
        window(1, quality=3, reasons=("stuck_value",), model="a", unit="ppm"),
        window(2, quality=4, value=99.0, reasons=("op1_outside_training",), model="b", unit="ppm"),
        window(3, quality=3, reasons=("stuck_value", "clock_unsynchronised"), model="b", unit="ppm"),
    ]
    [mean] = running_means(parts, HOUR_MS, HOUR_MS)
    assert (mean.value, mean.minutes, mean.quality, mean.unit) == (1.0, 45, 3, "ppm")
    assert (mean.reasons, mean.models) == (("stuck_value", "clock_unsynchronised"), ("a", "b"))


def test_values_of_two_units_have_no_mean() -> None:
    parts = [window(0, unit="ppm"), window(1, unit="ppb"), window(2, unit="ppb"), window(3, unit="ppb")]
    [mean] = running_means(parts, HOUR_MS, HOUR_MS)
    assert (mean.value, mean.quality, mean.reasons) == (None, 9, ("mixed_units",))
