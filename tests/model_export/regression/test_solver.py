"""The fast regression steps against the slow, obvious one."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.core.kernel import KERNELS, Array
from model_export.regression.form import moving, regressors
from model_export.regression.respire import apis, hard_threshold
from model_export.regression.solver import Ridge, functions
from tests.support.dense import DenseRidge

CLOSE = 1e-5  # of the target's standard deviation


@dataclass(frozen=True)
class Problem:
    """A random regression problem and how it is to be solved."""

    kernel: str
    length_scale: float
    ridge: float
    trend: float
    x: Array
    z: Array
    y: Array
    steady: int = 0

    def fast(self) -> Ridge:
        u = regressors(self.x)
        shape = functions(self.kernel, self.length_scale, self.z, moving(u, self.steady))
        return Ridge(shape, self.z, u, self.ridge, self.trend, self.steady)

    def dense(self) -> DenseRidge:
        kernel = (self.kernel, self.length_scale)
        return DenseRidge(*kernel, self.x, self.z, ridge=self.ridge, trend=self.trend, steady=self.steady)


def temperatures(rng: np.random.Generator, count: int, kind: str) -> Array:
    """Standardised temperatures: smooth spreads, repeated values, near-coincidences, two far clusters."""
    normal = rng.normal(size=count)
    kinds = {
        "normal": normal,
        "uniform": rng.uniform(-1.7, 1.7, size=count),
        "repeated": normal.round(1),
        "coincident": normal.round(1) + 1e-9 * rng.normal(size=count),
        "clusters": np.sign(normal) + 1e-3 * rng.normal(size=count),
        "one": np.full(count, 0.3),
    }
    return kinds[kind]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, channels = draw(st.integers(1, 400)), draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["normal", "uniform", "repeated", "coincident", "clusters", "one"]))
    z, x = temperatures(rng, count, kind), rng.normal(size=(count, channels))
    y = x[:, 0] * np.sin(2.0 * z) + z + rng.normal(size=count) * draw(st.sampled_from([0.05, 0.5]))
    return Problem(
        kernel=draw(st.sampled_from(list(KERNELS))),
        length_scale=10.0 ** draw(st.floats(-2.0, 1.5)),
        ridge=10.0 ** draw(st.floats(-1.0, 2.0)),
        trend=draw(st.sampled_from([0.0, 1.0, 1e4])),
        x=x,
        z=z,
        y=y,
    )


@given(problems())
def test_fast_and_dense_fits_agree(problem: Problem) -> None:
    """Fitted values agree to 1e-5 standard deviations of the target, for every kernel, trend and N."""
    scale = max(problem.y.std(), 0.1)
    np.testing.assert_allclose(
        problem.fast()(problem.y), problem.dense()(problem.y), atol=CLOSE * scale, rtol=0
    )


@given(problems())
def test_fast_and_dense_weights_agree_at_any_temperature(problem: Problem) -> None:
    """Between the windows, in gaps and far outside them the functions are the same too."""
    elsewhere = np.linspace(-8.0, 8.0, 50)
    actual = problem.fast().weights(problem.y).at(elsewhere)
    expected = problem.dense().weights_at(problem.y, elsewhere)
    np.testing.assert_allclose(actual, expected, atol=1e-4 * max(np.abs(expected).max(), 0.1), rtol=0)


@given(problems(), st.sampled_from([0.05, 0.1, 0.2]), st.sampled_from([0.5, 1.0]))
def test_fast_and_dense_agree_in_every_round_of_apis(problem: Problem, alpha: float, eta: float) -> None:
    """Given the same suspected corruption, every round's fit agrees.

    The corruption is the dense solver's: two residuals that tie to within rounding may swap, and after that
    the alternations may honestly end in different places.
    """
    fast, dense, corruption = problem.fast(), problem.dense(), np.zeros_like(problem.y)
    for _ in range(10):
        corrected = problem.y - eta * corruption
        expected = dense(corrected)
        np.testing.assert_allclose(fast(corrected), expected, atol=CLOSE * max(problem.y.std(), 0.1), rtol=0)
        corruption = hard_threshold(problem.y - expected, round(alpha * len(problem.y)))


@pytest.mark.parametrize("trend", [0.0, 1e4])
@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=25)  # for each of eight combinations
@given(seed=st.integers(0, 2**32 - 1), length_scale=st.floats(0.2, 3.0), ridge=st.floats(0.1, 10.0))
def test_fast_and_dense_apis_agree(
    kernel: str, trend: float, seed: int, length_scale: float, ridge: float
) -> None:
    """If outliers are far from the noise, both find the same outliers and the same fit."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(200, 400))
    bad = rng.permutation(count)[: count // 20]
    z, x = rng.normal(size=count), rng.normal(size=(count, 2))
    y = x[:, 0] * np.sin(z) + x[:, 1] + 0.1 * rng.normal(size=count)
    y[bad] += rng.choice([-1.0, 1.0], size=len(bad)) * rng.uniform(8.0, 20.0, size=len(bad))
    problem = Problem(kernel, length_scale, ridge, trend, x, z, y)
    actual, expected = (apis(step, y, len(bad) / count) for step in (problem.fast(), problem.dense()))
    np.testing.assert_array_equal(actual.outliers, expected.outliers)
    np.testing.assert_allclose(actual.fitted, expected.fitted, atol=CLOSE * y.std(), rtol=0)


@given(problems(), st.integers(1, 2))
def test_steady_weights_are_those_of_the_dense_solver_and_do_not_move(problem: Problem, steady: int) -> None:
    """Some channels have one weight, the others weights that are functions of temperature."""
    extra = np.random.default_rng(steady).normal(size=(len(problem.z), steady))
    trend = problem.trend or 1.0
    beside = replace(problem, x=np.column_stack([problem.x, extra]), trend=trend, steady=steady)
    scale = max(problem.y.std(), 0.1)
    np.testing.assert_allclose(
        beside.fast()(problem.y), beside.dense()(problem.y), atol=CLOSE * scale, rtol=0
    )
    weights = beside.fast().weights(problem.y).at(np.array([-1.0, 0.3, 2.0]))
    d = problem.x.shape[1]
    assert weights.shape == (3, d + steady + 1)
    assert np.ptp(weights[:, d:-1], axis=0).max() == 0.0
    fitted = np.einsum("nf,nf->n", regressors(beside.x), beside.fast().weights(problem.y).at(problem.z))
    np.testing.assert_allclose(fitted, beside.dense()(problem.y), atol=1e-4 * scale, rtol=0)


@given(problems())
def test_a_part_of_the_rows_is_a_problem_of_its_own(problem: Problem) -> None:
    """Folds share one set of functions: keeping rows of it equals starting from these rows."""
    u, keep = regressors(problem.x), np.arange(len(problem.z)) % 3 != 1
    shape = functions(problem.kernel, problem.length_scale, problem.z, u)
    shape.factor(problem.ridge)  # what it remembers of all rows must not pass on to some
    part = Ridge(shape.rows(keep), problem.z[keep], u[keep], problem.ridge, problem.trend)
    kernel, y = (problem.kernel, problem.length_scale), problem.y[keep]
    whole = DenseRidge(*kernel, problem.x[keep], problem.z[keep], ridge=problem.ridge, trend=problem.trend)
    np.testing.assert_allclose(part(y), whole(y), atol=CLOSE * max(y.std(), 0.1), rtol=0)
