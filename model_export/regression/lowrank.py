"""Ridge regression on RBF functions of temperature: their spectrum falls so fast that few columns suffice."""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from edge_agent.core.kernel import Array, gram

TOLERANCE = 1e-10  # the largest prior variance of f(z) that may be left out
CHUNK = 1 << 16


def pivot(kernel: str, length_scale: float, z: Array) -> tuple[Array, Array]:
    """Pivoted Cholesky of the Gram matrix: landmarks (r,) and the factor L (n, r), LLᵀ ≈ G.

    Each step takes the temperature that the landmarks so far explain least.
    """
    left, columns, chosen = np.ones(len(z)), np.empty((16, len(z))), list[int]()
    while len(chosen) < len(z) and left.max() > TOLERANCE:
        rank, new = len(chosen), int(left.argmax())
        if rank == len(columns):
            columns = np.concatenate([columns, np.empty_like(columns)])
        row = gram(kernel, length_scale, z[new : new + 1], z)[0] - columns[:rank, new] @ columns[:rank]
        columns[rank] = row / np.sqrt(left[new])
        left = np.maximum(left - columns[rank] ** 2, 0.0)
        left[new] = 0.0
        chosen.append(new)
    return z[chosen], columns[: len(chosen)].T


class LowRankFunctions:
    """d + 1 independent functions f with a smooth kernel, with observations Σᵢ uᵢ fᵢ(z)."""

    def __init__(self, kernel: str, length_scale: float, z: Array, u: Array) -> None:
        self._kernel, self._length_scale = kernel, length_scale
        distinct, inverse = np.unique(z, return_inverse=True)
        self._landmarks, factor = pivot(kernel, length_scale, distinct)
        self._features, self._u = factor[inverse], u
        self._triangle = factor[np.searchsorted(distinct, self._landmarks)]

    def rows(self, keep: NDArray[Any]) -> Self:
        """The same functions with some of the observations."""
        subset = copy(self)
        subset._features, subset._u = self._features[keep], self._u[keep]
        subset.__dict__.pop("_gram", None)
        return subset

    def apply(self, state: Array) -> Array:
        """The observations of a state: Hs, (size,) to (n,) or (size, k) to (n, k)."""
        values = self._features @ state.reshape(self._features.shape[1], -1)
        values = values.reshape(*self._u.shape, *state.shape[1:])
        return np.asarray(np.einsum("nf,nf...->n...", self._u, values))

    def adjoint(self, target: Array) -> Array:
        """Hᵀt, (n,) to (size,) or (n, k) to (size, k)."""
        spread = np.einsum("nf,n...->nf...", self._u, target).reshape(len(target), -1)
        return np.asarray((self._features.T @ spread).reshape(-1, *target.shape[1:]))

    def factor(self, ridge: float) -> Callable[[Array], Array]:
        """The solver of (HᵀH + ridge·I) s = b."""
        information = self._gram + ridge * np.eye(len(self._gram))
        factor = cho_factor(information, lower=True, overwrite_a=True, check_finite=False)
        return lambda b: np.asarray(cho_solve(factor, b, check_finite=False))

    def at(self, state: Array, z: Array) -> Array:
        """The functions themselves, (n, d + 1)."""
        near = gram(self._kernel, self._length_scale, self._landmarks, z)
        features = solve_triangular(self._triangle, near, lower=True, check_finite=False)
        return np.asarray(features.T @ state.reshape(len(self._landmarks), -1))

    @cached_property
    def _gram(self) -> Array:
        """HᵀH, (size, size)."""
        size = self._features.shape[1] * self._u.shape[1]
        total = np.zeros((size, size))
        for start in range(0, len(self._u), CHUNK):
            part = slice(start, start + CHUNK)
            block = np.einsum("nr,nf->nrf", self._features[part], self._u[part]).reshape(-1, size)
            total += block.T @ block
        return total
