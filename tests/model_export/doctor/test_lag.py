"""The scan over lags, against the slow obvious one."""

import numpy as np
import pytest

from model_export.doctor.lag import FURTHEST, scan
from model_export.doctor.minutes import Minutes, fast, on_minutes
from model_export.doctor.resample import block_weights, interval, least
from tests.support.colocations import colocation


def by_hand(minutes: Minutes, lag: int) -> float:
    """R² of the reference on the channels so many minutes later, row by row."""
    n = len(minutes.reference)
    at = np.arange(n)
    inside = (at + lag >= 0) & (at + lag < n)
    y, x = minutes.reference[at[inside]], minutes.channels[:, at[inside] + lag]
    both = np.isfinite(y) & np.isfinite(x).all(axis=0)
    design = np.column_stack([x[:, both].T, np.ones(both.sum())])
    rest = y[both] - design @ np.linalg.lstsq(design, y[both], rcond=None)[0]
    return float(1.0 - np.var(rest) / np.var(y[both]))


@pytest.mark.parametrize("every", [1, 5, 15])
@pytest.mark.parametrize("lag", [-FURTHEST, -37, 0, 1, 240])
def test_the_scan_is_the_regression_of_each_lag(every: int, lag: int) -> None:
    """Sums by FFT and by hand agree, whatever the reference's cadence."""
    minutes = on_minutes(colocation(days=4.0, every=every))
    found = scan(minutes)
    assert found is not None
    assert found.explained[found.lags == lag][0] == pytest.approx(by_hand(fast(minutes), lag), abs=1e-6)


def test_two_days_are_needed() -> None:
    """Fewer than eight blocks give no interval."""
    assert scan(on_minutes(colocation(days=1.0))) is None


def test_two_channels_that_are_one_do_not_end_the_scan() -> None:
    """A logger that writes one electrode twice."""
    sound = colocation(days=3.0)
    twice = type(sound)("x", "x", ("op1", "op2"), {**sound.series, "op2": sound.series["op1"]}, {}, ())
    found = scan(on_minutes(twice))
    assert found is not None
    assert found.best[0] == 0


def test_resampling_draws_as_many_blocks_as_there_are_and_repeats_itself() -> None:
    """The first row is the data; the seed decides the others."""
    weights = block_weights(9, seed=3)
    assert (weights.sum(axis=1) == 9.0).all()
    assert (weights[0] == 1.0).all()
    assert np.array_equal(weights, block_weights(9, seed=3))
    assert not np.array_equal(weights, block_weights(9, seed=4))


def test_intervals_and_bounds_cover_normal_values() -> None:
    """99 % within, and a bound that 99.9 % exceed."""
    values = np.random.default_rng(0).normal(5.0, 1.0, 4001)
    values[0] = 5.0
    low, high = interval(values, 0.99)
    assert (low, high) == pytest.approx((5.0 - 2.58, 5.0 + 2.58), abs=0.2)
    assert least(values, 0.999) == pytest.approx(5.0 - 3.09, abs=0.1)
