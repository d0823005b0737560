"""Greedy landmarks: the few temperatures that carry d + 1 fitted functions.

The ridge objective of compressed functions ŵ exceeds that of the full ones w by exactly

    Σₙ (uₙᵀ(w - ŵ)(zₙ))² + λ·‖w - ŵ‖²,

the norm being that of the kernel's function space. Least squares in this metric gives the coefficients, and
the landmark that takes off most is the next to enter. Both only need sums of uuᵀ over narrow bins of z.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edge_agent.core.kernel import Array, gram

BINS = 2048  # at most; far narrower than a length scale
CANDIDATES = 160
STIFFNESS = 1e-6  # weight of the squared coefficients beside the norm: keeps them small enough for float32


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Landmarks in the order in which they entered; any leading part of them can be refitted."""

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
) -> Path:
    """Up to `size` landmarks for the functions `shape`, (n,) to (n, d + 1), seen through u at z."""
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
    return Path(candidates[order], chosen, target[order].ravel())


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
