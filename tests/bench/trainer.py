"""The trainer: fast against dense, growth to a million windows, tuning against scikit-learn, compression."""

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge  # type: ignore[import-untyped]

from edge_agent.core.kernel import KERNELS, Array
from model_export.regression.compress import Method, compress, curve
from model_export.regression.form import Hyperparameters, Standardised, hold_range, regressors, standardised
from model_export.regression.respire import apis, fit
from model_export.regression.solver import Ridge, functions
from model_export.regression.tune import ALPHAS, RIDGES, ROUNDS, TOLERANCE, CrossValidation, folds, tune
from tests.support.dense import DenseRidge, gram_with_trend

PAPER = 2431  # windows in the paper's largest dataset
HYPER = Hyperparameters(length_scale=0.5)
SLOW_TRIALS = 3


def main() -> None:
    """Print the whole table; takes about two minutes."""
    fast_against_dense()
    growth()
    tuning()
    compression()


def recording(count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """A made-up co-location with a daily cycle, winding weights, noise and 3 % gross outliers."""
    rng = np.random.default_rng(seed)
    auxiliary = 24.0 + 6.0 * np.sin(np.arange(count) * 2 * np.pi / 96) + 2.0 * rng.normal(size=count)
    inputs = rng.normal((230.0, 205.0), (20.0, 11.0), size=(count, 2))
    gain = 0.02 + 0.005 * np.sin(auxiliary / 4.0)
    target = (
        gain * (inputs[:, 0] - inputs[:, 1]) + 0.2 * np.cos(auxiliary / 5.0) + 0.05 * rng.normal(size=count)
    )
    target[rng.permutation(count)[: count * 3 // 100]] += 2.0
    return inputs, auxiliary, target


def best_of(repeats: int, action: Callable[[], object]) -> float:
    """The shortest of several wall-clock times, in seconds: the one least disturbed by neighbours."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def fast_against_dense() -> None:
    print(f"\nAPIS fit, N = {PAPER}, alpha = {HYPER.alpha}, trend = {HYPER.trend:g}, seconds")
    print(f"{'kernel':10} {'fast':>8} {'dense':>8} {'ratio':>7}  largest difference, sd of the target")
    data = standardised(*recording(PAPER))
    for kernel in KERNELS:
        hyper = replace(HYPER, kernel=kernel)
        fast = best_of(5, lambda: _fast(data, hyper))  # noqa: B023 (called at once)
        dense = best_of(2, lambda: _dense(data, hyper))  # noqa: B023
        gap = np.abs(_fast(data, hyper) - _dense(data, hyper)).max() / data.y.std()
        print(f"{kernel:10} {fast:8.4f} {dense:8.3f} {dense / fast:6.0f}x  {gap:.0e}")


def _fast(data: Standardised, hyper: Hyperparameters) -> Array:
    u = regressors(data.x)
    shape = functions(hyper.kernel, hyper.length_scale, data.z, u)
    return apis(Ridge(shape, data.z, u, hyper.ridge, hyper.trend), data.y, hyper.alpha, hyper.eta).fitted


def _dense(data: Standardised, hyper: Hyperparameters) -> Array:
    kernel = (hyper.kernel, hyper.length_scale)
    step = DenseRidge(*kernel, data.x, data.z, ridge=hyper.ridge, trend=hyper.trend)
    return apis(step, data.y, hyper.alpha, hyper.eta).fitted


def growth() -> None:
    print("\nWhole fit, Matérn-3/2, seconds")
    print(f"{'N':>9} {'fit':>8} {'growth':>7} {'peak memory':>12}")
    previous = None
    for count, repeats in ((10_000, 5), (100_000, 5), (1_000_000, 3)):
        data = recording(count)
        seconds = best_of(repeats, lambda: fit(*data, HYPER))  # noqa: B023 (called at once)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        ratio = f"{seconds / previous:6.1f}x" if previous else ""
        print(f"{count:9} {seconds:8.2f} {ratio:>7} {peak:9.2f} GB")
        previous = seconds


def tuning() -> None:
    data, trials = recording(PAPER), 60
    seconds = best_of(1, lambda: tune(*data, trials=trials))
    scaled = standardised(*data)
    parts = folds(PAPER)
    ours = CrossValidation(scaled, HYPER.kernel, HYPER.trend, parts)
    sample = _sample(SLOW_TRIALS)
    start = time.perf_counter()
    slow_scores = [_slow_score(scaled, hyper, parts) for hyper in sample]
    slow = (time.perf_counter() - start) / SLOW_TRIALS * trials
    gap = max(abs(ours.score(hyper) - score) for hyper, score in zip(sample, slow_scores, strict=True))
    print(f"\nTuning over the paper's space, N = {PAPER}, {trials} trials, 3 folds")
    print(f"model_export.tune                    {seconds:8.1f} s")
    print(f"KernelRidge, precomputed kernel      {slow:8.0f} s   estimated from {SLOW_TRIALS} of its trials")
    print(f"ratio                                {slow / seconds:8.0f}x   scores differ by at most {gap:.0e}")


def _sample(count: int) -> list[Hyperparameters]:
    """Trials drawn uniformly from the search space."""
    rng = np.random.default_rng(1)
    return [
        replace(
            HYPER,
            length_scale=float(rng.uniform(0.2, 2.4)),
            ridge=float(rng.choice(RIDGES)),
            alpha=float(rng.choice(ALPHAS)),
            eta=float(rng.uniform(0.1, 1.0)),
        )
        for _ in range(count)
    ]


def _slow_score(data: Standardised, hyper: Hyperparameters, parts: Sequence[NDArray[np.int64]]) -> float:
    """The same cross-validation with scikit-learn: the composite kernel precomputed, one fit a round."""
    u, errors = regressors(data.x), []
    for test in parts:
        train = np.setdiff1d(np.arange(len(data.z)), test)
        z = np.clip(data.z, *hold_range(data.z[train], hyper.trend))
        F = gram_with_trend(hyper.kernel, hyper.length_scale, z, z, hyper.trend) * (u @ u.T)
        ridge, inner = KernelRidge(alpha=hyper.ridge, kernel="precomputed"), F[np.ix_(train, train)]
        apis(
            lambda y: ridge.fit(inner, y).predict(inner),  # noqa: B023 (called at once)
            data.y[train],
            hyper.alpha,
            hyper.eta,
            tolerance=TOLERANCE,
            rounds=ROUNDS,
        )
        errors.append(data.y[test] - ridge.predict(F[np.ix_(test, train)]))
    return float(1.0 - np.mean(np.concatenate(errors) ** 2) / data.y.var())


def compression() -> None:
    sizes = [2, 4, 8, 16, 32, 64]
    print(f"\nCompression, N = {PAPER}, paper's kernel: R² lost with that many support vectors")
    print(f"{'method':10} {'automatic':>10} {'smaller':>8}" + "".join(f"{size:8}" for size in sizes))
    data = recording(PAPER)
    fitted = fit(*data, replace(HYPER, trend=0.0))
    methods: tuple[Method, ...] = ("landmarks", "paper")
    for method in methods:
        size = len(compress(fitted, *data, method=method).support)
        losses = [point.loss for point in curve(fitted, *data, sizes=sizes, method=method)]
        print(f"{method:10} {size:10} {1 - size / PAPER:8.1%}" + "".join(f"{loss:8.4f}" for loss in losses))
