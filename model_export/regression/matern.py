"""Matérn kernels in one dimension as Markov processes.

A function with a Matérn-1/2, 3/2 or 5/2 prior is the first entry of a state (f, f′, f″) that forgets its
past: given the state at one temperature, what lies on both sides is independent.
"""

from dataclasses import dataclass
from functools import cached_property
from math import factorial

import numpy as np
from scipy.special import gammainc

from edge_agent.core.kernel import Array


@dataclass(frozen=True)
class Process:
    """A Matérn process with `order` states, in the unit of time in which it forgets as exp(-t).

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
        """The covariance of the state before anything is known; that of f itself is 1."""
        return np.asarray(self._moments.sum(axis=0))

    def transition(self, gaps: Array) -> Array:
        """(n,) to (n, order, order)."""
        powers = np.exp(-gaps)[:, None] * gaps[:, None] ** np.arange(self.order)
        return np.asarray(np.tensordot(powers, self._powers, axes=1))

    def noise(self, gaps: Array) -> Array:
        """(n,) to (n, order, order); P - transition·P·transitionᵀ would cancel at small gaps."""
        shares = gammainc(np.arange(1, 2 * self.order), 2.0 * gaps[:, None])
        return np.asarray(np.tensordot(shares, self._moments, axes=1))
