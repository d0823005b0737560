"""The calibration in memory: y = w1(T)·op1 + w2(T)·op2 + b(T), for any number of channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import copysign, inf
from operator import mul
from types import MappingProxyType
from typing import Any

import numpy as np

from edge_agent.core.kernel import Array, gram, shapes_at

Fact = str | int | float


@dataclass(frozen=True, slots=True)
class Scale:
    """Standardisation of one quantity: (raw - centre) / spread."""

    centre: float
    spread: float


@dataclass(frozen=True, slots=True)
class Interval:
    """Half the width of a band that covers at `level`; above `origin` it grows with the estimate."""

    half_width: float  # in the unit of the estimate
    level: float
    slope: float = 0.0
    origin: float = 0.0

    def half_widths(self, estimate: Any) -> Any:
        """half_width + slope·max(estimate - origin, 0), for one estimate or many.

        >>> float(Interval(0.1, 0.9, slope=0.2, origin=1.0).half_widths(2.0))
        0.30000000000000004
        """
        return self.half_width + self.slope * np.maximum(estimate - self.origin, 0.0)


def weights_at(
    z: Array, kernel: str, length_scale: float, support: Array, coefficients: Array, trend: Array
) -> Array:
    """wᵢ(z) = trend[i, 0] + trend[i, 1]·z + Σⱼ coefficients[i, j]·shape(|z - support[j]| / length_scale).

    z (n,), support (m,), coefficients (d + 1, m) and trend (d + 1, 2) give (n, d + 1), the bias last.
    """
    shapes = gram(kernel, length_scale, z, support)
    return np.asarray(shapes @ coefficients.T + trend[:, 0] + z[:, None] * trend[:, 1])


def weighted_sum(weights: Array, inputs: Any) -> Array:
    """The prediction formula: w1·x1 + … + wd·xd + b, for weights (n, d + 1) and inputs (n, d).

    >>> weighted_sum(np.array([[2.0, 3.0, 10.0]]), [[1.0, 1.0]]).tolist()
    [15.0]
    """
    x = np.asarray(inputs, dtype=float)
    return np.asarray(np.einsum("nd,nd->n", x, weights[:, :-1]) + weights[:, -1])


def bend(inputs: Any, power: float, measured: int) -> Array:
    """The first `measured` channels of (n, d) to a power, sign(x)·|x|^power; the others unchanged.

    The resistance of a metal-oxide sensor is a power of the concentration.

    >>> bend([[4.0, 9.0]], 0.5, measured=1).tolist()
    [[2.0, 9.0]]
    """
    x = np.asarray(inputs, dtype=float)
    if power == 1.0:
        return x
    bent: Array = np.copysign(np.abs(x) ** power, x)
    if measured < x.shape[1]:
        bent[:, measured:] = x[:, measured:]
    return bent


def _power(x: float, power: float) -> float:
    """x**power, infinite where Python raises an error."""
    try:
        return float(x**power)
    except OverflowError:
        return inf


@dataclass(frozen=True, eq=False)
class Model:
    """One sensor's calibration, fixed at the precision of its bundle.

    `weights_at` gives the d weights and the bias in standardised quantities (z the auxiliary variable).
    Outside the temperatures of `hold` they stay as they are at its nearer end: a line must not run away where
    there was no training data. `transfer` (d x (d + 1), raw units) maps this sensor's channels to those of
    the sensor the model was fitted to; `adapter` (gain, offset) is applied to the estimate. Channels in
    `warming` are not measured: they tell how much warmer it is than it was. With a `power` the weights are
    those of the measured channels to that power, after the transfer.
    """

    sensor: str
    gas: str
    unit: str
    channels: tuple[str, ...]
    kernel: str
    length_scale: float
    channel_scales: tuple[Scale, ...]
    auxiliary_scale: Scale
    target_scale: Scale
    support: Array  # (m,)
    coefficients: Array  # (d + 1, m)
    trend: Array  # (d + 1, 2)
    auxiliary: str = "temperature"
    hold: tuple[float, float] = (-inf, inf)  # raw units
    transfer: Array | None = None  # (d, d + 1), the last column is the offset
    adapter: tuple[float, float] = (1.0, 0.0)
    interval: Interval | None = None
    sensor_type: str = "electrochemical"
    power: float = 1.0
    warming: Mapping[str, int] = field(default_factory=dict)  # channel -> memory in ms
    cadence_minutes: Mapping[str, int] = field(default_factory=dict)  # between readings, where not 1
    window_ms: int = 900_000  # the length of the windows that it was fitted to
    calibrated_ms: int | None = None  # the end of the data that it was fitted or last adapted to
    valid_until_ms: int | None = None  # from then on it is too old; None: never
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    provenance: Mapping[str, Fact] = field(default_factory=dict)
    id: str = ""

    def __post_init__(self) -> None:
        """Round arrays to float32, so that a model equals the one read back from its bundle."""
        d, m = len(self.channels), len(self.support)
        for name, shape in (("support", (m,)), ("coefficients", (d + 1, m)), ("trend", (d + 1, 2))):
            self._freeze(name, shape)
        if self.transfer is not None:
            self._freeze("transfer", (d, d + 1))
        if len(self.channel_scales) != d or d == 0:
            raise ValueError(f"{d} channels need as many scales, got {len(self.channel_scales)}")
        if self.channels != (*self.measured, *self.warming) or not self.measured:
            raise ValueError(f"warming {', '.join(self.warming)}: expected the last channels, in their order")
        for name in ("warming", "cadence_minutes", "domain", "provenance"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def _freeze(self, name: str, shape: tuple[int, ...]) -> None:
        array = np.array(getattr(self, name), dtype=np.float32).astype(np.float64)
        if array.shape != shape:
            raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
        array.flags.writeable = False
        object.__setattr__(self, name, array)

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The channels that a sensor sends."""
        return tuple(name for name in self.channels if name not in self.warming)

    # Not cached: with one attribute more, Python gives each model a dictionary of its own, of 1.5 kB.
    @property
    def _raw(self) -> tuple[Array, Array]:
        """Coefficients and trend with scaling, transfer and adapter folded in: weights on raw inputs."""
        d = len(self.channels)
        centres = np.array([scale.centre for scale in self.channel_scales])
        spreads = np.array([scale.spread for scale in self.channel_scales])
        mapping = np.eye(d, d + 1) if self.transfer is None or self.power != 1.0 else self.transfer
        fold = np.zeros((d + 1, d + 1))
        fold[:, :d] = (mapping / spreads[:, None]).T
        fold[d, :d] -= centres / spreads
        fold[d, d] = 1.0
        gain, offset = self.adapter
        fold *= gain * self.target_scale.spread
        trend = fold @ self.trend
        trend[d, 0] += gain * self.target_scale.centre + offset
        return fold @ self.coefficients, trend

    def weights(self, auxiliary: Any) -> Array:
        """The raw weights (w1, …, wd, b) at each of n temperatures: (n, d + 1)."""
        low, high = self.hold
        held = np.clip(np.asarray(auxiliary, dtype=float), low, high)
        z = (held - self.auxiliary_scale.centre) / self.auxiliary_scale.spread
        return weights_at(z, self.kernel, self.length_scale, self.support, *self._raw)

    def predict(self, inputs: Any, auxiliary: Any) -> Array:
        """The estimates for raw channels (n, d) at temperatures (n,)."""
        return weighted_sum(self.weights(auxiliary), inputs if self.power == 1.0 else self._bent(inputs))

    def explain(self, inputs: Sequence[float], auxiliary: float) -> tuple[float, list[float]]:
        """The estimate of one window and its raw weights, as by `predict` and `weights` but much faster.

        The agent asks for one window at a time, and for single numbers Python is faster than numpy.
        """
        low, high = self.hold
        z = (min(max(auxiliary, low), high) - self.auxiliary_scale.centre) / self.auxiliary_scale.spread
        coefficients, trend, support = self._for_one
        curved = coefficients.dot(shapes_at(self.kernel, z / self.length_scale, support)).tolist()
        weights = [curve + start + slope * z for curve, (start, slope) in zip(curved, trend, strict=True)]
        x = inputs if self.power == 1.0 else self._bent_one(inputs)
        return sum(map(mul, weights, x), weights[-1]), weights

    @cached_property
    def _for_one(self) -> tuple[Array, list[list[float]], Array]:
        coefficients, trend = self._raw
        return coefficients, trend.tolist(), self.support / self.length_scale

    def _bent_one(self, inputs: Sequence[float]) -> list[float]:
        mapped = inputs if self.transfer is None else self.mapped([inputs])[0].tolist()
        measured = len(self.measured)
        bent = [copysign(_power(abs(x), self.power), x) for x in mapped[:measured]]
        return [*bent, *mapped[measured:]]

    def _bent(self, inputs: Any) -> Array:
        """The channels that the weights are for: after the transfer, to the power."""
        return bend(self.mapped(inputs), self.power, len(self.measured))

    def mapped(self, inputs: Any) -> Array:
        """Channels (n, d) in the units of the fitted sensor."""
        x = np.asarray(inputs, dtype=float)
        if self.transfer is None:
            return x
        return np.asarray(x @ self.transfer[:, :-1].T + self.transfer[:, -1])

    def departures(self, inputs: Mapping[str, float]) -> dict[str, float]:
        """How far each input lies outside the training range, in widths of that range; 0 inside.

        With a transfer the channels are compared after it, in the units of the fitted sensor.
        """
        seen = dict(inputs)
        if self.transfer is not None:
            raw = np.array([inputs[name] for name in self.channels])
            seen.update(zip(self.channels, self.transfer @ np.append(raw, 1.0), strict=True))
        return {
            name: float(max(low - seen[name], seen[name] - high, 0.0) / ((high - low) or 1.0))
            for name, (low, high) in self.domain.items()
            if name in seen
        }
