"""Intervals that cover at a stated level, from residuals of windows that a model was not fitted to.

**Which residuals.** A calibration serves days, temperatures and concentrations that it did not see. So the
train part is cut four times: into stretches of time, of temperature, of the first channel and of the
reference. Each stretch is estimated by a model that was fitted to the rest. Once more it is cut into
quarters of time, each estimated from those before.

**How they become an interval.** |residual| grows with the estimate ŷ: its line is b0 + b1·max(ŷ - y0, 0). The
quantile of |residual| over that line gives the factor; every day counts the same, however many windows it
has. Each kind of stretch has its own quantile, and the largest counts. Windows of a day are alike, so few
days are few observations: the factor is that of Student's t instead of a normal distribution, with as many
observations as are independent.

**Of what.** A residual contains the noise of the reference, too. So this is the interval of what such a
reference would read. If the standard deviation τ of its noise is known, the interval of the true value is
narrower: √(h² - (q·τ)²) for a half-width h at the quantile q.

`conformal` is the simpler way for a single number: if a fresh residual is exchangeable with n others, the
⌈(n + 1)·level⌉-th smallest covers it with probability `level`, for any model and any noise.

No method gives coverage where conditions are unlike the recording: another season, site or sensor.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit  # scipy.stats takes a second to import

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.model import Interval, Model
from model_export.recordings.dataset import Dataset, Index
from model_export.recordings.recording import REFERENCE

LEVEL = 0.9
LATER = "later"  # windows estimated from those before them
STRETCHES = 4
IN_TIME, IN_VALUE = 5, 4  # stretches
DAY_MS = 86_400_000
LOWEST = 0.05  # quantile of the estimates below which the width stays constant
FLOOR = 0.75  # of the mean width: what is left of it at the lowest estimates
NARROWEST = 0.5  # of a half-width is left, whatever is said of the reference's noise

Estimate = Callable[[Dataset, Dataset], Array]  # fits the first dataset, estimates the second


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Windows that were left out, with the estimates of models that did not see them."""

    residual: Array  # (n,)
    estimate: Array
    day: NDArray[np.int64]


def conformal(residuals: Array, level: float = LEVEL) -> Interval:
    """The interval whose half-width is the ⌈(n + 1)·level⌉-th smallest absolute residual.

    >>> conformal(np.arange(1.0, 20.0), level=0.9)
    Interval(half_width=18.0, level=0.9, slope=0.0, origin=0.0)
    """
    rank = ceil(round((len(residuals) + 1) * level, 9))  # 0.7·10 is 7, not 7.000000000000001
    if rank > len(residuals):
        raise BadRecording(
            f"interval: expected at least {ceil(round(level / (1.0 - level), 9))} held-out windows "
            f"for level {level:g}, got {len(residuals)}; add a longer recording"
        )
    return Interval(float(np.sort(np.abs(residuals))[rank - 1]), level)


def forward_conformal(dataset: Dataset, estimate: Estimate, level: float = LEVEL) -> Interval:
    """The interval from residuals of stretches of time, each estimated from those before it."""
    return conformal(_later(dataset, estimate).residual, level)


def leave_out(dataset: Dataset, estimate: Estimate) -> dict[str, Held]:
    """The windows of every stretch, estimated from the others, by what the stretches are of."""
    orders = {
        "time": (dataset.start_ms, IN_TIME),
        dataset.channels[0]: (dataset.inputs[:, 0], IN_VALUE),
        "temperature": (dataset.auxiliary, IN_VALUE),
        REFERENCE: (dataset.target, IN_VALUE),
    }
    found = {name: _stretches(dataset, estimate, *order) for name, order in orders.items()}
    return {**found, LATER: _later(dataset, estimate)}


def measured(parts: Mapping[str, Held], level: float = LEVEL) -> Interval:
    """The interval that covers the windows of every kind of stretch that was left out."""
    held = _together(parts.values())
    size = np.abs(held.residual)
    origin = float(np.quantile(held.estimate, LOWEST))
    above = np.maximum(held.estimate - origin, 0.0)
    base, slope = _line(above, size)
    relative = held.residual / np.maximum(base + slope * above, 1e-12 * max(float(size.max()), 1e-300))
    factor = _widest(parts, np.abs(relative), held.day, level) * _few_days(relative, held.day, level)
    return Interval(factor * base, level, factor * slope, origin)


def without_noise(interval: Interval, noise: float, typical: float) -> Interval:
    """The interval of the true value, from that of a reference with the standard deviation `noise`.

    It is exact at the lowest estimates and at the `typical` one, and a little too wide above.

    >>> without_noise(Interval(0.1, 0.9), 0.05, 1.0).half_width.__round__(4)
    0.0569
    """
    away = max(typical - interval.origin, 0.0)
    square = (float(ndtri(0.5 + interval.level / 2.0)) * noise) ** 2
    widths = (interval.half_width, interval.half_width + interval.slope * away)
    low, middle = (sqrt(max(width**2 - square, (NARROWEST * width) ** 2)) for width in widths)
    return replace(interval, half_width=low, slope=(middle - low) / away if away else 0.0)


def _widest(parts: Mapping[str, Held], values: Array, day: NDArray[np.int64], level: float) -> float:
    """The largest quantile of a kind of stretch, or of all windows together.

    Stretches of the reference count only in the latter: chosen by the value itself, they have the largest
    errors also where nothing is wrong.
    """
    ends = np.cumsum([len(part.residual) for part in parts.values()])[:-1]
    kinds = zip(parts, np.split(values, ends), np.split(day, ends), strict=True)
    each = [_quantile(own, days, level) for name, own, days in kinds if name != REFERENCE]
    return max(*each, _quantile(values, day, level))


def _together(parts: Iterable[Held]) -> Held:
    """All of them as one."""
    fields = ((part.residual, part.estimate, part.day) for part in parts)
    return Held(*(np.concatenate(column) for column in zip(*fields, strict=True)))


def coverage(held: Held, interval: Interval) -> float:
    """The share of the windows inside the interval."""
    return float(np.mean(np.abs(held.residual) <= interval.half_widths(held.estimate)))


def _later(dataset: Dataset, estimate: Estimate) -> Held:
    """Each quarter of the time but the first, estimated from what came before."""
    bounds = np.linspace(0, len(dataset), STRETCHES + 1).round().astype(int).tolist()
    quarters = pairwise(bounds[1:])
    return _together(_held(dataset, estimate, slice(start), slice(start, end)) for start, end in quarters)


def _stretches(dataset: Dataset, estimate: Estimate, values: NDArray[Any], count: int) -> Held:
    """Each of `count` stretches of the values, estimated from all others."""
    stretches = np.array_split(np.argsort(values, kind="stable"), count)
    left = [np.isin(np.arange(len(dataset)), stretch) for stretch in stretches]
    return _together(_held(dataset, estimate, ~each, each) for each in left)


def _held(dataset: Dataset, estimate: Estimate, kept: Index, left: Index) -> Held:
    held = dataset.part(left)
    there = estimate(dataset.part(kept), held)
    return Held(held.target - there, there, held.start_ms // DAY_MS)


def _line(above: Array, size: Array) -> tuple[float, float]:
    """Base and slope of |residual| by least squares; the slope is not negative, nor the base near zero."""
    centred, mean = above - above.mean(), float(size.mean())
    spread = float(centred @ centred)
    slope = max(float(centred @ size) / spread, 0.0) if spread > 0.0 else 0.0
    base = mean - slope * float(above.mean())
    if base >= FLOOR * mean:
        return base, slope
    return FLOOR * mean, (1.0 - FLOOR) * mean / float(above.mean())


def _quantile(values: Array, day: NDArray[np.int64], level: float) -> float:
    """The quantile of values in which every day has the same weight."""
    _, of, counts = np.unique(day, return_inverse=True, return_counts=True)
    order = np.argsort(values)
    weight = np.cumsum(1.0 / counts[of][order])
    return float(values[order][np.searchsorted(weight, level * weight[-1])])


def _few_days(relative: Array, day: NDArray[np.int64], level: float) -> float:
    """Student's t over the normal quantile, for the number of observations that are independent.

    That is n / (1 + (m - 1)·ρ) for m windows a day whose residuals have the correlation ρ, which comes from
    the variances between and within days.
    """
    _, of, counts = np.unique(day, return_inverse=True, return_counts=True)
    n, days = len(relative), len(counts)
    means = np.bincount(of, relative) / counts
    between = float(counts @ (means - relative.mean()) ** 2) / max(days - 1, 1)
    within = float(np.sum((relative - means[of]) ** 2)) / max(n - days, 1)
    spread = between + (n / days - 1.0) * within
    alike = min(max((between - within) / spread, 0.0), 1.0) if days > 1 and spread > 0.0 else 1.0
    freedom = max(n / (1.0 + (n / days - 1.0) * alike) - 1.0, 2.0)
    both = 0.5 + level / 2.0
    return float(stdtrit(freedom, both) / ndtri(both))


def half_widths(model: Model, dataset: Dataset, estimate: Array) -> Array:
    """The half-width of each estimate, NaN where no interval is promised, (n,)."""
    if model.interval is None:
        return np.full(len(dataset), np.nan)
    return np.where(inside(model, dataset), model.interval.half_widths(estimate), np.nan)


def inside(model: Model, dataset: Dataset) -> NDArray[np.bool_]:
    """Whether all inputs of a window are in the range of the training data, (n,)."""
    seen = dataset.inputs if model.transfer is None else model.mapped(dataset.inputs)
    within = np.ones(len(dataset), dtype=bool)
    for name, values in zip((*model.channels, model.auxiliary), (*seen.T, dataset.auxiliary), strict=True):
        low, high = model.domain.get(name, (-inf, inf))
        within &= (values >= low) & (values <= high)
    return within
