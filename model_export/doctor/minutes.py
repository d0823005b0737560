"""A recording on a grid of whole minutes, and the part of it that changes within hours."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from edge_agent.core.kernel import Array
from edge_agent.core.windows import COVERAGE, MINUTE_MS
from model_export.recordings.dataset import Stamp
from model_export.recordings.recording import REFERENCE, TEMPERATURE, Recording, Series
from model_export.recordings.tables import cadence_minutes

DAY_MS = 1440 * MINUTE_MS
SLOW_MINUTES = 240  # slower changes are the day and the weather
CLIP = 5.0  # robust standard deviations; a clipped spike keeps its time and loses its weight
SILENCE = 2 * 1440  # minutes; longer than any lag of a scan
LEAST_SHARE = 0.25  # of the minutes that a running mean needs


@dataclass(frozen=True, slots=True, eq=False)
class Minutes:
    """One column for every minute, NaN where there is no value; `every` is the reference's cadence.

    A value of the reference is at the first of the `every` minutes that it averages.
    """

    every: int
    channels: Array  # (d, n)
    temperature: Array  # (n,)
    reference: Array  # (n,)

    def halves(self) -> tuple["Minutes", "Minutes"]:
        """The first and the second half of the reference's values, with the channels beside them."""
        there = np.flatnonzero(np.isfinite(self.reference))
        middle = int(there[len(there) // 2]) if len(there) else 0
        return self._part(slice(None, middle)), self._part(slice(middle, None))

    def _part(self, part: slice) -> "Minutes":
        return Minutes(self.every, self.channels[:, part], self.temperature[part], self.reference[part])


def on_minutes(recording: Recording, stamp: Stamp = "auto") -> Minutes:
    """The recording with the values of each minute averaged, and long gaps shortened."""
    series = dict(recording.series)
    every = cadence_minutes(series[REFERENCE].at_ms)
    if stamp == "end":
        earlier = series[REFERENCE].at_ms - every * MINUTE_MS
        series[REFERENCE] = Series(earlier, series[REFERENCE].values)
    seen = np.unique(np.concatenate([_minutes_of(one) for one in series.values()]))
    places = _places(seen)
    columns = {
        name: _spread(one, places[np.searchsorted(seen, one.at_ms // MINUTE_MS)], int(places[-1]) + 1)
        for name, one in series.items()
    }
    return Minutes(
        every,
        np.array([columns[name] for name in recording.channels]),
        columns[TEMPERATURE],
        columns[REFERENCE],
    )


def fast(minutes: Minutes) -> Minutes:
    """The changes within hours, clipped; they show the lag between two clocks, seasons do not.

    Channels are averaged over the minutes that the reference averages. Their linear dependence on the
    temperature is removed: it comes from the weather and not from the gas.
    """
    temperature = _quick(_ahead(minutes.temperature, minutes.every))
    channels = [_quick(_ahead(values, minutes.every)) for values in minutes.channels]
    reference = minutes.reference - slow(_repeated(minutes.reference, minutes.every))
    return Minutes(
        minutes.every,
        np.array([without(values, temperature) for values in channels]),
        temperature,
        clipped(reference),
    )


def slow(values: Array, minutes: int = SLOW_MINUTES) -> Array:
    """The running mean over so many minutes, NaN where a quarter of them or fewer have values."""
    there = np.isfinite(values)
    total = uniform_filter1d(np.where(there, values, 0.0), minutes, mode="constant")
    share = uniform_filter1d(there.astype(float), minutes, mode="constant")
    enough = share > LEAST_SHARE
    return np.where(enough, total / np.where(enough, share, 1.0), np.nan)


def clipped(values: Array) -> Array:
    """Values at most CLIP robust standard deviations from their median."""
    there = values[np.isfinite(values)]
    if not len(there):
        return values
    centre = float(np.median(there))
    spread = 1.4826 * float(np.median(np.abs(there - centre))) or float(np.std(there))
    return np.clip(values, centre - CLIP * spread, centre + CLIP * spread)


def without(values: Array, cause: Array) -> Array:
    """The residual of values on a straight line in cause, NaN where either is missing."""
    both = np.isfinite(values) & np.isfinite(cause)
    if both.sum() < 3 or np.ptp(cause[both]) == 0.0:
        return np.where(both, values, np.nan)
    slope, offset = np.polyfit(cause[both], values[both], 1)
    return np.asarray(values - (slope * cause + offset))


def _quick(values: Array) -> Array:
    return clipped(values - slow(values))


def _minutes_of(series: Series) -> NDArray[np.int64]:
    """Each minute with a value once: a sensor may send many values a minute."""
    minutes = series.at_ms // MINUTE_MS
    return np.asarray(minutes[np.diff(minutes, prepend=minutes[:1] - 1) > 0])


def _places(minutes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each sorted minute on the grid: the first at 0, and no gap longer than SILENCE.

    Without the limit, one row stamped 1970 by a clock that was never set would add half a century.

    >>> _places(np.array([5, 6, 10_000])).tolist()
    [0, 1, 2881]
    """
    return np.concatenate([[0], np.cumsum(np.minimum(np.diff(minutes), SILENCE))])


def _spread(series: Series, places: NDArray[np.int64], count: int) -> Array:
    """(count,) minutes, each the mean of its values."""
    totals = np.bincount(places, weights=series.values, minlength=count)
    counts = np.bincount(places, minlength=count)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


def _ahead(values: Array, every: int) -> Array:
    """The mean of this minute and the every - 1 after it, where three quarters of them have values."""
    if every == 1:
        return values
    there, ones = np.isfinite(values), np.ones(every)
    counts = np.convolve(there, ones)[every - 1 :]
    totals = np.convolve(np.where(there, values, 0.0), ones)[every - 1 :]
    return np.where(counts >= COVERAGE * every, totals / np.maximum(counts, 1.0), np.nan)


def _repeated(values: Array, every: int) -> Array:
    """Each value repeated for the minutes that it averages."""
    filled = values.copy()
    for minute in range(1, every):
        before = np.concatenate([np.full(minute, np.nan), values[:-minute]])
        filled = np.where(np.isfinite(filled), filled, before)
    return filled
