"""The windows of one sensor from sorted arrays: what `edge_agent.core.windows` gives, for a month at once."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from edge_agent.core.messages import LIMIT
from edge_agent.core.quality import STUCK_READINGS
from edge_agent.core.windows import MINUTE_MS, WINDOW_MS
from model_export.archive.sums import Places, exact_sums, first_places, sizes

Times = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel in each window; all (n,)."""

    mean: Array  # NaN where there is no reading
    minutes: NDArray[np.int64]
    stuck: Mask  # all readings are equal, and there are enough of them to say so


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one sensor in the order of time, with every channel asked for."""

    length_ms: int
    start_ms: Times  # (n,)
    channels: Mapping[str, Channel]

    def __len__(self) -> int:
        return len(self.start_ms)


@dataclass(frozen=True, slots=True)
class _Runs:
    """Where windows and minutes begin among the readings of a channel."""

    start_ms: Times  # of each window
    windows: Places  # places of readings
    minutes: Places  # places of readings
    windows_of_minutes: Places  # places of minutes
    readings: Places  # in each window


def windows_of(at_ms: Times, channels: Mapping[str, Array], length_ms: int = WINDOW_MS) -> Windows:
    """The windows that have a reading.

    `at_ms` is sorted; a value that is NaN or no possible reading is none. Of several readings of a channel at
    one time the first counts.
    """
    runs = _runs(at_ms, length_ms)
    if len(runs.minutes) == len(at_ms):
        return _some(
            length_ms, runs.start_ms, {name: _regular(each, runs) for name, each in channels.items()}
        )
    averaged = {name: _average(at_ms, values, length_ms) for name, values in channels.items()}
    union = np.unique(np.concatenate([starts for starts, _ in averaged.values()]))
    return Windows(length_ms, union, {name: _placed(union, *found) for name, found in averaged.items()})


def _some(length_ms: int, start_ms: Times, channels: Mapping[str, Channel]) -> Windows:
    """The windows where a channel has a reading."""
    heard = np.logical_or.reduce([channel.minutes > 0 for channel in channels.values()])
    if heard.all():
        return Windows(length_ms, start_ms, channels)
    kept = {
        name: Channel(each.mean[heard], each.minutes[heard], each.stuck[heard])
        for name, each in channels.items()
    }
    return Windows(length_ms, start_ms[heard], kept)


def _regular(values: Array, runs: _Runs) -> Channel:
    """The windows of rows that are all in different minutes, as they mostly are."""
    usable = np.abs(values) < LIMIT  # NaN compares false
    known = values if usable.all() else np.where(usable, values, 0.0)
    minutes = np.add.reduceat(usable, runs.windows, dtype=np.int64) if known is not values else runs.readings
    with np.errstate(invalid="ignore"):  # a window without a reading has no mean
        mean = exact_sums(known, runs.windows) / minutes
    seen = values if known is values else np.where(usable, values, np.nan)
    still = np.fmin.reduceat(seen, runs.windows) == np.fmax.reduceat(seen, runs.windows)
    return Channel(mean, minutes, still & (minutes >= STUCK_READINGS))


def _average(at_ms: Times, values: Array, length_ms: int) -> tuple[Times, Channel]:
    """The windows that have a reading of this channel."""
    usable = np.abs(values) < LIMIT
    at_ms, values = _distinct(at_ms[usable], values[usable])
    runs = _runs(at_ms, length_ms)
    most = length_ms // 500  # two a second, as in the agent
    if runs.readings.max(initial=0) > most:
        kept = np.arange(len(at_ms)) - np.repeat(runs.windows, runs.readings) < most
        at_ms, values = at_ms[kept], values[kept]
        runs = _runs(at_ms, length_ms)
    means = exact_sums(values, runs.minutes) / sizes(runs.minutes, len(values))
    minutes = sizes(runs.windows_of_minutes, len(means))
    channel = Channel(exact_sums(means, runs.windows_of_minutes) / minutes, minutes, _stuck(values, runs))
    return runs.start_ms, channel


def _distinct(at_ms: Times, values: Array) -> tuple[Times, Array]:
    first = first_places(at_ms)
    return (at_ms, values) if len(first) == len(at_ms) else (at_ms[first], values[first])


def _runs(at_ms: Times, length_ms: int) -> _Runs:
    number, minute = at_ms // length_ms, at_ms // MINUTE_MS
    windows, minutes = first_places(number), first_places(minute)
    return _Runs(
        start_ms=number[windows] * length_ms,
        windows=windows,
        minutes=minutes,
        windows_of_minutes=np.searchsorted(minutes, windows),
        readings=sizes(windows, len(at_ms)),
    )


def _stuck(values: Array, runs: _Runs) -> Mask:
    """Whether a window has enough readings, and none differs from the one before it."""
    if not len(values):
        return np.zeros(0, dtype=bool)
    differs = np.empty(len(values), dtype=bool)
    differs[0], differs[1:] = False, values[1:] != values[:-1]
    differs[runs.windows] = False
    return (runs.readings >= STUCK_READINGS) & ~np.logical_or.reduceat(differs, runs.windows)


def _placed(starts: Times, own: Times, channel: Channel) -> Channel:
    """The same among the windows of all channels."""
    if len(own) == len(starts):
        return channel
    where = np.searchsorted(starts, own)
    mean, minutes = np.full(len(starts), np.nan), np.zeros(len(starts), dtype=np.int64)
    stuck = np.zeros(len(starts), dtype=bool)
    mean[where], minutes[where], stuck[where] = channel.mean, channel.minutes, channel.stuck
    return Channel(mean, minutes, stuck)
