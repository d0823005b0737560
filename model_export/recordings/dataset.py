"""Windows of one sensor beside the reference, with the numbers and the coverage rule of the agent."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import fsum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.coverage import expected_minutes, needed_minutes
from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.messages import format_time
from edge_agent.core.warming import DIGITS, PREFIX, weights
from edge_agent.core.windows import MINUTE_MS, WINDOW_MS
from model_export.recordings.columns import plain_unit
from model_export.recordings.recording import REFERENCE, TEMPERATURE, Recording, Series
from model_export.recordings.stamps import LONGEST_MS
from model_export.recordings.tables import cadence_minutes
from model_export.regression.metrics import varies

MIN_WINDOWS = 50
AT_ONCE = 4096  # runs whose values are numbers of Python, which take four times the memory
MOST_PER_MS = 500  # a reading of one channel, on average in a window: as the agent takes them

Stamp = Literal["auto", "average", "start", "end"]
SensorType = Literal["electrochemical", "metal-oxide"]
Index = slice | NDArray[np.bool_] | NDArray[np.intp]  # of some windows
_Means = dict[str, dict[int, float]]  # column -> {window start: mean}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Windows where every channel and the reference, if it is read, are valid, in the order of time."""

    name: str
    sensor: str
    channels: tuple[str, ...]
    unit: str
    start_ms: NDArray[np.int64]  # (n,)
    inputs: Array  # (n, d)
    auxiliary: Array  # (n,)
    target: Array  # (n,), NaN where no reference is read
    window_ms: int = WINDOW_MS
    temperatures: Mapping[int, float] = field(default_factory=dict)  # of every window that has one, by start
    warming: Mapping[str, int] = field(default_factory=dict)  # derived channels: memory in ms
    cadence_minutes: Mapping[str, int] = field(default_factory=dict)  # between readings, where not 1
    dropped_rows: Mapping[str, int] = field(default_factory=dict)  # reason -> values or rows
    dropped_windows: Mapping[str, int] = field(default_factory=dict)  # reason -> windows, one reason each
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.start_ms)

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """What a fit takes: inputs, auxiliary and target."""
        return self.inputs, self.auxiliary, self.target

    def part(self, index: Index) -> "Dataset":
        """Some of the windows."""
        return replace(
            self,
            start_ms=self.start_ms[index],
            inputs=self.inputs[index],
            auxiliary=self.auxiliary[index],
            target=self.target[index],
        )

    def warmed(self, memories_ms: Mapping[str, int]) -> "Dataset":
        """The same with one more channel per memory: see `warmings`."""
        new = {name: memory_ms for name, memory_ms in memories_ms.items() if name not in self.warming}
        if not new:
            return self
        own = dict(zip(self.start_ms.tolist(), self.auxiliary.tolist(), strict=True))
        columns = warmings(own, {**self.temperatures, **own}, new.values(), self.window_ms)
        return replace(
            self,
            channels=(*self.channels, *new),
            inputs=np.column_stack([self.inputs, columns]),
            warming={**self.warming, **new},
        )


def _require_measured(recording: Recording) -> None:
    """Refuse a channel with the name of a derived one."""
    if taken := [name for name in recording.channels if name.startswith(PREFIX)]:
        raise BadRecording(
            f"{recording.name}: {taken[0]}: expected another name for a channel, {PREFIX}… is derived from "
            "temperature; rename it with --columns"
        )


def windows(
    recording: Recording, unit: str, reference: Stamp | None = "auto", window_ms: int = WINDOW_MS
) -> Dataset:
    """Means of the channels, the temperature and the reference, where the agent's coverage rule holds.

    The reference is averaged like the channels ("average"). Or it is used as recorded, if it has one value
    per window, stamped with the "start" or the "end" of the window. "auto" chooses "start" for a reference
    with one value per window, otherwise "average". With None there is no reference.
    """
    _require_measured(recording)
    require_unit(recording, unit)
    cadence = {column: cadence_minutes(series.at_ms) for column, series in recording.series.items()}
    if reference == "auto":
        reference = "start" if cadence[REFERENCE] == window_ms // MINUTE_MS else "average"
    d, columns = len(recording.channels), (*recording.channels, TEMPERATURE)
    averaged = {column: cadence[column] for column in columns}
    if reference == "average":
        averaged[REFERENCE] = cadence[REFERENCE]
    seen, means = _means(recording, averaged, window_ms)
    if reference in ("start", "end"):
        series, shift_ms = recording.series[REFERENCE], int(reference == "end")
        means[REFERENCE] = _as_recorded(series, shift_ms, window_ms)
    if reference is not None:
        _require_overlap(recording, columns, means)
        columns = (*columns, REFERENCE)
    starts, dropped = _complete(seen.union(*means.values()), columns, means)
    rows = [[means[column][start] for column in columns] for start in starts]
    table = np.array(rows, dtype=float).reshape(len(starts), len(columns))
    slow = {column: minutes for column, minutes in cadence.items() if minutes > 1}
    return Dataset(
        name=recording.name,
        sensor=recording.sensor,
        channels=recording.channels,
        unit=unit,
        start_ms=np.array(starts, dtype=np.int64),
        inputs=table[:, :d],
        auxiliary=table[:, d],
        target=table[:, d + 1] if reference is not None else np.full(len(starts), np.nan),
        window_ms=window_ms,
        temperatures=means[TEMPERATURE],
        cadence_minutes={column: minutes for column, minutes in slow.items() if column != REFERENCE},
        dropped_rows=recording.dropped,
        dropped_windows=dropped,
        notes=(*recording.notes, *_cadence_notes(recording.name, slow, averaged, window_ms)),
    )


def require_unit(recording: Recording, unit: str) -> None:
    """Refuse a reference whose header has another unit; no unit fits all."""
    if recording.unit and unit and plain_unit(unit) != recording.unit:
        raise BadRecording(
            f"{recording.name}: {REFERENCE}: expected {unit}, got {recording.unit} in its header; "
            f"use --unit {recording.unit} or convert the column"
        )


def warmings(
    starts_ms: Iterable[int],
    temperatures: Mapping[int, float],
    memories_ms: Iterable[int],
    window_ms: int = WINDOW_MS,
) -> Array:
    """`edge_agent.core.warming` for all windows at once, the same bits: (n, memories).

    `temperatures` are those of every window that has one, by start.
    """
    starts = np.array(sorted(temperatures), dtype=np.int64)
    known = np.array([temperatures[start] for start in starts.tolist()])
    rounded = np.array([round(temperature, DIGITS) for temperature in known.tolist()])
    asked = np.searchsorted(starts, np.fromiter(starts_ms, dtype=np.int64))
    found = [_warming(starts, known, rounded, memory_ms, window_ms)[asked] for memory_ms in memories_ms]
    return np.column_stack([np.empty((len(asked), 0)), *found])


def split(dataset: Dataset, test_share: float = 0.2) -> tuple[Dataset, Dataset]:
    """The first windows to fit to and the last to test on, so that no model knows the future."""
    boundary = len(dataset) - round(len(dataset) * test_share)
    return dataset.part(slice(boundary)), dataset.part(slice(boundary, None))


def require_windows(dataset: Dataset, at_least: int) -> None:
    """Refuse a dataset with too few windows; the message says why windows were dropped."""
    if len(dataset) < at_least:
        reasons = ", ".join(f"{count} {reason}" for reason, count in dataset.dropped_windows.items())
        raise BadRecording(
            f"{dataset.name}: expected at least {at_least} windows with all columns valid, "
            f"got {len(dataset)} (dropped: {reasons or 'none'}); add a longer recording"
        )


def require_trainable(dataset: Dataset) -> None:
    """Refuse a dataset that no model can be fitted to: too few windows, or a column that never changes."""
    require_windows(dataset, MIN_WINDOWS)
    channels = zip(dataset.channels, dataset.inputs.T, strict=True)
    for name, values in (*channels, (TEMPERATURE, dataset.auxiliary), (REFERENCE, dataset.target)):
        if not varies(values):
            raise BadRecording(
                f"{dataset.name}: {name}: expected values that vary, got {values[0]:g} in all "
                f"{len(dataset)} windows; check the sensor or map another column with --columns"
            )


def _means(recording: Recording, cadence: Mapping[str, int], window_ms: int) -> tuple[set[int], _Means]:
    """The starts of all windows, and the mean of each column where it has enough minutes."""
    for column, minutes in cadence.items():
        if minutes * MINUTE_MS > window_ms:
            raise BadRecording(
                f"{recording.name}: {column}: expected a value at least every {window_ms // MINUTE_MS} "
                f"minutes, got one every {minutes}; {_longer_windows(minutes)}"
            )
    seen: set[int] = set()
    means: _Means = {}
    for column, minutes in cadence.items():
        starts, present, averages = _averages(recording.series[column], window_ms)
        seen.update(starts.tolist())
        enough = present >= needed_minutes(window_ms, minutes)
        means[column] = dict(zip(starts[enough].tolist(), averages[enough].tolist(), strict=True))
    return seen, means


def _longer_windows(minutes: int) -> str:
    """The shortest windows in whole hours that such a recording fits."""
    if minutes > LONGEST_MS // MINUTE_MS:
        return "use a recording with shorter averages"
    return f"use --window {minutes}min" if minutes % 60 else f"use --window {minutes // 60}h"


def _averages(series: Series, window_ms: int) -> tuple[NDArray[np.int64], NDArray[np.intp], Array]:
    """Starts, minutes and means of the windows of a series, the same bits as those of the agent's windows."""
    minutes, values = _first_in_windows(series, window_ms)
    starts = _runs(minutes)
    windows = minutes[starts] * MINUTE_MS // window_ms
    first = _runs(windows)
    averages = _run_means(_run_means(values, starts), first)
    return windows[first] * window_ms, np.diff(first, append=len(windows)), averages


def _first_in_windows(series: Series, window_ms: int) -> tuple[NDArray[np.int64], Array]:
    """Minutes and values, as many of each window as the agent takes; millions of values are not copied."""
    places, most = _runs(series.at_ms // window_ms), window_ms // MOST_PER_MS
    sizes = np.diff(places, append=len(series.at_ms))
    if not (sizes > most).any():
        return series.at_ms // MINUTE_MS, series.values
    kept = np.arange(len(series.at_ms)) - np.repeat(places, sizes) < most
    return series.at_ms[kept] // MINUTE_MS, series.values[kept]


def _runs(keys: NDArray[np.int64]) -> NDArray[np.intp]:
    """The places where runs of equal keys begin."""
    return np.flatnonzero(np.concatenate((np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1])))


def _run_means(values: Array, starts: NDArray[np.intp]) -> Array:
    """The mean of each run, added up exactly as in `edge_agent.core.windows.average`."""
    if len(starts) == len(values):
        return values
    means: list[float] = []
    for place in range(0, len(starts), AT_ONCE):
        bounds = [*starts[place : place + AT_ONCE + 1].tolist(), len(values)][: AT_ONCE + 1]
        listed = values[bounds[0] : bounds[-1]].tolist()
        runs = pairwise(bound - bounds[0] for bound in bounds)
        means += [fsum(listed[first:after]) / (after - first) for first, after in runs]
    return np.array(means)


def _as_recorded(series: Series, shift_ms: int, window_ms: int) -> dict[int, float]:
    """{window start: value}; shifted by 1 ms, a stamp at the end of a window falls into that window."""
    at_ms = series.at_ms - shift_ms
    starts, first = np.unique(at_ms - at_ms % window_ms, return_index=True)
    return dict(zip(starts.tolist(), series.values[first].tolist(), strict=True))


def _complete(seen: set[int], columns: Sequence[str], means: _Means) -> tuple[list[int], dict[str, int]]:
    """The windows with all columns, and how many are dropped for which column."""
    starts, dropped = [], Counter[str]()
    for start in sorted(seen):
        fault = next((column for column in columns if start not in means[column]), None)
        if fault is None:
            starts.append(start)
        else:
            dropped[f"{fault} below coverage"] += 1
    return starts, dict(dropped)


def _require_overlap(recording: Recording, columns: Sequence[str], means: _Means) -> None:
    sensor, reference = set.intersection(*(set(means[column]) for column in columns)), {*means[REFERENCE]}
    if sensor and reference and not sensor & reference:
        there, here = (
            f"{format_time(min(each))} to {format_time(max(each))}" for each in (sensor, reference)
        )
        raise BadRecording(
            f"{recording.name}: expected sensor and reference at the same time, got the sensor {there} "
            f"and the reference {here}; check --timezone"
        )


def _cadence_notes(
    name: str, slow: Mapping[str, int], averaged: Container[str], window_ms: int
) -> Iterator[str]:
    """One line for the columns of each slow cadence."""
    alike: dict[tuple[int, bool], list[str]] = {}
    for column, minutes in slow.items():
        alike.setdefault((minutes, column in averaged), []).append(column)
    for (minutes, counted), columns in alike.items():
        needed, expected = needed_minutes(window_ms, minutes), expected_minutes(window_ms, minutes)
        use = f"a window needs {needed} of {expected}" if counted else "used as it is"
        yield f"{name}: {', '.join(columns)}: one value per {minutes} min; {use}"


def _warming(
    starts: NDArray[np.int64], known: Array, rounded: Array, memory_ms: int, window_ms: int
) -> Array:
    """Added up in the agent's order; for a window without a temperature the next known one counts."""
    total = np.zeros(len(starts))
    for age, weight in enumerate(weights(window_ms, memory_ms), 1):
        next_known = np.searchsorted(starts, starts - age * window_ms)
        then = rounded[next_known]
        before = next_known < np.arange(len(starts))
        total += np.where(before, weight * (known - then), 0.0)
    return total
