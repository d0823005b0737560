"""The default fit: tempered evidence chooses the smoothing, and three forms of the weights are averaged.

The forms are nested: *straight* (constant weights, the bias a line over z), *bilinear* (the weights are
lines, too) and *curved* (with a smooth part on a few landmark temperatures). With Φ their regressors, D the
prior variances of the coefficients (one for each group of regressors) and s² the noise,
y ~ N(0, ΦDΦᵀ + s²I). Neighbouring windows repeat each other, so ΦᵀΦ, Φᵀy, yᵀy and n are divided by TEMPER
before the variances are chosen: those of the highest evidence, with log-variances ~ N(0, SPREAD²). Outliers
get Student-t weights. The mean of the three is a model of the same form, so it is one bundle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from edge_agent.core.kernel import Array, gram
from edge_agent.core.model import bend
from model_export.regression.form import (
    Fitted,
    Hyperparameters,
    Standardised,
    Weights,
    hold_range,
    moving,
    regressors,
    standardised,
)

TEMPER = 3.0
SPREAD = 3.0  # of the logarithm of a prior variance
FLAT = 1e4  # prior variance of the constant
FREEDOM = 4.0  # of Student's t
LANDMARKS = 8
ROUNDS, ENOUGH = 12, 0.02  # of the weights, and their largest change at the end
SPOILT = 4  # of the first rounds: their noise is that of outliers not yet found
FAR = 4.0  # scales from the estimate: an outlier
BOUNDS, NOISE_BOUNDS = (-20.0, 12.0), (-14.0, 3.0)  # of the logarithms
JITTER = 1e-9
POWERS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


@dataclass(frozen=True, slots=True, eq=False)
class Landmarks:
    """Functions of z given by coefficients of kernels on a few temperatures."""

    kernel: str
    length_scale: float
    support: Array  # (m,)

    def at(self, state: Array, z: Array) -> Array:
        """The functions of coefficients (m, k) at z (n,): (n, k)."""
        return np.asarray(gram(self.kernel, self.length_scale, z, self.support) @ state)


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """The regressors of the curved form; the first `straight` and `bilinear` are those of the others."""

    columns: Array  # (n, p)
    groups: NDArray[np.intp]  # (p,), which variance a coefficient has; the last group is the constant's
    straight: int
    bilinear: int
    landmarks: Landmarks
    root: Array  # of the kernel on the landmarks
    moving: int  # weights that depend on z, with the bias


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """ΦᵀΦ, Φᵀy, yᵀy and n, tempered."""

    gram: Array
    moment: Array
    square: float
    count: float

    def first(self, width: int) -> "Sums":
        """Those of the first columns."""
        return Sums(self.gram[:width, :width], self.moment[:width], self.square, self.count)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The coefficients of the highest evidence, its logarithm, and those of the variances, s² last."""

    mean: Array
    log_evidence: float
    logs: Array


def basis(data: Standardised, kernel: str, length_scale: float, steady: int) -> Basis:
    """In the order 1, x, z | z·x | shape·x, shape."""
    n, d = data.x.shape
    u, still = moving(regressors(data.x), steady), np.ones((n, 1))
    support = np.linspace(data.z.min(), data.z.max(), LANDMARKS).astype(np.float32).astype(np.float64)
    landmarks = Landmarks(kernel, length_scale, support)
    root = cholesky(gram(kernel, length_scale, support, support) + JITTER * np.eye(LANDMARKS), lower=True)
    shapes = solve_triangular(root, gram(kernel, length_scale, support, data.z), lower=True).T
    curved = (shapes[:, None, :] * u[:, :, None]).reshape(n, -1)
    slopes = data.z[:, None] * u[:, :-1]
    columns = np.column_stack([still, data.x, data.z, slopes, curved])
    single = 1 + d + slopes.shape[1]  # each of these has a variance of its own
    groups = np.concatenate([np.arange(single), single + np.repeat(np.arange(u.shape[1]), LANDMARKS)])
    groups = np.append(groups.max() + 1, groups)
    return Basis(columns, groups, 2 + d, 1 + single, landmarks, root, u.shape[1])


def sums(columns: Array, y: Array, weights: Array) -> Sums:
    """Of weighted windows."""
    weighted = columns * weights[:, None] / TEMPER
    return Sums(weighted.T @ columns, weighted.T @ y, float(y @ (weights * y)) / TEMPER, len(y) / TEMPER)


def log_evidence(logs: Array, found: Sums, groups: NDArray[np.intp]) -> tuple[float, Array, Array]:
    """The logarithm of evidence times prior, up to a constant; its gradient; the mean of the coefficients.

    `logs` are the logarithms of the variances of the groups but the last, and of s².
    """
    noise = np.exp(logs[-1])
    variances = np.append(np.exp(logs[:-1]), FLAT)[groups]
    root = cholesky(found.gram / noise + np.diag(1.0 / variances), lower=True, check_finite=False)
    inverse = solve_triangular(root, np.eye(len(root)), lower=True, check_finite=False)
    covariance = inverse.T @ inverse
    mean = covariance @ found.moment / noise
    error = found.square - 2.0 * mean @ found.moment + mean @ found.gram @ mean
    value = found.count * logs[-1] + error / noise + np.sum(mean**2 / variances)
    value += np.log(variances).sum() + 2.0 * np.log(np.diag(root)).sum()
    second = (mean**2 + np.diag(covariance)) / variances - 1.0
    slopes = np.bincount(groups, weights=second, minlength=len(logs))[:-1]
    noise_slope = (error + np.sum(found.gram * covariance)) / noise - found.count
    gradient = 0.5 * np.append(slopes, noise_slope)
    gradient[:-1] -= logs[:-1] / SPREAD**2
    return float(-0.5 * value - 0.5 * np.sum((logs[:-1] / SPREAD) ** 2)), gradient, mean


def maximise(found: Sums, groups: NDArray[np.intp], start: Array | None = None) -> Posterior:
    """The posterior at the highest evidence."""
    _, groups = np.unique(groups, return_inverse=True)  # a form has not all groups, and the constant is last
    start = np.append(np.zeros(groups.max()), np.log(0.1)) if start is None else start

    def negative(logs: Array) -> tuple[float, Array]:
        value, gradient, _ = log_evidence(logs, found, groups)
        return -value, -gradient

    bounds = [*[BOUNDS] * (len(start) - 1), NOISE_BOUNDS]
    best = minimize(negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 80})
    value, _, mean = log_evidence(best.x, found, groups)
    return Posterior(mean, value, best.x)


def robust(columns: Array, groups: NDArray[np.intp], y: Array) -> tuple[Array, Array]:
    """Student-t weights of the windows (n,), and their residuals in scales (n,), by reweighting."""
    weights, start = np.ones(len(y)), None
    for done in range(ROUNDS):
        found = maximise(sums(columns, y, weights), groups, start)
        residual, start = y - columns @ found.mean, found.logs
        scale = 1.4826 * np.median(np.abs(residual)) if done < SPOILT else np.exp(found.logs[-1] / 2.0)
        distance = residual / max(float(scale), 1e-9)
        previous, weights = weights, (FREEDOM + 1.0) / (FREEDOM + distance**2)
        if done >= SPOILT and np.abs(weights - previous).max() < ENOUGH:
            break
    return weights, distance


def fit(
    inputs: Any, auxiliary: Any, target: Any, *, kernel: str, steady: int = 0, power: float = 1.0
) -> Fitted:
    """The calibration of raw channels (n, d) at temperatures (n,) against the reference (n,)."""
    return _fit(inputs, auxiliary, target, kernel, steady, power)[0]


def choose_power(
    inputs: Any, auxiliary: Any, target: Any, powers: Sequence[float], *, kernel: str, steady: int = 0
) -> float:
    """The power of the measured channels with the highest evidence, as a mean over the forms."""
    if len(powers) == 1:
        return powers[0]
    return max(powers, key=lambda power: _fit(inputs, auxiliary, target, kernel, steady, power)[1])


def _fit(
    inputs: Any, auxiliary: Any, target: Any, kernel: str, steady: int, power: float
) -> tuple[Fitted, float]:
    raw = np.asarray(inputs, dtype=float)
    data = standardised(bend(raw, power, raw.shape[1] - steady), auxiliary, target)
    hyper = Hyperparameters(kernel=kernel, alpha=0.0, steady=steady)
    whole = basis(data, kernel, hyper.length_scale, steady)
    middle = whole.bilinear
    weights, distance = robust(whole.columns[:, :middle], whole.groups[:middle], data.y)
    found = sums(whole.columns, data.y, weights)
    widths = whole.straight, middle, len(whole.groups)
    forms = [maximise(found.first(width), whole.groups[:width]) for width in widths]
    mean = np.mean([np.pad(one.mean, (0, len(whole.groups) - len(one.mean))) for one in forms], axis=0)
    residual = np.where(np.abs(distance) > FAR, 0.0, data.y - whole.columns @ mean)
    fitted = Fitted(
        hyper,
        data.channel_scales,
        data.auxiliary_scale,
        data.target_scale,
        hold_range(np.asarray(auxiliary, dtype=float), hyper.trend),
        _functions(whole, mean, data.x.shape[1], steady),
        residual / hyper.ridge,
        np.abs(distance) > FAR,
        len(forms),
        True,
        power,
        "evidence",
    )
    return fitted, float(np.logaddexp.reduce([one.log_evidence for one in forms]))


def _functions(whole: Basis, mean: Array, d: int, steady: int) -> Weights:
    """The coefficients as functions of z: constants and slopes of all weights, the bias last, and shapes."""
    trend = np.zeros((d + 1, 2))
    trend[:, 0] = np.append(mean[1 : d + 1], mean[0])
    trend[: d - steady, 1] = mean[d + 2 : whole.bilinear]
    trend[d, 1] = mean[d + 1]
    shapes = mean[whole.bilinear :].reshape(whole.moving, LANDMARKS).T
    state = solve_triangular(whole.root, shapes, lower=True, trans="T")
    return Weights(whole.landmarks, state, trend, steady)
