"""Intervals that cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.model import Interval
from model_export.calibration.interval import (
    Held,
    conformal,
    coverage,
    forward_conformal,
    leave_out,
    measured,
    without_noise,
)
from model_export.recordings.dataset import Dataset
from tests.support.models import drawn


@given(n=st.integers(10, 200), seed=st.integers(0, 2**32 - 1), level=st.sampled_from([0.5, 0.8, 0.9]))
def test_at_least_the_level_of_the_residuals_lies_inside(n: int, seed: int, level: float) -> None:
    """The half-width is one of the residuals, and the share of them inside is just enough for n + 1."""
    residuals = np.random.default_rng(seed).normal(size=n)
    interval = conformal(residuals, level)
    inside = np.abs(residuals) <= interval.half_width
    assert interval.half_width in np.abs(residuals)
    assert inside.sum() >= level * (n + 1) > inside.sum() - 1


def test_the_guarantee_holds_on_average() -> None:
    """Over many draws, a fresh residual is covered at the level, even from 19 residuals of Cauchy noise."""
    random = np.random.default_rng(1)
    draws = random.standard_cauchy((4000, 20))
    covered = [abs(draw[0]) <= conformal(draw[1:]).half_width for draw in draws]
    assert pytest.approx(np.mean(covered), abs=0.02) == 0.9


def test_too_few_residuals_are_refused() -> None:
    """With 8 there is no rank that covers 90 %."""
    assert Interval(1.0, 0.9) == conformal(np.ones(9))
    with pytest.raises(BadRecording) as caught:
        conformal(np.ones(8))
    assert str(caught.value) == (
        "interval: expected at least 9 held-out windows for level 0.9, got 8; add a longer recording"
    )


def test_each_window_after_the_first_quarter_is_estimated_from_all_before() -> None:
    """Once, and never from itself or from later windows."""
    seen: list[int] = []
    dataset = drawn(57)

    def estimator(before: Dataset, held: Dataset) -> Array:
        assert dataset.start_ms[: len(before)].tolist() == before.start_ms.tolist()
        assert held.start_ms[0] == before.start_ms[-1] + 900_000
        seen.extend(held.start_ms.tolist())
        return np.asarray(held.target - 1.0)

    assert Interval(1.0, 0.9) == forward_conformal(dataset, estimator)
    assert dataset.start_ms[14:].tolist() == seen


@pytest.mark.parametrize("seed", range(3))
def test_forward_conformal_intervals_cover_fresh_data(seed: int) -> None:
    """From 600 windows, 90 % intervals cover 87 to 93 % of 20 000 fresh ones."""

    def estimator(before: Dataset, held: Dataset) -> Array:
        design = np.column_stack([before.inputs, before.auxiliary, np.ones(len(before))])
        weights = np.linalg.lstsq(design, before.target, rcond=None)[0]
        return np.asarray(np.column_stack([held.inputs, held.auxiliary, np.ones(len(held))]) @ weights)

    train, fresh = drawn(600, seed, noise=0.1), drawn(20_000, seed + 100, noise=0.1)
    interval = forward_conformal(train, estimator)
    inside = np.abs(fresh.target - estimator(train, fresh)) <= interval.half_width
    assert 0.87 <= inside.mean() <= 0.93


def test_every_window_is_left_out_once_in_each_order_and_never_seen() -> None:
    """Stretches of time, of the first channel, of temperature and of the reference."""
    dataset = drawn(57)

    def estimator(kept: Dataset, left: Dataset) -> Array:
        assert not {*kept.start_ms.tolist()} & {*left.start_ms.tolist()}
        assert len(kept) + len(left) == 57 or kept.start_ms[-1] < left.start_ms[0]
        return left.target - 1.0

    held = leave_out(dataset, estimator)
    assert list(held) == ["time", "op1", "temperature", "reference", "later"]
    assert (held.pop("later").estimate + 1.0).tolist() == pytest.approx(dataset.target[14:].tolist())
    for part in held.values():
        assert sorted(part.estimate + 1.0) == sorted(dataset.target.tolist())


def test_the_width_follows_the_errors() -> None:
    """Errors that grow with the estimate give a slope, and days that differ give a wider interval."""
    random, days = np.random.default_rng(0), np.repeat(np.arange(40, dtype=np.int64), 50)
    estimate = random.uniform(0.0, 2.0, 2000)
    noise = random.normal(size=2000)
    grown = measured({"time": Held(noise * (0.1 + 0.2 * estimate), estimate, days)})
    # Four times as far off, but the narrow end keeps three quarters of the mean width.
    assert 1.5 < grown.half_widths(2.0) / grown.half_widths(0.0) < 4.0
    inside = np.abs(random.normal(size=2000)) * (0.1 + 0.2 * estimate) <= grown.half_widths(estimate)
    assert 0.87 <= inside.mean() <= 0.93
    few = np.repeat(np.arange(4, dtype=np.int64), 500)
    shifted = np.repeat(random.normal(size=4), 500) + 0.1 * noise
    alike = measured({"time": Held(random.permutation(shifted), estimate, few)})
    assert measured({"time": Held(shifted, estimate, few)}).half_width > 1.2 * alike.half_width


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.2])
def test_without_the_noise_of_the_reference_it_is_the_interval_of_the_truth(noise: float) -> None:
    """The reference itself is then inside less often."""
    random, days = np.random.default_rng(0), np.repeat(np.arange(40, dtype=np.int64), 50)
    estimate = random.uniform(0.0, 2.0, 2000)
    error = random.normal(size=2000) * (0.1 + 0.1 * estimate)
    seen = error + noise * random.normal(size=2000)
    beside = measured({"time": Held(seen, estimate, days)})
    true = without_noise(beside, noise, float(estimate.mean()))
    assert 0.88 <= np.mean(np.abs(error) <= true.half_widths(estimate)) <= 0.92
    assert 0.88 <= np.mean(np.abs(seen) <= beside.half_widths(estimate)) <= 0.92
    assert np.mean(np.abs(seen) <= true.half_widths(estimate)) < np.mean(
        np.abs(seen) <= beside.half_widths(estimate)
    )


def test_of_an_interval_at_least_half_is_left_whatever_is_said_of_the_noise() -> None:
    interval = Interval(0.125, 0.9, slope=0.25, origin=1.0)
    assert without_noise(interval, 5.0, 2.0) == Interval(0.0625, 0.9, slope=0.125, origin=1.0)
    assert without_noise(interval, 5.0, 0.5) == Interval(0.0625, 0.9, slope=0.0, origin=1.0)
    assert without_noise(interval, 0.0, 2.0) == interval


def test_the_kind_of_stretch_with_the_largest_errors_decides() -> None:
    """Temperatures that the model does not know are covered, however well it knows all times."""
    random, days = np.random.default_rng(0), np.repeat(np.arange(40, dtype=np.int64), 50)
    estimate, noise = random.uniform(0.0, 2.0, 2000), random.normal(size=2000)
    parts = {"time": Held(noise, estimate, days), "temperature": Held(3.0 * noise, estimate, days)}
    interval = measured(parts)
    assert 0.89 <= coverage(parts["temperature"], interval) <= 0.91
    assert coverage(parts["time"], interval) > 0.99
