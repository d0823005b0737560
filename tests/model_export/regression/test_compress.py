"""Compression: far fewer support vectors, the same calibration, at the precision of a bundle."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edge_agent.core.kernel import KERNELS, Array, gram
from edge_agent.core.model import Model
from model_export.regression.compress import (
    LOSS,
    STIFFNESS,
    Compressed,
    LandmarkPath,
    Method,
    compress,
    curve,
    landmark_path,
)
from model_export.regression.form import Fitted, Hyperparameters, Weights, regressors, standardise
from model_export.regression.respire import fit
from model_export.regression.solver import Ridge, functions
from model_export.regression.tune import tune
from tests.support.needs import real_recordings


def recording(count: int = 1000, seed: int = 0) -> tuple[Array, Array, Array]:
    """Weights that vary over temperature, so that compression can lose something."""
    rng = np.random.default_rng(seed)
    auxiliary = rng.normal(24.0, 6.0, size=count)
    inputs = rng.normal(220.0, 20.0, size=(count, 2))
    gain = 0.02 + 0.01 * np.sin(auxiliary / 3.0)
    offset = 0.2 * np.cos(auxiliary / 2.0)
    target = gain * (inputs[:, 0] - inputs[:, 1]) + offset + 0.05 * rng.normal(size=count)
    return inputs, auxiliary, target


def served(fitted: Fitted, compressed: Compressed) -> Model:
    """The model as the agent has it, in float32."""
    return Model(
        sensor="5A2D",
        gas="CO",
        unit="ppm",
        channels=tuple(f"op{i + 1}" for i in range(len(fitted.channel_scales))),
        kernel=fitted.hyper.kernel,
        length_scale=fitted.hyper.length_scale,
        channel_scales=fitted.channel_scales,
        auxiliary_scale=fitted.auxiliary_scale,
        target_scale=fitted.target_scale,
        support=compressed.support,
        coefficients=compressed.coefficients,
        trend=compressed.trend,
    )


def written_out(fitted: Fitted, compressed: Compressed, inputs: Array, auxiliary: Array) -> Array:
    """The compressed calibration in double precision."""
    z = standardise(auxiliary, fitted.auxiliary_scale)
    x = np.column_stack([*map(standardise, inputs.T, fitted.channel_scales), np.ones(len(inputs))])
    near = gram(fitted.hyper.kernel, fitted.hyper.length_scale, z, compressed.support)
    weights = near @ compressed.coefficients.T + np.column_stack([np.ones_like(z), z]) @ compressed.trend.T
    return np.asarray(fitted.target_scale.centre + fitted.target_scale.spread * np.sum(x * weights, axis=1))


def r2(target: Array, estimate: Array) -> float:
    return 1.0 - float(np.sum((target - estimate) ** 2) / np.sum((target - target.mean()) ** 2))


@pytest.mark.parametrize("trend", [0.0, 100.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_automatic_size_is_a_twentieth_and_costs_next_to_nothing(kernel: str, trend: float) -> None:
    """95 % smaller than N or more, at most 0.002 of R² lost as served."""
    data = recording()
    fitted = fit(*data, Hyperparameters(kernel, trend, length_scale=0.7))
    compressed = compress(fitted, *data)
    estimate, full = served(fitted, compressed).predict(*data[:2]), fitted.predict(*data[:2])
    assert len(compressed.support) <= 0.05 * len(data[1])
    assert r2(data[2], full) - r2(data[2], estimate) <= LOSS + 1e-6
    assert np.sqrt(np.mean((full - estimate) ** 2)) <= 0.01 * data[2].std()


def test_the_papers_automatic_size_is_the_smallest_within_the_loss() -> None:
    data = recording()
    fitted = fit(*data, Hyperparameters(trend=0.0, length_scale=0.7))
    size = len(compress(fitted, *data, method="paper").support)
    less, enough = curve(fitted, *data, sizes=[size - 1, size], method="paper")
    assert less.loss > LOSS >= enough.loss


def test_fresh_windows_lose_no_more_than_training_windows() -> None:
    """Windows of the same process that were not fitted lose at most 0.002 of R² too."""
    data, fresh = recording(seed=0), recording(seed=1)
    fitted = fit(*data, Hyperparameters(length_scale=0.7))
    estimate = served(fitted, compress(fitted, *data)).predict(*fresh[:2])
    assert r2(fresh[2], fitted.predict(*fresh[:2])) - r2(fresh[2], estimate) <= LOSS


@pytest.mark.parametrize("method", ["landmarks", "paper"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [5, 40, 160])
def test_float32_is_enough_at_the_edge(kernel: str, size: int, method: Method) -> None:
    """The agent's estimate is within 1e-4 standard deviations of the trainer's, at any size."""
    data = recording()
    fitted = fit(*data, Hyperparameters(kernel, length_scale=1.5, ridge=0.1))
    compressed = compress(fitted, *data, size=size, method=method)
    gap = served(fitted, compressed).predict(*data[:2]) - written_out(fitted, compressed, *data[:2])
    assert np.abs(gap).max() <= 1e-4 * data[2].std()


@pytest.mark.parametrize("kernel", KERNELS)
def test_landmarks_beat_the_papers_method_at_every_size(kernel: str) -> None:
    """Bytes matter at the edge: d + 1 free coefficients cost no more than the paper's tied ones."""
    data = recording()
    fitted = fit(*data, Hyperparameters(kernel, trend=0.0, length_scale=0.7))
    ours = curve(fitted, *data, sizes=[2, 4, 8, 16])
    paper = curve(fitted, *data, sizes=[2, 4, 8, 16], method="paper")
    assert [point.size for point in ours] == [2, 4, 8, 16]
    assert all(a.loss < b.loss for a, b in zip(ours, paper, strict=True))


def test_with_every_candidate_nothing_is_lost() -> None:
    """The curve ends at the full model."""
    data = recording()
    fitted = fit(*data, Hyperparameters())
    point = curve(fitted, *data, sizes=[100])[-1]
    assert point.loss == pytest.approx(0.0, abs=1e-6)
    assert point.r2 == pytest.approx(r2(data[2], fitted.predict(*data[:2])), abs=1e-6)


def test_no_more_support_vectors_than_there_are_temperatures() -> None:
    """compress takes as many as there are; the curve leaves out larger sizes."""
    inputs, auxiliary, target = recording(count=200)
    auxiliary = auxiliary.round(-1)
    fitted = fit(inputs, auxiliary, target, Hyperparameters())
    compressed = compress(fitted, inputs, auxiliary, target, size=50)
    assert len(compressed.support) == len(np.unique(auxiliary))
    assert curve(fitted, inputs, auxiliary, target, sizes=[50]) == []


def test_the_trend_is_kept_exactly() -> None:
    data = recording()
    fitted = fit(*data, Hyperparameters(trend=100.0))
    assert compress(fitted, *data, size=3).trend is fitted.functions.trend


@pytest.mark.parametrize("trend", [0.0, Hyperparameters().trend])
@pytest.mark.parametrize("path", real_recordings())
def test_real_recordings_compress_as_promised(path: Path, trend: float) -> None:
    """On real sensors too: 95 % smaller, at most 0.002 of R² lost as served, float32 enough."""
    frame = pd.read_csv(path, parse_dates=["timestamp"], index_col="timestamp")
    frame = frame.resample("15min").mean().dropna()
    channels = frame[[name for name in frame.columns if name.startswith("op")]].to_numpy()
    data = (channels, frame["temperature"].to_numpy(), frame["reference"].to_numpy())
    fitted = fit(*data, tune(*data, trend=trend, trials=15).hyper)
    compressed = compress(fitted, *data)
    estimate = served(fitted, compressed).predict(*data[:2])
    assert fitted.converged
    assert len(compressed.support) <= 0.05 * len(frame)
    assert r2(data[2], fitted.predict(*data[:2])) - r2(data[2], estimate) <= LOSS + 1e-6
    assert np.abs(estimate - written_out(fitted, compressed, *data[:2])).max() <= 1e-4 * data[2].std()


@pytest.mark.parametrize("method", ["landmarks", "paper"])
def test_steady_weights_are_kept_as_they_are(method: Method) -> None:
    """They are one number each, so there is nothing to compress."""
    inputs, auxiliary, target = recording()
    extra = np.random.default_rng(1).normal(size=len(target))
    inputs, target = np.column_stack([inputs, extra]), target + 0.3 * extra
    fitted = fit(inputs, auxiliary, target, Hyperparameters(steady=1))
    small = compress(fitted, inputs, auxiliary, target, method=method)
    assert np.abs(small.coefficients[2]).max() == 0.0
    assert small.trend[2, 1] == 0.0
    model = served(fitted, small)
    assert model.weights([24.0])[0][2] == pytest.approx(0.3, abs=0.02)
    assert r2(target, model.predict(inputs, auxiliary)) > r2(target, fitted.predict(inputs, auxiliary)) - 0.01


def fitted(kernel: str) -> tuple[Array, Array, Array, Weights]:
    """A ridge fit at temperatures on a coarse grid, where every bin has one temperature."""
    rng = np.random.default_rng(0)
    z, x = rng.normal(size=300).round(1), rng.normal(size=(300, 2))
    y = x[:, 0] * np.sin(2.0 * z) + np.cos(z) + 0.1 * rng.normal(size=300)
    u = regressors(x)
    return z, u, y, Ridge(functions(kernel, 0.8, z, u), z, u, 0.5, 0.0).weights(y)


def path_of(kernel: str, size: int) -> LandmarkPath:
    z, u, _, weights = fitted(kernel)
    return landmark_path(kernel, 0.8, 0.5, z=z, u=u, shape=weights.shape, size=size)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_refit_is_ridge_regression_on_the_landmarks(kernel: str) -> None:
    """(ΦᵀΦ + λK)c = Φᵀy: no target is needed, because the full weights determine the refit."""
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
def test_the_first_landmark_reduces_the_excess_most(kernel: str) -> None:
    """It is the best of all single landmarks, tried one by one."""
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
