"""The form of a calibration, y = w1(T)·x1 + … + wd(T)·xd + b(T), in standardised quantities.

`respire` fits it as the paper does, `evidence` as the default does.
"""

from dataclasses import dataclass
from math import inf
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import KERNELS, Array
from edge_agent.core.model import Scale, bend, weighted_sum

Tuning = Literal["evidence", "folds"]  # how the hyperparameters are chosen: `evidence`, or `tune`


class Shapes(Protocol):
    """What is left of them after a fit."""

    def at(self, state: Array, z: Array) -> Array: ...


def regressors(inputs: Array) -> Array:
    """u = (x, 1): the channels and a constant for the bias, (n, d) to (n, d + 1)."""
    return np.column_stack([inputs, np.ones(len(inputs))])


def moving(u: Array, steady: int) -> Array:
    """The regressors whose weights are functions of z: all but the last `steady` channels, (n, d + 1 - s)."""
    return np.delete(u, np.s_[u.shape[1] - 1 - steady : -1], axis=1) if steady else u


def with_steady(values: Array, steady: int) -> Array:
    """The moving weights in the last axis, with zeros inserted for the steady ones; the bias last.

    >>> with_steady(np.array([1.0, 2.0, 3.0]), steady=2).tolist()
    [1.0, 2.0, 0.0, 0.0, 3.0]
    """
    return np.insert(values, np.full(steady, values.shape[-1] - 1), 0.0, axis=-1) if steady else values


def trend_regressors(z: Array, u: Array, steady: int = 0) -> Array:
    """u, and z·u of the moving regressors, side by side, (n, 2(d + 1) - s)."""
    both = np.concatenate([u, z[:, None] * moving(u, steady)], axis=1)
    # Contiguous columns are twice as fast.
    return np.asfortranarray(both)


def trend_estimate(z: Array, u: Array, trend: Array) -> Array:
    """The estimate of the trend part (d + 1, 2) alone, (n,)."""
    return np.asarray(u @ trend[:, 0] + z * (u @ trend[:, 1]))


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The d + 1 fitted functions, standardised: wᵢ(z) = trend[i, 0] + trend[i, 1]·z + shape part."""

    functions: Shapes
    state: Array
    trend: Array  # (d + 1, 2)
    steady: int = 0

    def shape(self, z: Array) -> Array:
        """The shape part of the moving weights, (n, d + 1 - s)."""
        return self.functions.at(self.state, z)

    def at(self, z: Array) -> Array:
        """(n, d + 1), the bias last."""
        shape = with_steady(self.shape(z), self.steady)
        return np.asarray(shape + self.trend[:, 0] + z[:, None] * self.trend[:, 1])


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """What tuning chooses, all in standardised quantities."""

    kernel: str = "matern32"
    trend: float = 100.0  # prior variance of the constant and linear part; 0 is the paper's kernel
    length_scale: float = 1.0
    ridge: float = 1.0  # the paper's λ
    alpha: float = 0.05  # proportion of outliers
    eta: float = 1.0  # correction rate
    steady: int = 0  # how many of the last channels have one weight at all temperatures

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel: expected one of {', '.join(KERNELS)}, got {self.kernel!r}")
        if not (self.length_scale > 0.0 and self.ridge > 0.0 and self.trend >= 0.0):
            raise ValueError(f"length_scale and ridge must be positive, trend not negative, got {self}")
        if self.steady < 0 or (self.steady and not self.trend):
            raise ValueError(f"steady weights need a trend, got {self}")
        if not (0.0 <= self.alpha < 1.0 and 0.0 <= self.eta <= 1.0):
            raise ValueError(f"alpha must lie in [0, 1) and eta in [0, 1], got {self}")


@dataclass(frozen=True, slots=True, eq=False)
class Standardised:
    """A training set in standardised quantities, and the scales of the raw ones."""

    channel_scales: tuple[Scale, ...]
    auxiliary_scale: Scale
    target_scale: Scale
    x: Array  # (n, d)
    z: Array  # (n,)
    y: Array  # (n,)


class Curves(Protocol):
    """The d weights and the bias as standardised functions of temperature."""

    def at(self, z: Array) -> Array: ...


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A full, uncompressed calibration."""

    hyper: Hyperparameters
    channel_scales: tuple[Scale, ...]
    auxiliary_scale: Scale
    target_scale: Scale
    hold: tuple[float, float]  # temperatures beyond which the weights stay constant
    functions: Weights  # standardised
    beta: Array  # dual, (n,)
    outliers: NDArray[np.bool_]  # (n,)
    rounds: int
    converged: bool
    power: float = 1.0  # of the measured channels
    tuning: Tuning = "folds"

    def weights(self, auxiliary: Any, curves: Curves | None = None) -> Array:
        """The raw weights (w1, …, wd, b) at temperatures (n,): (n, d + 1). `curves` replace the full ones.

        They are weights of `bent` channels.
        """
        z = standardise(np.clip(auxiliary, *self.hold), self.auxiliary_scale)
        weights = (curves or self.functions).at(z)
        spreads = np.array([scale.spread for scale in self.channel_scales])
        centres = np.array([scale.centre for scale in self.channel_scales])
        slopes = self.target_scale.spread * weights[:, :-1] / spreads
        bias = self.target_scale.centre + self.target_scale.spread * weights[:, -1] - slopes @ centres
        return np.column_stack([slopes, bias])

    def predict(self, inputs: Any, auxiliary: Any, curves: Curves | None = None) -> Array:
        """The estimates for raw channels (n, d) at temperatures (n,)."""
        return weighted_sum(self.weights(auxiliary, curves), self.bent(inputs))

    def bent(self, inputs: Any) -> Array:
        """Raw channels (n, d) as the weights see them."""
        return bend(inputs, self.power, len(self.channel_scales) - self.hyper.steady)


def scale_of(raw: Array) -> Scale:
    """Mean and standard deviation; a constant keeps its unit."""
    centre, spread = float(np.mean(raw)), float(np.std(raw))
    return Scale(centre, spread if spread > 1e-12 * max(abs(centre), 1e-300) else 1.0)


def standardise(raw: Any, scale: Scale) -> Array:
    """(raw - centre) / spread."""
    return np.asarray((np.asarray(raw, dtype=float) - scale.centre) / scale.spread)


def hold_range(auxiliary: Array, trend: float) -> tuple[float, float]:
    """The temperatures beyond which the weights stay constant.

    With a trend they are those of the training windows: a line that runs on beyond the data misleads.
    Without one, as in the paper, the functions fade to zero and need no bounds.
    """
    return (float(auxiliary.min()), float(auxiliary.max())) if trend > 0.0 else (-inf, inf)


def standardised(inputs: Any, auxiliary: Any, target: Any) -> Standardised:
    """The training set with zero means and unit standard deviations."""
    inputs = np.asarray(inputs, dtype=float)
    auxiliary, target = np.asarray(auxiliary, dtype=float), np.asarray(target, dtype=float)
    if inputs.ndim != 2 or not auxiliary.shape == target.shape == inputs.shape[:1]:
        shapes = f"{inputs.shape}, {auxiliary.shape}, {target.shape}"
        raise ValueError(f"inputs, auxiliary, target: expected shapes (n, d), (n,), (n,), got {shapes}")
    if not (np.isfinite(inputs).all() and np.isfinite(auxiliary).all() and np.isfinite(target).all()):
        raise ValueError(
            "inputs, auxiliary, target: expected finite numbers; drop windows with missing values"
        )
    scales = tuple(map(scale_of, inputs.T))
    x = np.column_stack([*map(standardise, inputs.T, scales)])
    aux, tgt = scale_of(auxiliary), scale_of(target)
    return Standardised(scales, aux, tgt, x, standardise(auxiliary, aux), standardise(target, tgt))
