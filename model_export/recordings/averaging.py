"""15-minute means of a recording, by the agent's own windows and its rule of coverage."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.messages import Reading, format_time
from edge_agent.core.windows import MINUTE_MS, WINDOW_MS, Window, Windows
from model_export.recordings.tables import REFERENCE, TEMPERATURE, Recording, Series

Stamp = Literal["auto", "average", "start", "end"]

WINDOW_MINUTES = WINDOW_MS // MINUTE_MS
CAPTURE = 0.75  # of the minutes, the rule of EU 2008/50/EC and US EPA, as on the edge

_Means = dict[str, dict[int, float]]  # column -> {window start: mean}


@dataclass(frozen=True, slots=True)
class Averages:
    """The windows where every column is valid, and why the others are not here."""

    columns: tuple[str, ...]
    starts_ms: list[int]
    table: Array  # (windows, columns)
    temperatures: Mapping[int, float]  # of every window that has one, by its start
    dropped: Mapping[str, int]  # reason -> windows, each counted under its first fault
    notes: tuple[str, ...]


def average(recording: Recording, reference: Stamp | None = "auto") -> Averages:
    """Means of the channels, the temperature and the reference, kept where 75 % of the minutes are there.

    A column is expected every minute, or as often as it mostly comes. The reference is averaged alike
    ("average"), or where it comes once a window taken as it comes: stamped with the "start" or the "end"
    of the time it stands for. "auto" is one of the first two, by how often it comes. With None there is none.
    """
    every = {column: cadence_minutes(series) for column, series in recording.series.items()}
    if reference == "auto":
        reference = "start" if every[REFERENCE] == WINDOW_MINUTES else "average"
    columns: tuple[str, ...] = (*recording.channels, TEMPERATURE)
    averaged = (*columns, REFERENCE) if reference == "average" else columns
    seen, means = _means(
        recording, {column: _needed(recording, column, every[column]) for column in averaged}
    )
    if reference in ("start", "end"):
        means[REFERENCE] = _as_it_comes(recording.series[REFERENCE], shift_ms=int(reference == "end"))
    if reference is not None:
        _require_overlap(recording, columns, means)
        columns = (*columns, REFERENCE)
    starts, dropped = _complete(seen.union(*means.values()), columns, means)
    rows = [[means[column][start] for column in columns] for start in starts]
    table = np.array(rows, dtype=float).reshape(len(starts), len(columns))
    return Averages(columns, starts, table, means[TEMPERATURE], dropped, _notes(recording.name, every))


def cadence_minutes(series: Series) -> int:
    """How many minutes mostly pass from one value to the next, at least 1.

    The most common gap, not the median: losing every other value does not change how often it comes.
    """
    gaps = np.maximum(np.rint(np.diff(series.at_ms) / MINUTE_MS), 1).astype(np.int64)
    lengths, counts = np.unique(gaps, return_counts=True)
    return int(lengths[np.argmax(counts)]) if len(gaps) else 1


def _needed(recording: Recording, column: str, every_minutes: int) -> int:
    """How many minutes of a window must have a value: 12 of 15, or as many of those it can have."""
    if every_minutes > WINDOW_MINUTES:
        raise BadRecording(
            f"{recording.name}: {column}: expected a value at least every {WINDOW_MINUTES} minutes, "
            f"got one every {every_minutes}; use a recording with shorter averages"
        )
    return ceil(CAPTURE * (WINDOW_MINUTES // every_minutes))


def _means(recording: Recording, needed: Mapping[str, int]) -> tuple[set[int], _Means]:
    """The starts of all windows, and each column's mean where enough minutes are there."""
    seen: set[int] = set()
    means: _Means = {column: {} for column in needed}
    for window in _windows(recording, tuple(needed)):
        seen.add(window.start_ms)
        for column, mean in window.channels.items():
            if mean.minutes >= needed[column]:
                means[column][window.start_ms] = mean.mean
    return seen, means


def _windows(recording: Recording, columns: tuple[str, ...]) -> Iterator[Window]:
    """The agent's windows, fed with all columns in the order of time."""
    series = [recording.series[column] for column in columns]
    at_ms = np.concatenate([one.at_ms for one in series])
    values = np.concatenate([one.values for one in series])
    owners = np.repeat(np.arange(len(series)), [len(one.at_ms) for one in series])
    order = np.argsort(at_ms, kind="stable")
    fed = zip(at_ms[order].tolist(), owners[order].tolist(), values[order].tolist(), strict=True)
    windows, current = Windows(length_ms=WINDOW_MS), -1
    for time, owner, value in fed:
        if time // WINDOW_MS != current:
            current = time // WINDOW_MS
            yield from windows.close()
        windows.add(Reading(recording.sensor, columns[owner], time, value), now_ms=time)
    yield from windows.close_all()


def _as_it_comes(series: Series, shift_ms: int) -> dict[int, float]:
    """{window start: value}; a value stamped with the end of its window lies 1 ms before that end."""
    at_ms = series.at_ms - shift_ms
    starts, first = np.unique(at_ms - at_ms % WINDOW_MS, return_index=True)
    return dict(zip(starts.tolist(), series.values[first].tolist(), strict=True))


def _complete(seen: set[int], columns: Sequence[str], means: _Means) -> tuple[list[int], dict[str, int]]:
    starts, dropped = [], Counter[str]()
    for start in sorted(seen):
        fault = next((column for column in columns if start not in means[column]), None)
        if fault is None:
            starts.append(start)
        else:
            dropped[f"{fault} below coverage"] += 1
    return starts, dict(dropped)


def _require_overlap(recording: Recording, columns: Sequence[str], means: _Means) -> None:
    sensor = set.intersection(*(set(means[column]) for column in columns))
    reference = set(means[REFERENCE])
    if sensor and reference and not sensor & reference:
        raise BadRecording(
            f"{recording.name}: expected sensor and reference at the same time, got the sensor "
            f"{_span(sensor)} and the reference {_span(reference)}; check --timezone"
        )


def _span(starts_ms: set[int]) -> str:
    return f"{format_time(min(starts_ms))} to {format_time(max(starts_ms))}"


def _notes(name: str, every: Mapping[str, int]) -> tuple[str, ...]:
    slow = [f"{column} comes every {minutes} minutes" for column, minutes in every.items() if minutes > 1]
    return (f"{name}: {', '.join(slow)}; coverage is counted from that",) if slow else ()
