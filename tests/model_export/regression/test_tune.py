"""Tuning: the search space, the folds, and quantiles of pairwise distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from edge_agent.core.kernel import Array
from model_export.regression.form import Hyperparameters, standardised
from model_export.regression.respire import fit
from model_export.regression.tune import ALPHAS, RIDGES, CrossValidation, folds, length_scale_quantile, tune
from tests.support.dense import gram_with_trend


def recording(count: int = 240, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    auxiliary = 24.0 + 6.0 * np.sin(np.arange(count) / 15.0) + rng.normal(size=count)
    inputs = rng.normal(220.0, 20.0, size=(count, 2))
    target = (0.02 + 0.005 * np.sin(auxiliary / 4.0)) * (inputs[:, 0] - 200.0) + 0.05 * rng.normal(size=count)
    return inputs, auxiliary, target


@pytest.mark.parametrize("trend", [0.0, 10.0])
def test_the_score_is_the_cross_validated_r2(trend: float) -> None:
    """Compared with folds fitted one by one with the dense solver; a trend stops at the fold's range."""
    data = standardised(*recording())
    hyper = Hyperparameters(length_scale=0.9, ridge=0.5, alpha=0.0, trend=trend)
    u, errors = np.column_stack([data.x, np.ones(240)]), []
    for test in np.split(np.arange(240), 3):
        train = np.setdiff1d(np.arange(240), test)
        z = np.clip(data.z, data.z[train].min(), data.z[train].max()) if trend else data.z
        F = gram_with_trend("matern32", 0.9, z, z, trend) * (u @ u.T)
        beta = np.linalg.solve(F[np.ix_(train, train)] + 0.5 * np.eye(160), data.y[train])
        errors.append(data.y[test] - F[np.ix_(test, train)] @ beta)
    expected = 1.0 - np.sum(np.concatenate(errors) ** 2) / np.sum((data.y - data.y.mean()) ** 2)
    validation = CrossValidation(data, "matern32", trend, folds(240))
    assert validation.score(hyper) == pytest.approx(expected, abs=1e-6)


def test_the_same_seed_gives_the_same_hyperparameters() -> None:
    data = recording()
    assert tune(*data, trials=12, seed=3) == tune(*data, trials=12, seed=3)


def test_the_result_lies_in_the_papers_space_and_is_worth_its_score() -> None:
    """The score is what cross-validation gives for the hyperparameters returned, and their fit is sound."""
    data = recording()
    tuned = tune(*data, trials=25)
    assert tuned.hyper.alpha in ALPHAS
    assert tuned.hyper.ridge in RIDGES
    assert 0.1 <= tuned.hyper.eta <= 1.0
    validation = CrossValidation(standardised(*data), tuned.hyper.kernel, tuned.hyper.trend, folds(240))
    assert tuned.score == validation.score(tuned.hyper)
    assert tuned.score > 0.8
    assert fit(*data, tuned.hyper).converged


def test_few_distinct_temperatures_leave_a_length_scale() -> None:
    """With two temperatures half the distances are 0, which is no length scale."""
    inputs, auxiliary, target = recording()
    tuned = tune(inputs, 20.0 + (auxiliary > 24.0), target, trials=5)
    assert tuned.hyper.length_scale > 0.0


def test_progress_is_reported_after_every_trial() -> None:
    seen = list[tuple[int, int]]()
    tune(*recording(), trials=5, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


def test_every_window_is_tested_once_in_a_stretch_of_time() -> None:
    parts = folds(100)
    assert sorted(np.concatenate(parts)) == list(range(100))
    assert all(np.all(np.diff(part) == 1) for part in parts)


@given(
    z=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=120),
    q=st.floats(0.0, 1.0),
    decimals=st.sampled_from([0, 2, 12]),
)
def test_it_is_the_quantile_of_all_pairs(z: list[float], q: float, decimals: int) -> None:
    """Repeated temperatures included, where many distances tie."""
    values = np.round(z, decimals)
    expected = np.quantile(pdist(values[:, None]), q)
    assert length_scale_quantile(values, q) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_it_needs_no_list_of_pairs() -> None:
    """Half a million temperatures have 125 thousand million pairs; a normal's median distance is 0.9539."""
    z = np.random.default_rng(0).normal(size=500_000)
    assert length_scale_quantile(z, 0.5) == pytest.approx(0.9539, abs=0.003)


def test_many_ties_end_the_bisection() -> None:
    """All windows at two temperatures: most distances are exactly 0 or 1."""
    z = np.repeat([0.0, 1.0], 1000)
    assert [length_scale_quantile(z, q) for q in (0.1, 0.9)] == [0.0, 1.0]
