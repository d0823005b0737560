"""Landmarks: the refit is the ridge regression itself, on fewer functions."""

import numpy as np
import pytest

from edge_agent.core.kernel import KERNELS, Array, gram
from model_export.regression.landmarks import STIFFNESS, Path, landmark_path
from model_export.regression.solver import Ridge, Weights, functions, regressors


def fitted(kernel: str) -> tuple[Array, Array, Array, Weights]:
    """A ridge fit at temperatures on a coarse grid, where every bin holds one temperature."""
    rng = np.random.default_rng(0)
    z, x = rng.normal(size=300).round(1), rng.normal(size=(300, 2))
    y = x[:, 0] * np.sin(2.0 * z) + np.cos(z) + 0.1 * rng.normal(size=300)
    u = regressors(x)
    return z, u, y, Ridge(functions(kernel, 0.8, z, u), z, u, 0.5, 0.0).weights(y)


def path_of(kernel: str, size: int) -> Path:
    z, u, _, weights = fitted(kernel)
    return landmark_path(kernel, 0.8, 0.5, z=z, u=u, shape=weights.shape, size=size)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_refit_is_ridge_regression_on_the_landmarks(kernel: str) -> None:
    """(ΦᵀΦ + λK)c = Φᵀy: no target is needed, for the full weights already carry all it says."""
    z, u, y, _ = fitted(kernel)
    path = path_of(kernel, 8)
    columns = (gram(kernel, 0.8, z, path.landmarks)[:, :, None] * u[:, None, :]).reshape(300, -1)
    prior = gram(kernel, 0.8, path.landmarks, path.landmarks) + STIFFNESS * np.eye(8)
    expected = np.linalg.solve(columns.T @ columns + 0.5 * np.kron(prior, np.eye(3)), columns.T @ y)
    np.testing.assert_allclose(path.coefficients(8).T.ravel(), expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_shorter_path_is_the_beginning_of_a_longer_one(kernel: str) -> None:
    """So that one path serves every size of the compression curve."""
    long, short = path_of(kernel, 12), path_of(kernel, 5)
    np.testing.assert_array_equal(long.landmarks[:5], short.landmarks)
    np.testing.assert_allclose(long.coefficients(5), short.coefficients(5))


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_landmark_takes_off_most(kernel: str) -> None:
    """The first landmark is the best of all single ones, tried one by one."""
    z, u, y, _ = fitted(kernel)
    excess = {}
    for candidate in np.unique(z):
        columns = gram(kernel, 0.8, z, [candidate]) * u
        matrix = columns.T @ columns + 0.5 * (1.0 + STIFFNESS) * np.eye(3)
        excess[candidate] = -(columns.T @ y) @ np.linalg.solve(matrix, columns.T @ y)
    best = min(excess, key=lambda candidate: excess[candidate])
    assert path_of(kernel, 1).landmarks[0] == pytest.approx(best, abs=1e-6)


def test_no_landmark_is_taken_twice() -> None:
    landmarks = path_of("rbf", 40).landmarks
    assert len(np.unique(landmarks)) == len(landmarks) == 40
