"""From N support vectors to N̂ ≪ N: the shape part on a few temperatures, the trend part kept as it is.

`landmarks` gives each of N̂ temperatures d + 1 free coefficients (see that module). `paper` keeps the N̂
windows with the largest |β|, one coefficient each, and refits these by least squares.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edge_agent.core.kernel import Array, gram
from model_export.regression.landmarks import CANDIDATES, at_float32, landmark_path
from model_export.regression.respire import Fitted, standardise
from model_export.regression.solver import moving, regressors, trend_estimate, with_steady

Method = Literal["landmarks", "paper"]
LOSS = 0.002  # of R², that an automatic size may cost on the training windows
CHANGE = (
    1e-5  # of the target's variance: mean squared change of the estimates, so that it holds elsewhere too
)
SHARE = 20  # windows to each support vector, at least, unless LOSS needs more
PAPER_LIMIT = 512  # support vectors that the paper's way may take
RCOND = 1e-5  # directions weaker than this would need coefficients too large for float32
CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """What a bundle stores of the weights, in standardised quantities, as in `Model`."""

    support: Array  # (m,)
    coefficients: Array  # (d + 1, m)
    trend: Array  # (d + 1, 2)


@dataclass(frozen=True, slots=True)
class Point:
    """One size on the compression curve; `loss` is the R² it costs against the full model."""

    size: int
    r2: float
    loss: float


@dataclass(frozen=True, slots=True, eq=False)
class _Training:
    """A fitted model beside the windows it was fitted to, in standardised quantities."""

    fitted: Fitted
    z: Array  # (n,)
    u: Array  # (n, d + 1)
    y: Array  # (n,)
    estimate: Array  # of the full model, (n,)

    def r2(self, estimate: Array) -> float:
        """The share of the target's variance that is explained."""
        return 1.0 - float(np.sum((self.y - estimate) ** 2) / np.sum((self.y - self.y.mean()) ** 2))

    def loss(self, compressed: Compressed) -> float:
        """What the compressed model loses in R²."""
        return self.r2(self.estimate) - self.r2(self.estimate_of(compressed))

    def change(self, compressed: Compressed) -> float:
        """The mean squared change of the estimates, as a share of the target's variance."""
        return float(np.mean((self.estimate_of(compressed) - self.estimate) ** 2) / self.y.var())

    def estimate_of(self, compressed: Compressed) -> Array:
        """The estimates of the compressed model, (n,)."""
        hyper, estimate = self.fitted.hyper, np.empty_like(self.y)
        for start in range(0, len(estimate), CHUNK):
            part = slice(start, start + CHUNK)
            near = gram(hyper.kernel, hyper.length_scale, self.z[part], compressed.support)
            line = np.column_stack([np.ones(len(near)), self.z[part]])
            weights = near @ compressed.coefficients.T + line @ compressed.trend.T
            estimate[part] = np.einsum("nf,nf->n", self.u[part], weights)
        return estimate


def compress(
    fitted: Fitted,
    inputs: Any,
    auxiliary: Any,
    target: Any,
    *,
    size: int | None = None,
    method: Method = "landmarks",
) -> Compressed:
    """The fitted model on `size` support vectors, or on an automatic number of them.

    By default the fewest that cost at most 0.002 of R². Landmarks are so cheap that more are taken, to N/20,
    until the estimates change by no more than 0.3 % of the target's standard deviation: what costs little on
    the training windows may cost more on others.
    """
    training = _training(fitted, inputs, auxiliary, target)
    build, limit = METHODS[method](training, size)
    if size:
        return build(min(size, limit))
    fewest = _fewest(lambda m: training.loss(build(m)) <= LOSS, limit)
    if method == "landmarks":
        faithful = _fewest(lambda m: training.change(build(m)) <= CHANGE, limit)
        fewest = max(fewest, min(faithful, len(training.y) // SHARE))
    return build(fewest)


def curve(
    fitted: Fitted,
    inputs: Any,
    auxiliary: Any,
    target: Any,
    *,
    sizes: Iterable[int],
    method: Method = "landmarks",
) -> list[Point]:
    """R² on the training windows against the number of support vectors, as far as there are any."""
    training, sizes = _training(fitted, inputs, auxiliary, target), sorted(sizes)
    build, limit = METHODS[method](training, sizes[-1])
    full = training.r2(training.estimate)
    r2 = {size: training.r2(training.estimate_of(build(size))) for size in sizes if size <= limit}
    return [Point(size, value, full - value) for size, value in r2.items()]


def _training(fitted: Fitted, inputs: Any, auxiliary: Any, target: Any) -> _Training:
    channels = np.asarray(inputs, dtype=float).T
    u = regressors(np.column_stack([*map(standardise, channels, fitted.channel_scales)]))
    z, y = standardise(auxiliary, fitted.auxiliary_scale), standardise(target, fitted.target_scale)
    return _Training(fitted, z, u, y, np.einsum("nf,nf->n", u, fitted.functions.at(z)))


def _fewest(enough: Callable[[int], bool], limit: int) -> int:
    """The smallest size that is enough, taken that larger ones then are too; `limit` if none is.

    >>> _fewest(lambda size: size >= 37, 100), _fewest(lambda size: False, 100)
    (37, 100)
    """
    low, high = 0, 1
    while high < limit and not enough(high):
        low, high = high, min(2 * high, limit)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _landmarks(training: _Training, size: int | None) -> tuple[Callable[[int], Compressed], int]:
    """Compressions onto any number of greedy landmarks, and the largest such number."""
    hyper, functions = training.fitted.hyper, training.fitted.functions
    kernel = (hyper.kernel, hyper.length_scale, hyper.ridge)
    count = size or CANDIDATES
    u = moving(training.u, hyper.steady)
    path = landmark_path(*kernel, z=training.z, u=u, shape=functions.shape, size=count)

    def build(m: int) -> Compressed:
        coefficients = with_steady(path.coefficients(m).T, hyper.steady).T
        return Compressed(path.landmarks[:m], coefficients, functions.trend)

    return build, len(path.landmarks)


def _largest_beta(training: _Training, size: int | None) -> tuple[Callable[[int], Compressed], int]:
    """Compressions onto any number of windows of largest |β|, and the largest such number."""
    hyper, trend, beta = training.fitted.hyper, training.fitted.functions.trend, training.fitted.beta
    order = np.argsort(-np.abs(beta), kind="stable")[: size or PAPER_LIMIT]
    support, u = at_float32(training.z[order]), moving(training.u, hyper.steady)
    line = trend_estimate(training.z, training.u, trend)
    target = training.estimate + hyper.ridge * beta - line
    columns = gram(hyper.kernel, hyper.length_scale, training.z, support) * (u @ u[order].T)

    def build(m: int) -> Compressed:
        refit = np.linalg.lstsq(columns[:, :m], target, rcond=RCOND)[0]
        coefficients = with_steady(u[order[:m]] * refit[:, None], hyper.steady).T
        return Compressed(support[:m], coefficients, trend)

    return build, len(order)


METHODS = {"landmarks": _landmarks, "paper": _largest_beta}
