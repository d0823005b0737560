"""APIS: the theorem's exact recovery, and what a ridge step can promise instead."""

from itertools import pairwise

import numpy as np
import pytest

from edge_agent.core.kernel import Array, gram
from model_export.regression.robust import apis, hard_threshold
from model_export.regression.solver import Ridge, functions, regressors

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


def corrupted(target: Array, where: Array, seed: int) -> Array:
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
    """Beside the theorem: the same alternation with ridge regression stops at its bias, outliers or none."""
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
    """The error is at most 1.2 times that of a fit told which windows are bad; plain ridge is far off."""
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
    assert (robust.rounds, robust.converged, robust.outliers.any()) == (1, True, False)


def test_an_alternation_that_does_not_settle_says_so() -> None:
    """A step that keeps changing its mind ends at the limit of rounds, and is not called converged."""
    answers = iter(np.random.default_rng(0).normal(size=(7, 50)))
    robust = apis(lambda _: next(answers), np.zeros(50) + np.arange(50), alpha=0.1, rounds=7)
    assert (robust.rounds, robust.converged) == (7, False)


def test_hard_thresholding_keeps_the_largest_whatever_their_sign() -> None:
    residual = np.array([0.5, -4.0, 3.0, 0.0, -1.0])
    assert hard_threshold(residual, 2).tolist() == [0.0, -4.0, 3.0, 0.0, 0.0]
    assert hard_threshold(residual, 0).tolist() == [0.0] * 5
    assert hard_threshold(residual, 5).tolist() == residual.tolist()
