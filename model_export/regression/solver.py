"""The regression step of RESPIRE: (F + λI)β = y with F = G∘(11ᵀ + Σ xᵢxᵢᵀ), and no N x N matrix.

G holds the kernel `trend·(1 + zz′) + shape`. With a large `trend` the functions shrink towards a straight
line over temperature, with 0 (the paper's kernel) towards zero. `markov` or `lowrank` solves the shape part.
The trend part adds 2(d + 1) plain regressors (1, z)⊗(x, 1) of prior variance `trend`; they are eliminated
exactly, whatever its value. The last `steady` channels have one weight at all temperatures: for them G is
`trend` alone.
"""

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from model_export.regression.form import Weights, trend_regressors, with_steady
from model_export.regression.lowrank import LowRankFunctions
from model_export.regression.markov import ORDERS, MarkovFunctions


class Functions(Protocol):
    """d + 1 functions of z with a prior, given by a state s and observed as Hs."""

    def rows(self, keep: NDArray[Any]) -> Self: ...
    def apply(self, state: Array) -> Array: ...
    def adjoint(self, target: Array) -> Array: ...
    def factor(self, ridge: float) -> Callable[[Array], Array]: ...
    def at(self, state: Array, z: Array) -> Array: ...


def functions(kernel: str, length_scale: float, z: Array, u: Array) -> Functions:
    """The kernel's shape part in its fastest representation, observed through u (n, d + 1) at z (n,)."""
    kind = MarkovFunctions if kernel in ORDERS else LowRankFunctions
    return kind(kernel, length_scale, z, u)


class Ridge:
    """The regression step, factored once for all targets.

    With S = (F_shape + λI)⁻¹ and B the trend regressors, the trend is γ = (I/trend + BᵀSB)⁻¹ BᵀS y and the
    shape part is the ridge fit to y - Bγ. As λS = I - HJ⁻¹Hᵀ, every target costs one product with Hᵀ, one
    solution with J and one product with H.
    """

    def __init__(
        self, shape: Functions, z: Array, u: Array, ridge: float, trend: float, steady: int = 0
    ) -> None:
        """`shape` is observed through the moving regressors of u (n, d + 1)."""
        self._shape, self._solve = shape, shape.factor(ridge)
        self._functions, self._steady = u.shape[1], steady
        self._B = trend_regressors(z, u, steady)
        self._HB = shape.adjoint(self._B)
        self._JHB = self._solve(self._HB)
        BSB = self._B.T @ self._B - self._HB.T @ self._JHB  # times λ
        self._gain = np.linalg.inv(BSB + ridge / trend * np.eye(len(BSB))) if trend > 0.0 else 0.0 * BSB

    def _parts(self, target: Array) -> tuple[Array, Array]:
        seen = self._shape.adjoint(target)
        gamma = self._gain @ (self._B.T @ target - self._JHB.T @ seen)
        return self._solve(seen - self._HB @ gamma), gamma

    def __call__(self, target: Array) -> Array:
        """The fitted values ŷ = Fβ, (n,)."""
        state, gamma = self._parts(target)
        return np.asarray(self._shape.apply(state) + self._B @ gamma)

    def weights(self, target: Array) -> Weights:
        """The functions behind the fitted values, without the observations they were fitted to."""
        state, gamma = self._parts(target)
        constants, slopes = gamma[: self._functions], with_steady(gamma[self._functions :], self._steady)
        trend = np.column_stack([constants, slopes])
        return Weights(self._shape.rows(np.arange(0)), state, trend, self._steady)
