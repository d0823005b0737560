"""Recordings with one injected fault, for the doctor to find."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from model_export.recordings.recording import REFERENCE, TEMPERATURE, Recording, Series

MINUTE_MS = 60_000


def late(sound: Recording, minutes: int) -> Recording:
    """The reference is stamped some minutes too early, so the stamps must be moved later by as many."""
    series = sound.series[REFERENCE]
    return _with(sound, REFERENCE, Series(series.at_ms - minutes * MINUTE_MS, series.values))


def late_from(sound: Recording, minutes: int, share: float = 0.5) -> Recording:
    """The same from some share of the reference's values on: its clock was set during the recording."""
    series = sound.series[REFERENCE]
    after = np.arange(len(series.at_ms)) >= share * len(series.at_ms)
    return _with(sound, REFERENCE, _sorted(series.at_ms - minutes * MINUTE_MS * after, series.values))


def running(sound: Recording, minutes: float) -> Recording:
    """The reference's clock loses some minutes from first to last."""
    series = sound.series[REFERENCE]
    along = (series.at_ms - series.at_ms[0]) / np.ptp(series.at_ms)
    lost = np.rint(minutes * along).astype(np.int64)
    return _with(sound, REFERENCE, _sorted(series.at_ms - lost * MINUTE_MS, series.values))


def swapped(sound: Recording) -> Recording:
    """Working and auxiliary electrode in each other's column."""
    op1, op2 = sound.series["op1"], sound.series["op2"]
    return replace(sound, series={**sound.series, "op1": op2, "op2": op1})


def stuck(sound: Recording, column: str, hours: float = 6.0, times: int = 1) -> Recording:
    """The column repeats a value for some hours, some times; a single time is in the middle."""
    series = sound.series[column]
    values = series.values.copy()
    for time in range(times):
        start = series.at_ms[(2 * time + 1) * len(series.at_ms) // (2 * times)]
        during = (series.at_ms >= start) & (series.at_ms < start + hours * 60 * MINUTE_MS)
        values[during] = values[during][0]
    return _with(sound, column, Series(series.at_ms, values))


def clipped(sound: Recording, column: str, share: float = 0.02) -> Recording:
    """The column is clipped at the value that it exceeds for a share of the time."""
    series = sound.series[column]
    ceiling = np.quantile(series.values, 1.0 - share)
    return _with(sound, column, Series(series.at_ms, np.minimum(series.values, ceiling)))


def dead(sound: Recording, *columns: str, millivolts: float = 0.0, seed: int = 0) -> Recording:
    """The columns are the noise of their amplifier."""
    for place, column in enumerate(columns):
        series = sound.series[column]
        noise = np.random.default_rng([seed, place]).normal(millivolts, 0.5, len(series.values))
        sound = _with(sound, column, Series(series.at_ms, noise))
    return sound


def drifting(sound: Recording, change: float) -> Recording:
    """The reference drifts by `change` from first to last."""
    series = sound.series[REFERENCE]
    along = (series.at_ms - series.at_ms[0]) / np.ptp(series.at_ms)
    return _with(sound, REFERENCE, Series(series.at_ms, series.values + change * along))


def losing(sound: Recording, share: float) -> Recording:
    """The reference's span grows by `share` from first to last, as if the sensor lost sensitivity."""
    series = sound.series[REFERENCE]
    along = (series.at_ms - series.at_ms[0]) / np.ptp(series.at_ms)
    return _with(sound, REFERENCE, Series(series.at_ms, series.values * (1.0 + share * along)))


def first_days(sound: Recording, days: float) -> Recording:
    """The first days of the recording."""
    end = min(series.at_ms[0] for series in sound.series.values()) + days * 1440 * MINUTE_MS
    kept = {name: one.at_ms < end for name, one in sound.series.items()}
    series = {
        name: Series(one.at_ms[kept[name]], one.values[kept[name]]) for name, one in sound.series.items()
    }
    return replace(sound, series=series)


def indoors(sound: Recording, share: float = 0.2) -> Recording:
    """Temperatures with a share of their distance from 20 °C."""
    series = sound.series[TEMPERATURE]
    return _with(sound, TEMPERATURE, Series(series.at_ms, 20.0 + share * (series.values - 20.0)))


def shifted(sound: Recording, change: float) -> Recording:
    """The reference's zero shifts by `change` in the middle of the recording."""
    series = sound.series[REFERENCE]
    after = series.at_ms > series.at_ms[len(series.at_ms) // 2]
    return _with(sound, REFERENCE, Series(series.at_ms, series.values + change * after))


def _with(sound: Recording, column: str, series: Series) -> Recording:
    return replace(sound, series={**sound.series, column: series})


def _sorted(at_ms: NDArray[np.int64], values: Array) -> Series:
    """In the order of time, each time once."""
    times, places = np.unique(at_ms, return_index=True)
    return Series(times, values[places])
