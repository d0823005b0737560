"""The slow, obvious regression step: tests and benchmarks compare the fast ones with it."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from edge_agent.core.kernel import Array, gram
from model_export.regression.form import regressors


def gram_with_trend(kernel: str, length_scale: float, z: Array, other: Array, trend: float) -> Array:
    """k(zᵢ, z'ⱼ) = trend·(1 + zᵢz'ⱼ) + shape(|zᵢ - z'ⱼ| / length_scale)."""
    return trend * (1.0 + np.outer(z, other)) + gram(kernel, length_scale, z, other)


class DenseRidge:
    """(F + λI)β = y with F = G∘(11ᵀ + Σ xᵢxᵢᵀ) written out: N² memory, N³ time.

    The last `steady` channels have `trend` in place of G.
    """

    def __init__(
        self,
        kernel: str,
        length_scale: float,
        inputs: Array,
        z: Array,
        *,
        ridge: float,
        trend: float = 0.0,
        steady: int = 0,
    ) -> None:
        self._kernel = (kernel, length_scale)
        d = inputs.shape[1] - steady
        self._u, self._z, self._trend = regressors(inputs[:, :d]), z, trend
        self.F = gram_with_trend(kernel, length_scale, z, z, trend) * (self._u @ self._u.T)
        self.F += trend * inputs[:, d:] @ inputs[:, d:].T
        self._factor = cho_factor(self.F + ridge * np.eye(len(z)), lower=True)

    def dual(self, target: Array) -> Array:
        """β, (n,)."""
        return np.asarray(cho_solve(self._factor, target))

    def __call__(self, target: Array) -> Array:
        """The fitted values ŷ = Fβ, (n,)."""
        return np.asarray(self.F @ self.dual(target))

    def weights_at(self, target: Array, z: Array) -> Array:
        """wᵢ(z) = Σₙ βₙ uₙᵢ k(z, zₙ), (m, d + 1)."""
        near = gram_with_trend(*self._kernel, z, self._z, self._trend)
        return np.asarray(near @ (self.dual(target)[:, None] * self._u))
