"""Ridge regression on Matérn functions of temperature, in time and memory linear in N.

A function with a Matérn-1/2, 3/2 or 5/2 prior is the first entry of a state (f, f′, f″) of a Markov process:
given the state at one temperature, both sides are independent. The states at a row of nodes therefore have a
block-tridiagonal precision matrix, and the regression is one banded Cholesky factor.

Nodes at the raw temperatures would be ill-conditioned where two nearly coincide. They are on a grid instead,
and an observation is the conditional mean of f between its two nodes. The variance that this leaves out is
about 0.1·SPACING³ for Matérn-3/2, and less for 5/2. A Matérn-1/2 function is too rough to interpolate, but it
has no derivatives that could be ill-conditioned: its nodes are the temperatures.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import factorial, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.special import gammainc

from edge_agent.core.kernel import Array

ORDERS = {"matern12": 1, "matern32": 2, "matern52": 3}
SPACING = {1: 1e-8, 2: 5e-3, 3: 5e-2}  # of nodes, in length scales; chosen against the dense solver
FAR = 50.0  # exp(-50): a node this far out is independent of the data
CHUNK = 1 << 14  # windows at a time, so that intermediate arrays stay in the cache


@dataclass(frozen=True)
class Process:
    """A Matérn process with `order` states, in the unit of time in which it decays as exp(-t).

    Matérn-(order - 1/2) with length scale ℓ is this process at t = z·√(2·order - 1)/ℓ. The state obeys
    ds = (N - I)s dt + e dW with N nilpotent, so that over a gap t

        s(t) = transition(t)·s(0) + ε,   transition(t) = exp(-t)·Σ Nᵏtᵏ/k!,   cov(ε) = noise(t).

    >>> process, gap = Process(order=1), np.array([1.0])
    >>> process.transition(gap).round(3).tolist(), process.noise(gap).round(3).tolist()
    ([[[0.368]]], [[[0.865]]])
    """

    order: int

    @cached_property
    def _powers(self) -> Array:
        """Nᵏ/k!, where N - I is the companion matrix of (D + 1)^order."""
        q = self.order
        nilpotent = np.eye(q) + np.eye(q, k=1)
        nilpotent[-1] -= np.poly(-np.ones(q))[:0:-1]
        return np.array([np.linalg.matrix_power(nilpotent, k) / factorial(k) for k in range(q)])

    @cached_property
    def _moments(self) -> Array:
        """noise(t) = Σₖ moments[k]·gammainc(k + 1, 2t), the integral of a polynomial times exp(-2t)."""
        q = self.order
        impulse = self._powers[:, :, -1]
        moments = np.zeros((2 * q - 1, q, q))
        for k, j in np.ndindex(q, q):
            moments[k + j] += factorial(k + j) / 2.0 ** (k + j + 1) * np.outer(impulse[k], impulse[j])
        return np.asarray(moments / moments[:, 0, 0].sum())

    @property
    def stationary(self) -> Array:
        """The prior covariance of the state; that of f itself is 1."""
        return np.asarray(self._moments.sum(axis=0))

    def transition(self, gaps: Array) -> Array:
        """(n,) to (n, order, order)."""
        powers = np.exp(-gaps)[:, None] * gaps[:, None] ** np.arange(self.order)
        return np.asarray(np.tensordot(powers, self._powers, axes=1))

    def noise(self, gaps: Array) -> Array:
        """(n,) to (n, order, order); P - transition·P·transitionᵀ would cancel at small gaps."""
        shares = gammainc(np.arange(1, 2 * self.order), 2.0 * gaps[:, None])
        return np.asarray(np.tensordot(shares, self._moments, axes=1))


def place_nodes(times: Array, order: int) -> Array:
    """The corners of all grid cells that hold an observation, and a node far out on each side, ascending."""
    step = SPACING[order] * sqrt(2 * order - 1)
    if order == 1:
        corners = np.unique(np.round(times / step)) * step
    else:
        cells = np.unique(np.floor(times / step))
        corners = np.union1d(cells, cells + 1.0) * step
    return np.concatenate([[corners[0] - FAR], corners, [corners[-1] + FAR]])


class MarkovFunctions:
    """d + 1 independent Matérn functions f, with observations Σᵢ uᵢ fᵢ(z)."""

    def __init__(self, kernel: str, length_scale: float, z: Array, u: Array) -> None:
        self._process = Process(ORDERS[kernel])
        self._rate = sqrt(2 * self._process.order - 1) / length_scale
        self._nodes = place_nodes(z * self._rate, self._process.order)
        self._functions = u.shape[1]
        gaps = np.diff(self._nodes)
        self._transition = self._process.transition(gaps)
        self._information = np.linalg.inv(self._process.noise(gaps))
        self._design = self._observe(z, u)

    def rows(self, keep: NDArray[Any]) -> Self:
        """The same functions with some of the observations."""
        subset = copy(self)
        subset._design = self._design[keep]
        subset.__dict__.pop("_gram", None)
        return subset

    def apply(self, state: Array) -> Array:
        """The observations of a state: Hs, (size,) to (n,) or (size, k) to (n, k)."""
        return np.asarray(self._design @ state)

    def adjoint(self, target: Array) -> Array:
        """Hᵀt, (n,) to (size,) or (n, k) to (size, k)."""
        return np.asarray(self._design.T @ target)

    def factor(self, ridge: float) -> Callable[[Array], Array]:
        """The solver of (HᵀH + ridge·precision) s = b."""
        band = ridge * self._precision() + self._gram
        factor = cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)
        return lambda b: np.asarray(cho_solve_banded((factor, True), b, check_finite=False))

    def at(self, state: Array, z: Array) -> Array:
        """The functions themselves, (n, d + 1)."""
        left, weights = self._interpolate(z)
        blocks = state.reshape(len(self._nodes), self._process.order, self._functions)
        pairs = np.concatenate([blocks[left], blocks[left + 1]], axis=1)
        return np.asarray(np.einsum("ns,nsf->nf", weights, pairs))

    def _interpolate(self, z: Array) -> tuple[NDArray[np.intp], Array]:
        """The node left of each z, and the weights (n, 2·order) of its state and the next one's in E f(z)."""
        times = np.clip(z * self._rate, self._nodes[0], self._nodes[-1])
        left = np.clip(np.searchsorted(self._nodes, times, side="right") - 1, 0, len(self._nodes) - 2)
        since, until = times - self._nodes[left], self._nodes[left + 1] - times
        news = self._process.noise(since)[:, :1] @ np.swapaxes(self._process.transition(until), 1, 2)
        right = news @ self._information[left]
        kept = self._process.transition(since)[:, :1] - right @ self._transition[left]
        return left, np.concatenate([kept, right], axis=2)[:, 0]

    def _observe(self, z: Array, u: Array) -> sparse.csr_array:
        """H: all states, ordered (node, state, function), to the observations."""
        half = self._process.order * self._functions
        values, columns = np.empty((len(z), 2 * half)), np.empty((len(z), 2 * half), dtype=np.int32)
        for start in range(0, len(z), CHUNK):
            part = slice(start, start + CHUNK)
            left, weights = self._interpolate(z[part])
            values[part] = (weights[:, :, None] * u[part, None, :]).reshape(len(left), -1)
            columns[part] = half * left[:, None] + np.arange(2 * half)
        # Row starts of 64 bits would make scipy widen the columns too.
        starts = np.arange(0, values.size + 1, 2 * half, dtype=np.int32)
        shape = (len(z), half * len(self._nodes))
        return sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=shape)

    @cached_property
    def _gram(self) -> Array:
        """HᵀH, in LAPACK's lower band storage; each row of H is one dense block at its left node."""
        half, nodes = self._process.order * self._functions, len(self._nodes)
        left = self._design.indices[:: 2 * half] // half
        rows = self._design.data.reshape(-1, 2 * half)
        band = np.zeros((2 * half, nodes + 1, half))
        step = max(CHUNK, nodes)
        for start in range(0, len(rows), step):
            part, columns = left[start : start + step], rows[start : start + step].T.copy()
            for i, j in zip(*np.tril_indices(2 * half), strict=True):
                over, entry = divmod(j, half)
                sums = np.bincount(part, weights=columns[i] * columns[j], minlength=nodes)
                band[i - j, over : over + nodes, entry] += sums
        return band[:, :-1].reshape(2 * half, -1)

    def _precision(self) -> Array:
        """The prior precision of all states, in LAPACK's lower band storage."""
        q, p, m = self._process.order, self._functions, len(self._nodes)
        carried = np.swapaxes(self._transition, 1, 2) @ self._information
        diagonal = np.zeros((m, q, q))
        diagonal[0] = np.linalg.inv(self._process.stationary)
        diagonal[1:] += self._information
        diagonal[:-1] += carried @ self._transition
        band = np.zeros((2 * q * p, m, q, p))
        for row, column in np.ndindex(q, q):
            band[(q + row - column) * p, :-1, column] = -carried[:, column, row, None]
            if row >= column:
                band[(row - column) * p, :, column] = diagonal[:, row, column, None]
        return band.reshape(2 * q * p, m * q * p)
