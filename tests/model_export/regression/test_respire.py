"""RESPIRE: what it recovers, also from outliers."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from edge_agent.core.kernel import KERNELS, Array, gram
from edge_agent.core.model import Scale
from model_export.regression.form import Hyperparameters, regressors, scale_of, standardise
from model_export.regression.respire import apis, fit, hard_threshold
from model_export.regression.solver import Ridge, functions
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
    """A line would run away there; the paper's functions fade to zero and have no limits."""
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
    scale = scale_of(np.full(5, 0.1))
    assert (scale.centre, scale.spread) == pytest.approx((0.1, 1.0))


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


# The theorem asks for a bandwidth in [sqrt(40 / log N), 1], empty below N = exp(40); 1 is its upper end.
BANDWIDTH = 1.0


def spectral_problem(count: int, rank: int, seed: int) -> tuple[Array, Array, Array]:
    """F, its top eigenvectors and targets in their span, as in the theorem: RBF, uniform z, x in [1, 2]."""
    rng = np.random.default_rng(seed)
    z, x = rng.uniform(size=count), rng.uniform(1.0, 2.0, size=(count, 2))
    u = regressors(x)
    F = gram("rbf", BANDWIDTH, z, z) * (u @ u.T)
    top = np.linalg.eigh(F)[1][:, -rank:]
    return F, top, F @ (top @ rng.normal(size=rank))


def corrupted(target: Array, where: NDArray[np.intp], seed: int) -> Array:
    """Gross corruption, ten times the size of the target."""
    rng = np.random.default_rng(seed)
    spoilt = target.copy()
    spoilt[where] += 10.0 * np.abs(target).max() * rng.choice([-1.0, 1.0], size=len(where))
    return spoilt


@pytest.mark.parametrize("place", ["random", "leverage"])
@pytest.mark.parametrize(("count", "rank"), [(200, 3), (400, 5), (900, 7), (1600, 9)])
def test_recovery_is_exact_as_the_theorem_promises(count: int, rank: int, place: str) -> None:
    """With √N gross corruptions the relative error at least halves every round, to rounding within 60.

    The regression step is the projection on the top eigenvectors, the full correction rate is used.
    """
    _, top, truth = spectral_problem(count, rank, seed=count)
    k = int(np.sqrt(count))
    leverage = np.sum(top**2, axis=1)
    order = np.argsort(-leverage) if place == "leverage" else np.random.default_rng(1).permutation(count)
    target, errors = corrupted(truth, order[:k], seed=2), list[float]()

    def project(corrected: Array) -> Array:
        fitted = np.asarray(top @ (top.T @ corrected))
        errors.append(float(np.linalg.norm(fitted - truth) / np.linalg.norm(truth)))
        return fitted

    robust = apis(project, target, k / count, tolerance=0.0, rounds=60)
    above = [error for error in errors if error > 1e-12]
    assert errors[-1] < 1e-12
    assert max(later / earlier for earlier, later in pairwise(above)) < 0.5
    assert set(np.flatnonzero(robust.outliers)) == set(order[:k])


def test_a_ridge_step_is_biased_and_cannot_be_exact() -> None:
    """The same alternation with ridge regression stops at its bias, with or without outliers."""
    F, _, truth = spectral_problem(400, 5, seed=400)
    target = corrupted(truth, np.arange(0, 400, 20), seed=2)

    def ridge(corrected: Array) -> Array:
        return np.asarray(F @ np.linalg.solve(F + np.eye(400), corrected))

    bias = np.linalg.norm(ridge(truth) - truth) / np.linalg.norm(truth)
    error = np.linalg.norm(apis(ridge, target, 0.05).fitted - truth) / np.linalg.norm(truth)
    assert bias > 1e-4
    assert error < 2 * bias


@pytest.mark.parametrize("kernel", ["matern32", "rbf"])
@pytest.mark.parametrize("seed", range(5))
def test_a_tenth_of_gross_outliers_hardly_matters(seed: int, kernel: str) -> None:
    """The error is at most 1.2 times that of a fit without the bad windows; plain ridge is far off."""
    rng = np.random.default_rng(seed)
    count = 600
    z, x = rng.normal(size=count), rng.normal(size=(count, 2))
    truth = np.sin(z) * x[:, 0] - (0.5 + 0.2 * z) * x[:, 1] + 0.3 * z
    y, bad = truth + 0.1 * rng.normal(size=count), rng.permutation(count)[: count // 10]
    y[bad] += rng.choice([-1.0, 1.0], size=len(bad)) * rng.uniform(2.0, 10.0, size=len(bad))
    u, good = regressors(x), np.setdiff1d(np.arange(count), bad)
    shape = functions(kernel, 1.0, z, u)
    told = Ridge(shape.rows(good), z[good], u[good], 1.0, 0.0).weights(y[good]).at(z)
    plain = Ridge(shape, z, u, 1.0, 0.0)

    def error(fitted: Array) -> float:
        return float(np.sqrt(np.mean((fitted - truth) ** 2)))

    oracle = error(np.einsum("nf,nf->n", u, told))
    robust = apis(plain, y, 0.1)
    assert robust.converged
    assert error(robust.fitted) < 1.2 * oracle
    assert error(plain(y)) > 3.0 * oracle


def test_without_outliers_one_round_is_enough() -> None:
    """alpha = 0 is plain regression."""
    robust = apis(lambda y: 0.5 * y, np.array([1.0, 2.0]), alpha=0.0)
    assert (robust.rounds, robust.converged, bool(robust.outliers.any())) == (1, True, False)


def test_an_alternation_that_does_not_converge_is_reported() -> None:
    """It ends at the limit of rounds with `converged` false."""
    answers = iter(np.random.default_rng(0).normal(size=(7, 50)))
    robust = apis(lambda _: next(answers), np.zeros(50) + np.arange(50), alpha=0.1, rounds=7)
    assert (robust.rounds, robust.converged) == (7, False)


def test_hard_thresholding_keeps_the_largest_whatever_their_sign() -> None:
    residual = np.array([0.5, -4.0, 3.0, 0.0, -1.0])
    assert hard_threshold(residual, 2).tolist() == [0.0, -4.0, 3.0, 0.0, 0.0]
    assert hard_threshold(residual, 0).tolist() == [0.0] * 5
    assert hard_threshold(residual, 5).tolist() == residual.tolist()
