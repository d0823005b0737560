"""One value for several sensors in the same air: robust, weighted by precision, with an interval.

The start is the plain median, which holds as long as fewer than half of the sensors are wrong. Then each
sensor is weighted by Tukey's biweight of its distance from the centre, and by its precision:

    wᵢ = (1 - (zᵢ/REACH)²)² / σᵢ²,   zᵢ = |xᵢ - centre| / √(σᵢ² + σ²(centre)),   0 beyond REACH

σ comes from the sensors' own intervals. No sensor has more than FAVOUR times the usual precision, so that a
sensor with a wrong, narrow interval cannot decide alone. A sensor that has no interval, because it is a
little outside its training, counts like the median of the others. It is about as good as they are: all
sensors leave their training in the same weather. And without it a liar would have a larger share.

The errors of sensors in one van are not independent: they share weather and reference. The part of the
promised error that is not seen as differences between the sensors is common. Averaging does not reduce it:

    var = common + own·Σwᵢ²,   common = max(σ² - own, 0)

`own` is the variance between the sensors of this window, drawn towards its usual share by PRIOR degrees of
freedom, because a few sensors show little of it. The variance is never less than what is seen.
"""

from functools import lru_cache
from math import erf, sqrt
from typing import NamedTuple

import numpy as np

from edge_agent.core.kernel import Array
from edge_agent.core.robust import NORMAL, medians

FEWEST = 2  # sensors
REACH = 4.0  # standard deviations, beyond which a sensor does not count
FAVOUR = 4.0
ROUNDS = 3
OWN_SHARE = 0.7  # of the error variance of a sensor, usually
PRIOR = 8.0
LEAST = 1e-60  # for an interval without a width; squares and their inverses stay finite


class Combined(NamedTuple):
    """The consensus of m windows; NaN where fewer than FEWEST sensors have a value."""

    value: Array  # (m,)
    half_width: Array  # (m,), at the level of the sensors' intervals
    weights: Array  # (m, n), with the sum 1; 0 for a sensor that is missing or too far away
    spread: Array  # (m,), the standard deviation between the sensors


def combine(values: Array, half_widths: Array, level: float = 0.9) -> Combined:
    """The consensus of values (m, n) with the half-widths (m, n) of their intervals; NaN is missing.

    A value without a half-width counts if FEWEST others have one, see `assumed`.

    >>> found = combine(np.array([[0.80, 0.84, 0.86, 3.0]]), np.full((1, 4), 0.1))
    >>> round(float(found.value[0]), 2), found.weights.round(2).tolist()
    (0.83, [[0.33, 0.34, 0.33, 0.0]])
    """
    quantile, half_widths = normal_quantile(level), assumed(values, half_widths)
    missing = np.isnan(values) | np.isnan(half_widths)
    x = np.where(missing, np.nan, values)
    sigma = np.where(missing, np.nan, np.maximum(half_widths / quantile, LEAST))
    count = np.sum(~missing, axis=1)
    usual = medians(sigma)
    sigma = np.maximum(sigma, usual[:, None] / np.sqrt(FAVOUR))
    weights = _weights(x, sigma, usual, count)
    value = np.sum(weights * np.where(missing, 0.0, x), axis=1)
    enough = count >= FEWEST
    variance, spread = _variance(x, sigma, weights, value)
    return Combined(
        np.where(enough, value, np.nan),
        np.where(enough, quantile * np.sqrt(variance), np.nan),
        np.where(enough[:, None], weights, 0.0),
        np.where(enough, spread, np.nan),
    )


def assumed(values: Array, half_widths: Array) -> Array:
    """The half-widths (m, n), with their median for values that have none, if FEWEST others have one.

    >>> assumed(np.ones((1, 4)), np.array([[0.1, np.nan, 0.3, 0.4]])).tolist()
    [[0.1, 0.3, 0.3, 0.4]]
    """
    known = np.where(np.isnan(values), np.nan, half_widths)
    enough = np.sum(~np.isnan(known), axis=1) >= FEWEST
    usual = np.where(enough, medians(known), np.nan)[:, None]
    return np.where(np.isnan(known) & ~np.isnan(values), usual, known)


@lru_cache
def normal_quantile(level: float) -> float:
    """How many standard deviations to each side contain this share of normal values.

    >>> round(normal_quantile(0.9), 4)
    1.6449
    """
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if erf(middle / sqrt(2.0)) < level else (low, middle)
    return low


def _weights(x: Array, sigma: Array, usual: Array, count: Array) -> Array:
    """The share of each sensor; where no sensor is within reach of the centre, all have the same."""
    centre = medians(x)
    # Where even the middle half of the sensors is wider apart than promised, the promise is not believed.
    apart = NORMAL * medians(np.abs(x - centre[:, None])) / (2.0 * usual)
    with np.errstate(invalid="ignore"):
        wide = np.maximum(apart, 1.0)[:, None] ** 2
        of_centre = (np.pi / 2.0 * usual**2 / np.maximum(count, 1))[:, None]
        scale = np.sqrt(wide * (sigma**2 + of_centre))
        for _ in range(ROUNDS):
            far = np.minimum(np.abs(x - centre[:, None]) / (REACH * scale), 1.0)
            weights = np.nan_to_num((1.0 - far**2) ** 2 / sigma**2)
            total = weights.sum(axis=1, keepdims=True)
            equal = ~np.isnan(x) / np.maximum(count, 1)[:, None]
            weights = np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), equal)
            centre = np.sum(weights * np.nan_to_num(x), axis=1)
    return np.asarray(weights)


def _variance(x: Array, sigma: Array, weights: Array, value: Array) -> tuple[Array, Array]:
    """The variance of the consensus, and the standard deviation between the sensors that count."""
    squares = np.sum(weights**2, axis=1)
    promised = np.sum(weights * np.nan_to_num(sigma) ** 2, axis=1)
    between = np.sum(weights * np.nan_to_num(x - value[:, None]) ** 2, axis=1)
    between /= np.maximum(1.0 - squares, 1e-9)
    freedom = np.maximum(1.0 / np.maximum(squares, 1e-9) - 1.0, 0.0)
    own = (PRIOR * OWN_SHARE * promised + freedom * between) / (PRIOR + freedom)
    common = np.maximum(promised - own, 0.0)
    return np.maximum(common + own * squares, between * squares), np.sqrt(between)
