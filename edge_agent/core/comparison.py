"""A sensor compared with the others of its van, day by day: how far apart, how strongly, how closely."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.consensus import assumed, combine
from edge_agent.core.kernel import Array
from edge_agent.core.suspicions import HOUR_MS
from edge_agent.core.windows import WINDOW_MS

FEWEST_HOURS = 6  # of a day
FEWEST_WINDOWS = 6  # of a day; the R² of fewer says nothing
BIN_C = 5.0  # differences between calibrations depend on the temperature
PAIRS = 20_000  # of windows, at most about so many
MOST_OTHERS = 16  # more would hardly make a better consensus
LESS = 0.5  # of the R² of the best sensor: below it a sensor follows something else


class Day(NamedTuple):
    """One day of one sensor beside the consensus of the others."""

    day: int  # since 1970
    windows: int
    others: int  # sensors in that consensus
    offset: float  # median difference
    gain: float  # change of this sensor for each change of the others
    follows: float  # R² of the two
    best: float  # the highest of any sensor of this day
    level: float  # median of the others
    swing: float  # their standard deviation
    half_width: float  # median of this sensor's interval, or else of the others'; 0 if nobody has one
    bins: Mapping[int, tuple[float, int]]  # temperature -> median difference, windows


class Windows(NamedTuple):
    """The k windows of a day, of n sensors; NaN is missing."""

    values: Array  # (k, n)
    half_widths: Array  # (k, n)
    temperatures: Array  # (k, n)


def without(own: int, values: Array, half_widths: Array, trusted: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The consensus of all sensors but one, and how many they are, (k,) each; a single one is taken as it is.

    Sensors that are not trusted do not count, unless fewer than two are left.
    """
    rest = np.arange(values.shape[1]) != own
    others = np.flatnonzero(rest & trusted if (rest & trusted).sum() >= 2 else rest)
    if len(others) > MOST_OTHERS:
        others = others[np.linspace(0, len(others) - 1, MOST_OTHERS).astype(int)]
    x, h = values[:, others], assumed(values[:, others], half_widths[:, others])
    known = ~np.isnan(x + h)
    count = known.sum(axis=1)
    single = np.where(count == 1, np.where(known, x, 0.0).sum(axis=1), np.nan)
    return np.where(count > 1, combine(x, h).value, single) if len(others) > 1 else single, count


def compare(
    day: int, own: int, windows: Windows, trusted: NDArray[np.bool_], length_ms: int = WINDOW_MS
) -> Day | None:
    """What a day shows of one sensor beside the others; None if it is too little."""
    others, count = without(own, windows.values, windows.half_widths, trusted)
    values, half_widths, temperatures = (each[:, own] for each in windows)
    made = day_of(day, values, half_widths, temperatures, others, count, length_ms)
    if made is None or made.half_width:
        return made
    return made._replace(half_width=_of_others(own, windows.half_widths))


def _of_others(own: int, half_widths: Array) -> float:
    """The median half-width of the other sensors; 0 if they have no interval either."""
    known = np.delete(half_widths, own, axis=1)
    known = known[~np.isnan(known)]
    return float(np.median(known)) if known.size else 0.0


def with_best(found: Sequence[Day | None]) -> list[Day | None]:
    """The same, with the highest R² of the day in each."""
    best = max((each.follows for each in found if each), default=0.0)
    return [each and each._replace(best=best) for each in found]


def day_of(
    day: int,
    x: Array,
    half: Array,
    temperature: Array,
    others: Array,
    count: Array,
    length_ms: int = WINDOW_MS,
) -> Day | None:
    """What the windows of a day, all (k,), show of one sensor; None if it is too little."""
    known = ~np.isnan(x + others + temperature)
    inside = known & ~np.isnan(half)
    # A sensor that is outside its training all day is compared all the same.
    needed = max(_windows_in(FEWEST_HOURS, length_ms), FEWEST_WINDOWS)
    used = inside if inside.sum() >= needed else known
    if used.sum() < needed:
        return None
    x, c, apart = x[used], others[used], x[used] - others[used]
    swing = float(np.std(c))
    width = float(np.median(half[inside])) if inside.any() else 0.0
    return Day(
        day,
        len(x),
        int(np.median(count[used])),
        float(np.median(apart)),
        _slope(c, x) if swing > 0.0 else 1.0,
        _r2(x, c),
        0.0,
        float(np.median(c)),
        swing,
        width,
        _by_temperature(temperature[used], apart, _windows_in(1, length_ms)),
    )


def _windows_in(hours: int, length_ms: int) -> int:
    """How many windows it takes to fill so many hours."""
    return -(-hours * HOUR_MS // length_ms)


def _by_temperature(temperature: Array, apart: Array, fewest: int) -> dict[int, tuple[float, int]]:
    bins = np.floor(temperature / BIN_C).astype(int)
    return {
        int(each): (float(np.median(apart[bins == each])), int(count))
        for each, count in zip(*np.unique(bins, return_counts=True), strict=True)
        if count >= fewest
    }


def _slope(x: Array, y: Array) -> float:
    """The median of the slopes between two windows (Theil and Sen), of pairs that are well apart.

    Of more than 200 windows, it takes pairs with some of the distances in time, not all of them.

    >>> _slope(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([0.0, 0.5, 1.0, 9.0, 2.0]))
    0.5
    """
    lags = np.arange(1, len(x), -(-(len(x) ** 2) // (2 * PAIRS)))
    first = np.concatenate([np.arange(len(x) - lag) for lag in lags])
    second = first + np.repeat(lags, len(x) - lags)
    run, rise = x[second] - x[first], y[second] - y[first]
    wide = np.abs(run) > np.quantile(np.abs(run), 0.3)
    return float(np.median(rise[wide] / run[wide])) if wide.any() else 1.0


def _r2(x: Array, y: Array) -> float:
    """The square of the correlation; 0 where one of them does not change, or falls when the other rises."""
    spread = float(np.std(x) * np.std(y))
    return max(0.0, float(np.mean((x - x.mean()) * (y - y.mean()))) / spread) ** 2 if spread > 0.0 else 0.0
