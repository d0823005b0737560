"""The whole regression, from raw recordings to raw weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.kernel import KERNELS, Array
from edge_agent.core.model import Scale
from model_export.regression.respire import Hyperparameters, fit, scale_of, standardise
from tests.support.dense import DenseRidge


def recording(count: int = 300, channels: int = 2, seed: int = 0) -> tuple[Array, Array, Array]:
    """A made-up co-location in raw units: mV, °C and ppm."""
    rng = np.random.default_rng(seed)
    auxiliary = rng.normal(24.0, 6.0, size=count)
    inputs = rng.normal(220.0, 20.0, size=(count, channels))
    gain = 0.02 + 0.004 * np.sin(auxiliary / 6.0)
    target = gain * (inputs[:, 0] - 200.0) + 0.01 * auxiliary + 0.05 * rng.normal(size=count)
    return inputs, auxiliary, target


@pytest.mark.parametrize("trend", [0.0, 100.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_dual_solves_the_papers_equation(kernel: str, trend: float) -> None:
    """(F + λI)β = y - ηc, where c is the residual of the outliers."""
    inputs, auxiliary, target = recording()
    hyper = Hyperparameters(kernel, trend, length_scale=0.8, ridge=0.5, alpha=0.05, eta=0.7)
    fitted = fit(inputs, auxiliary, target, hyper)
    x = np.column_stack([*map(standardise, inputs.T, fitted.channel_scales)])
    z, y = standardise(auxiliary, fitted.auxiliary_scale), standardise(target, fitted.target_scale)
    F = DenseRidge(kernel, 0.8, x, z, ridge=0.5, trend=trend).F
    corruption = np.where(fitted.outliers, y - F @ fitted.beta, 0.0)
    left = F @ fitted.beta + 0.5 * fitted.beta
    np.testing.assert_allclose(left, y - 0.7 * corruption, atol=1e-3 if trend else 1e-4)
    assert fitted.outliers.sum() == 15
    assert fitted.converged


def test_predictions_are_the_weights_applied() -> None:
    """ŷ = w1(T)·x1 + w2(T)·x2 + b(T) in raw units, at temperatures never seen."""
    inputs, auxiliary, target = recording()
    fitted = fit(inputs, auxiliary, target, Hyperparameters())
    elsewhere = np.linspace(0.0, 50.0, len(inputs))
    weights = fitted.weights(elsewhere)
    expected = np.sum(inputs * weights[:, :2], axis=1) + weights[:, 2]
    np.testing.assert_allclose(fitted.predict(inputs, elsewhere), expected)


def test_the_weights_stay_outside_the_training_temperatures() -> None:
    """A line would run away there; the paper's functions fade to zero by themselves and are left alone."""
    inputs, auxiliary, target = recording()
    beyond, edges = [auxiliary.min() - 40.0, auxiliary.max() + 40.0], [auxiliary.min(), auxiliary.max()]
    ours = fit(inputs, auxiliary, target, Hyperparameters())
    np.testing.assert_array_equal(ours.weights(beyond), ours.weights(edges))
    paper = fit(inputs, auxiliary, target, Hyperparameters(trend=0.0))
    assert np.abs(paper.weights(beyond)[:, :2]).max() < 0.01 * np.abs(paper.weights(edges)[:, :2]).max()


@given(gain=st.floats(0.01, 100.0), offset=st.floats(-100.0, 100.0), channels=st.integers(1, 4))
def test_units_do_not_matter(gain: float, offset: float, channels: int) -> None:
    """The same recording in other units gives the same calibration, read in these units."""
    inputs, auxiliary, target = recording(count=120, channels=channels)
    hyper = Hyperparameters(alpha=0.0)
    expected = fit(inputs, auxiliary, target, hyper).predict(inputs, auxiliary)
    other = fit(gain * inputs - offset, 1.8 * auxiliary + 32.0, gain * target + offset, hyper)
    actual = (other.predict(gain * inputs - offset, 1.8 * auxiliary + 32.0) - offset) / gain
    np.testing.assert_allclose(actual, expected, atol=1e-5 * target.std())


def test_with_a_large_trend_and_ridge_it_is_the_straight_line_calibration() -> None:
    """The model shrinks towards weights that are linear in temperature, not towards zero."""
    inputs, auxiliary, target = recording()
    hyper = Hyperparameters(trend=1e9, ridge=1e6, alpha=0.0)
    actual = fit(inputs, auxiliary, target, hyper).predict(inputs, auxiliary)
    u = np.column_stack([inputs, np.ones(len(inputs))])
    line = np.concatenate([u, auxiliary[:, None] * u], axis=1)
    expected = line @ np.linalg.lstsq(line, target, rcond=None)[0]
    np.testing.assert_allclose(actual, expected, atol=0.02 * target.std())


def test_a_constant_quantity_keeps_its_unit() -> None:
    """No division by zero: a channel that never changes is only centred."""
    assert scale_of(np.full(5, 3.5)) == Scale(3.5, 1.0)
    assert scale_of(np.full(5, 0.1)) == Scale(pytest.approx(0.1), 1.0)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"kernel": "cubic"}, "kernel: expected one of matern12, matern32, matern52, rbf, got 'cubic'"),
        ({"ridge": 0.0}, "ridge"),
        ({"length_scale": float("nan")}, "length_scale"),
        ({"alpha": 1.0}, "alpha"),
        ({"eta": 1.5}, "eta"),
    ],
)
def test_hyperparameters_that_make_no_sense_are_refused(wrong: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Hyperparameters(**wrong)  # type: ignore[arg-type]


def test_missing_values_are_refused() -> None:
    """A NaN would spread silently through every estimate."""
    inputs, auxiliary, target = recording(count=60)
    inputs[7, 1] = np.nan
    with pytest.raises(ValueError, match="drop windows with missing values"):
        fit(inputs, auxiliary, target, Hyperparameters())


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    inputs, auxiliary, target = recording(count=60)
    with pytest.raises(ValueError, match=r"got \(60, 2\), \(59,\), \(60,\)"):
        fit(inputs, auxiliary[1:], target, Hyperparameters())
