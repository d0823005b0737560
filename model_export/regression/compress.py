"""From N support vectors to N̂ ≪ N: the shape part on a few temperatures, the trend part unchanged.

`paper` keeps the N̂ windows with the largest |β|, one coefficient each, and refits these by least squares.
`landmarks` gives each of N̂ temperatures d + 1 free coefficients. The ridge objective of compressed functions
ŵ exceeds that of the full ones w by exactly

    Σₙ (uₙᵀ(w - ŵ)(zₙ))² + λ·‖w - ŵ‖²,

with the norm of the kernel's function space. Least squares in this metric gives the coefficients. The next
landmark is the one that reduces the excess most. Both need only sums of uuᵀ over narrow bins of z.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edge_agent.core.kernel import Array, gram
from edge_agent.core.model import weighted_sum, weights_at
from model_export.regression.form import Fitted, moving, regressors, standardise, trend_estimate, with_steady
from model_export.regression.metrics import r2

Method = Literal["landmarks", "paper"]
LOSS = 0.002  # of R², that an automatic size may cost on the training windows
# Mean squared change of the estimates, as a share of the target's variance, so that it holds elsewhere too.
CHANGE = 1e-5
SHARE = 20  # windows to each support vector, at least, unless LOSS needs more
PAPER_LIMIT = 512  # support vectors that the paper's method may take
RCOND = 1e-5  # directions weaker than this would need coefficients too large for float32
CHUNK = 1 << 16
BINS = 2048  # at most; far narrower than a length scale
CANDIDATES = 160
STIFFNESS = 1e-6  # weight of the squared coefficients beside the norm: keeps them small enough for float32


@dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """What a bundle stores of the weights, in standardised quantities, as in `Model`."""

    kernel: str
    length_scale: float
    support: Array  # (m,)
    coefficients: Array  # (d + 1, m)
    trend: Array  # (d + 1, 2)

    def at(self, z: Array) -> Array:
        """The weights at z (n,) in double precision, (n, d + 1), the bias last."""
        return weights_at(z, self.kernel, self.length_scale, self.support, self.coefficients, self.trend)


@dataclass(frozen=True, slots=True)
class Point:
    """One size on the compression curve; `loss` is the R² it costs against the full model."""

    size: int
    r2: float
    loss: float


@dataclass(frozen=True, slots=True, eq=False)
class _Training:
    """A fitted model and the windows it was fitted to, in standardised quantities."""

    fitted: Fitted
    x: Array  # (n, d)
    z: Array  # (n,)
    y: Array  # (n,)
    estimate: Array  # of the full model, (n,)

    def r2(self, compressed: Compressed) -> float:
        """R² of the compressed model."""
        return r2(self.y, self.estimate_of(compressed))

    def loss(self, compressed: Compressed) -> float:
        """The R² that the compressed model loses."""
        return r2(self.y, self.estimate) - self.r2(compressed)

    def change(self, compressed: Compressed) -> float:
        """The mean squared change of the estimates, as a share of the target's variance."""
        return float(np.mean((self.estimate_of(compressed) - self.estimate) ** 2) / self.y.var())

    def estimate_of(self, compressed: Compressed) -> Array:
        """The estimates of the compressed model, (n,)."""
        parts = (slice(start, start + CHUNK) for start in range(0, len(self.y), CHUNK))
        return np.concatenate([weighted_sum(compressed.at(self.z[part]), self.x[part]) for part in parts])


_Build = Callable[[int], Compressed]  # the compression onto that many support vectors


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

    The automatic number is the fewest that cost at most 0.002 of R². Landmarks are so cheap that more are
    taken, to N/20, until the estimates change by no more than 0.3 % of the target's standard deviation: what
    costs little on the training windows may cost more on others.
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
    """R² on the training windows against the number of support vectors, for the sizes that are possible."""
    training, sizes = _training(fitted, inputs, auxiliary, target), sorted(sizes)
    build, limit = METHODS[method](training, sizes[-1])
    full = r2(training.y, training.estimate)
    found = {size: training.r2(build(size)) for size in sizes if size <= limit}
    return [Point(size, value, full - value) for size, value in found.items()]


def _training(fitted: Fitted, inputs: Any, auxiliary: Any, target: Any) -> _Training:
    channels = fitted.bent(inputs).T
    x = np.column_stack([*map(standardise, channels, fitted.channel_scales)])
    z, y = standardise(auxiliary, fitted.auxiliary_scale), standardise(target, fitted.target_scale)
    return _Training(fitted, x, z, y, weighted_sum(fitted.functions.at(z), x))


def _fewest(enough: Callable[[int], bool], limit: int) -> int:
    """The smallest size that is enough, assuming that larger ones then are too; `limit` if none is.

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


def _largest_beta(training: _Training, size: int | None) -> tuple[_Build, int]:
    """Compressions onto any number of windows of largest |β|, and the largest such number."""
    hyper, trend, beta = training.fitted.hyper, training.fitted.functions.trend, training.fitted.beta
    order = np.argsort(-np.abs(beta), kind="stable")[: size or PAPER_LIMIT]
    support, all_u = at_float32(training.z[order]), regressors(training.x)
    u, line = moving(all_u, hyper.steady), trend_estimate(training.z, all_u, trend)
    target = training.estimate + hyper.ridge * beta - line
    columns = gram(hyper.kernel, hyper.length_scale, training.z, support) * (u @ u[order].T)

    def build(m: int) -> Compressed:
        refit = np.linalg.lstsq(columns[:, :m], target, rcond=RCOND)[0]
        coefficients = with_steady(u[order[:m]] * refit[:, None], hyper.steady).T
        return Compressed(hyper.kernel, hyper.length_scale, support[:m], coefficients, trend)

    return build, len(order)


def _landmarks(training: _Training, size: int | None) -> tuple[_Build, int]:
    """Compressions onto any number of greedy landmarks, and the largest such number."""
    hyper, functions = training.fitted.hyper, training.fitted.functions
    kernel = (hyper.kernel, hyper.length_scale, hyper.ridge)
    u = moving(regressors(training.x), hyper.steady)
    path = landmark_path(*kernel, z=training.z, u=u, shape=functions.shape, size=size or CANDIDATES)

    def build(m: int) -> Compressed:
        coefficients = with_steady(path.coefficients(m).T, hyper.steady).T
        return Compressed(hyper.kernel, hyper.length_scale, path.landmarks[:m], coefficients, functions.trend)

    return build, len(path.landmarks)


METHODS = {"landmarks": _landmarks, "paper": _largest_beta}


@dataclass(frozen=True, slots=True, eq=False)
class LandmarkPath:
    """Landmarks in the order in which they were chosen; the first m of them can be refitted for any m."""

    landmarks: Array  # (m,)
    metric: Array  # (m(d + 1), m(d + 1)), of the excess above
    target: Array  # (m(d + 1),)

    def coefficients(self, size: int) -> Array:
        """Those of the first `size` landmarks, (d + 1, size)."""
        width = size * (len(self.target) // len(self.landmarks))
        solution = np.linalg.solve(self.metric[:width, :width], self.target[:width])
        return np.asarray(solution.reshape(size, -1).T)


def landmark_path(
    kernel: str,
    length_scale: float,
    ridge: float,
    *,
    z: Array,
    u: Array,
    shape: Callable[[Array], Array],
    size: int,
) -> LandmarkPath:
    """Up to `size` landmarks for the functions `shape`, (n,) to (n, d + 1), observed through u at z."""
    centres, sums = _binned(z, u, BINS)
    candidates = at_float32(_binned(z, u, CANDIDATES)[0])
    near = gram(kernel, length_scale, centres, candidates)
    prior = ridge * (gram(kernel, length_scale, candidates, candidates) + STIFFNESS * np.eye(len(candidates)))
    p = u.shape[1]
    metric = np.empty((len(candidates), p, len(candidates), p))
    for i, j in np.ndindex(p, p):
        metric[:, i, :, j] = near.T @ (sums[:, i, j, None] * near) + (i == j) * prior
    target = near.T @ np.einsum("bij,bj->bi", sums, shape(centres)) + ridge * shape(candidates)
    order = _greedy(metric, target, size)
    chosen = metric[order][:, :, order].reshape(len(order) * p, -1)
    return LandmarkPath(candidates[order], chosen, target[order].ravel())


def at_float32(support: Array) -> Array:
    """The temperatures as a bundle will store them, so that no coefficient relies on more digits."""
    return support.astype(np.float32).astype(np.float64)


def _binned(z: Array, u: Array, bins: int) -> tuple[Array, Array]:
    """The mean z of every occupied bin (b,), and the sum of uuᵀ over its windows (b, d + 1, d + 1)."""
    edges = np.linspace(z.min(), z.max(), bins + 1)[1:-1]
    _, label = np.unique(np.searchsorted(edges, z), return_inverse=True)
    sums = [np.bincount(label, weights=u[:, i] * u[:, j]) for i, j in np.ndindex(u.shape[1], u.shape[1])]
    means = np.bincount(label, weights=z) / np.bincount(label)
    return means, np.array(sums, dtype=float).T.reshape(-1, u.shape[1], u.shape[1])


def _greedy(metric: Array, target: Array, size: int) -> list[int]:
    """Block-pivoted Cholesky: each step takes the candidate that reduces the excess most."""
    count, p = target.shape
    left, gradient = np.einsum("cicj->cij", metric).copy(), target.copy()
    columns, order = np.empty((count, p, 0)), list[int]()
    while len(order) < min(size, count):
        gains = np.einsum("ci,ci->c", gradient, np.linalg.solve(left, gradient[:, :, None])[:, :, 0])
        gains[order] = -np.inf
        new = int(gains.argmax())
        root = np.linalg.cholesky(left[new])
        column = (metric[:, :, new] - columns @ columns[new].T) @ np.linalg.inv(root).T
        gradient -= column @ np.linalg.solve(root, gradient[new])
        left -= column @ np.swapaxes(column, 1, 2)
        left[new] = np.eye(p)
        columns = np.concatenate([columns, column], axis=2)
        order.append(new)
    return order
