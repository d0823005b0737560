"""The consensus of sensors in the same air: near the truth, not moved by liars, with an honest interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.consensus import combine
from edge_agent.core.kernel import Array
from edge_agent.core.robust import medians

SIGMA, QUANTILE = 0.06, 1.6448536269514722


def errors(sensors: int, common: float, seed: int = 1, windows: int = 4_000) -> Array:
    """Errors of SIGMA, of whose variance a share is common to all sensors."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((windows, 1)) * np.sqrt(common)
    return np.asarray(SIGMA * (shared + rng.standard_normal((windows, sensors)) * np.sqrt(1.0 - common)))


def promised(values: Array) -> Array:
    return np.full(values.shape, QUANTILE * SIGMA)


def rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def test_six_sound_sensors_are_better_than_one() -> None:
    values = errors(6, common=0.1)
    assert rms(combine(values, promised(values)).value) < 0.6 * SIGMA


@pytest.mark.parametrize("common", [0.0, 0.2, 0.4])
def test_the_interval_covers_about_what_it_promises(common: float) -> None:
    """The share that is common is unknown, so the interval is a compromise; never far too narrow."""
    values = errors(6, common)
    found = combine(values, promised(values))
    assert 0.86 < np.mean(np.abs(found.value) <= found.half_width) < 0.985


def test_two_of_six_may_lie() -> None:
    values = errors(6, common=0.2)
    sound = combine(values[:, 2:], promised(values[:, 2:])).value
    values[:, :2] += 1.0
    assert rms(combine(values, promised(values)).value) < 1.1 * rms(sound)


@given(
    st.integers(3, 9),
    st.floats(-1e6, 1e6),
    st.floats(1e-6, 1e6),
)
def test_fewer_than_half_move_it_only_within_the_others(sensors: int, lie: float, claimed: float) -> None:
    """Whatever they say and promise, the consensus stays near what the others say."""
    values = errors(sensors, common=0.0, seed=sensors, windows=1)
    widths = promised(values)
    liars = (sensors - 1) // 2
    values[:, :liars], widths[:, :liars] = lie, claimed
    sound = values[:, liars:]
    [value] = combine(values, widths).value
    room = 10 * SIGMA + 3 * float(np.ptp(sound))
    assert float(sound.min()) - room <= value <= float(sound.max()) + room


def test_missing_sensors_do_not_count() -> None:
    values = errors(6, common=0.2)
    holes = np.hstack([values, np.full((len(values), 2), np.nan)])
    assert np.allclose(
        combine(holes, promised(holes)).value, combine(values, promised(values)).value, rtol=0, atol=1e-12
    )
    alone = np.array([[1.0, np.nan]])
    assert np.isnan(combine(alone, promised(alone)).value).all()


def test_values_without_an_interval_count_if_two_others_have_one() -> None:
    """Sensors leave training in the same weather; then one liar must not be half of those that count."""
    values = errors(6, common=0.2)
    widths = promised(values)
    widths[:, 2:] = np.nan
    whole, part = combine(values, promised(values)), combine(values, widths)
    assert np.allclose(part.value, whole.value)
    assert np.allclose(part.half_width, whole.half_width)
    values[:, 0] += 1.0
    assert rms(combine(values, widths).value) < 1.1 * rms(
        combine(values[:, 1:], promised(values[:, 1:])).value
    )
    widths[:, 1] = np.nan
    assert np.isnan(combine(values, widths).value).all()


def test_a_precise_sensor_counts_more_but_not_alone() -> None:
    found = combine(np.array([[1.0, 1.1, 1.1]]), np.array([[0.001, 0.1, 0.1]]))
    assert found.weights[0, 0] > found.weights[0, 1]
    assert found.weights[0, 0] < 0.7


def test_sensors_that_disagree_widen_the_interval() -> None:
    near, apart = (combine(np.array([[1.0, 1.0 + d, 1.0 - d]]), np.full((1, 3), 0.1)) for d in (0.01, 0.2))
    assert apart.half_width[0] > 1.3 * near.half_width[0]


def test_equal_values_with_intervals_of_no_width_are_their_value() -> None:
    found = combine(np.array([[1.0, 1.0, 1.0]]), np.zeros((1, 3)))
    assert (found.value[0], found.half_width[0]) == (1.0, pytest.approx(0.0, abs=1e-12))
    assert np.allclose(found.weights, 1.0 / 3.0)


def test_medians_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((200, 7))
    values[rng.random(values.shape) < 0.3] = np.nan
    values[:, 0] = 1.0
    assert np.allclose(medians(values), np.nanmedian(values, axis=1))
