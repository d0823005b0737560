"""Kernels in one dimension: they shape w1, w2 and b over temperature.

All take the scaled distance r = |z - z'| / length_scale and are 1 at r = 0.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def matern12(r: Array) -> Array:
    """exp(-r): continuous, not smooth (Ornstein-Uhlenbeck).

    >>> float(matern12(np.array(0.0)))
    1.0
    """
    return np.exp(-r)


def matern32(r: Array) -> Array:
    """(1 + √3 r) exp(-√3 r): once differentiable."""
    s = _SQRT3 * r
    return (1.0 + s) * np.exp(-s)


def matern52(r: Array) -> Array:
    """(1 + √5 r + 5/3 r²) exp(-√5 r): twice differentiable."""
    s = _SQRT5 * r
    return (1.0 + s + s * s / 3.0) * np.exp(-s)


def rbf(r: Array) -> Array:
    """exp(-r² / 2): infinitely smooth."""
    return np.exp(-0.5 * r * r)


_SQRT3 = float(np.sqrt(3.0))
_SQRT5 = float(np.sqrt(5.0))

KERNELS: dict[str, Callable[[Array], Array]] = {
    "matern12": matern12,
    "matern32": matern32,
    "matern52": matern52,
    "rbf": rbf,
}


def gram(name: str, length_scale: float, z: Any, other: Any) -> Array:
    """The matrix k(zᵢ, z'ⱼ) = shape(|zᵢ - z'ⱼ| / length_scale).

    >>> gram("matern12", 1.0, [0.0], [0.0, 1.0]).round(3).tolist()
    [[1.0, 0.368]]
    """
    z, other = np.asarray(z, dtype=float)[:, None], np.asarray(other, dtype=float)[None, :]
    return KERNELS[name](np.abs(z - other) / length_scale)


def shapes_at(name: str, z: float, other: Array) -> Array:
    """k(z, z'ⱼ) at one place, (m,); z and z'ⱼ are divided by the length scale already.

    >>> shapes_at("matern12", 0.0, np.array([0.0, 1.0])).round(3).tolist()
    [1.0, 0.368]
    """
    return KERNELS[name](np.abs(other - z))
