"""Sensor-to-sensor transfer without a reference."""

from dataclasses import replace

import numpy as np
import pytest

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from model_export.calibration.adapt import adapt
from model_export.calibration.fit import evaluate
from model_export.calibration.transfer import apply, fit_map, transfer
from model_export.recordings.dataset import Dataset
from tests.support.models import drawn, linear

MIX = np.array([[1.2, 0.1, -30.0], [-0.05, 0.9, 12.0]])  # source = MIX @ (target, 1)


def pair(n: int = 300, noise: float = 0.0) -> tuple[Dataset, Dataset]:
    """A source, and a target whose channels are a linear map of it; without references."""
    source = drawn(n)
    inverse = np.linalg.inv(MIX[:, :2])
    spoken: Array = (source.inputs - MIX[:, 2]) @ inverse.T
    spoken = spoken + np.random.default_rng(1).normal(0.0, noise, spoken.shape)
    nothing = np.full(n, np.nan)
    target = replace(source, sensor="5CB6", name="target.csv", inputs=spoken, target=nothing)
    return replace(source, target=nothing), target


def test_a_linear_map_is_recovered() -> None:
    """If one exists it is found, with an R² near 1."""
    source, target = pair()
    fitted = fit_map(source, target)
    np.testing.assert_allclose(fitted.matrix, MIX, rtol=1e-8)
    np.testing.assert_allclose(apply(fitted.matrix, target.inputs), source.inputs, rtol=1e-8)
    assert (fitted.n, *fitted.r2) == pytest.approx((300, 1.0, 1.0))


def test_the_source_model_serves_the_target() -> None:
    """The target's raw channels give the estimates of the source's."""
    (source, target), model = pair(), linear()
    moved, _ = transfer(model, source, target)
    assert (moved.sensor, moved.id) == ("5CB6", "")
    np.testing.assert_allclose(
        moved.predict(target.inputs, target.auxiliary),
        model.predict(source.inputs, source.auxiliary),
        atol=1e-4,
    )


def test_only_windows_in_common_count() -> None:
    """Each sensor may have gaps of its own."""
    source, target = pair()
    fitted = fit_map(source.part(slice(100, None)), target.part(slice(None, 200)))
    assert fitted.n == 100
    np.testing.assert_allclose(fitted.matrix, MIX, rtol=1e-8)


def test_a_second_transfer_comes_before_the_first() -> None:
    """From a third sensor to the second to the first: one map for both."""
    (source, target), model = pair(), linear()
    second, _ = transfer(model, source, target)
    third = replace(target, sensor="B5FF", inputs=target.inputs * 2.0 + 5.0)
    moved, _ = transfer(second, target, third)
    np.testing.assert_allclose(
        moved.predict(third.inputs, third.auxiliary),
        model.predict(source.inputs, source.auxiliary),
        atol=1e-3,
    )


def test_without_a_reference_no_interval_is_promised() -> None:
    """Nobody knows how large the errors are here; `adapt` measures them."""
    source, target = pair(2000, noise=2.0)
    moved, _ = transfer(linear(half_width=0.165), source, target)
    assert moved.interval is None
    truth = linear().predict(source.inputs, source.auxiliary) + np.random.default_rng(3).normal(
        0.0, 0.1, 2000
    )
    here = replace(target, target=truth)
    assert 0.87 <= evaluate(adapt(moved, here), here).coverage <= 0.93


def test_a_power_comes_after_the_map() -> None:
    """The map is between signals as they are measured."""
    (source, target), model = pair(), replace(linear(), power=0.5)
    moved, _ = transfer(model, source, target)
    np.testing.assert_allclose(
        moved.predict(target.inputs, target.auxiliary),
        model.predict(source.inputs, source.auxiliary),
        atol=1e-3,
    )


def test_sensors_without_common_windows_are_refused() -> None:
    """The error shows both spans."""
    source, target = pair()
    later = replace(target, start_ms=target.start_ms + 900_000 * 280)
    with pytest.raises(BadRecording) as caught:
        fit_map(source, later)
    assert str(caught.value) == (
        "target.csv: expected at least 50 windows in common with drawn.csv, got 20; "
        "drawn.csv is from 2024-02-01T00:00:00Z to 2024-02-04T02:45:00Z, "
        "target.csv is from 2024-02-03T22:00:00Z to 2024-02-07T00:45:00Z"
    )


def test_a_dead_channel_is_refused() -> None:
    """A channel that never changes can't be mapped."""
    source, target = pair()
    dead = target.inputs.copy()
    dead[:, 1] = 7.0
    with pytest.raises(BadRecording) as caught:
        fit_map(source, replace(target, inputs=dead))
    assert str(caught.value) == "target.csv: op2: expected values that vary, got 7"
