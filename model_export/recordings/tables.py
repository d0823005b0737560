"""Recordings on disk, as series of values over time: tidy CSV or Parquet, one file or several."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.messages import LIMIT
from model_export.recordings import stamps, table_files

TIMESTAMP, SENSOR, TEMPERATURE, REFERENCE = "timestamp", "sensor", "temperature", "reference"
_NOT_CHANNELS = (TIMESTAMP, SENSOR, TEMPERATURE, REFERENCE)


@dataclass(frozen=True, slots=True)
class Layout:
    """How files are written: {our name: their column}, and the zone of stamps that have none."""

    columns: Mapping[str, str] = field(default_factory=dict)
    timezone: str | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """One column over time: finite values at sorted times, each time once."""

    at_ms: NDArray[np.int64]
    values: Array


@dataclass(frozen=True, slots=True)
class Recording:
    """What the files hold of one sensor; the reference has times of its own."""

    name: str
    sensor: str
    channels: tuple[str, ...]
    series: Mapping[str, Series]
    dropped: Mapping[str, int]  # reason -> values (or rows) left out
    notes: tuple[str, ...]  # what a careful reader would want to be told


@dataclass(slots=True)
class _Reader:
    """Files as they are read: the parts of each column, and what was left out on the way."""

    sensor: str
    layout: Layout
    parts: dict[str, list[tuple[NDArray[np.int64], Array]]] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)  # in their words
    known: set[str] = field(default_factory=set)  # in ours
    untimed: dict[str, list[str]] = field(default_factory=dict)  # files without a timestamp: their columns
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Read one file; it may hold some of the columns only."""
        table = table_files.table(path)
        columns = [*map(str, table.columns)]
        self.found += [column for column in columns if column not in self.found]
        table = self._named(table)
        self._require_once(table, path.name)
        self.known.update(self._wanted(table))
        if TIMESTAMP not in table.columns:
            self.untimed[path.name] = columns
            return
        table = self._of_sensor(table, path.name)
        at_ms = self._times(table[TIMESTAMP], path.name)
        for column in self._wanted(table):
            self.parts.setdefault(column, []).append((at_ms, self._numbers(column, table[column], at_ms)))

    def _named(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table in our words; a column that has our word for another thing is left out."""
        ours = {theirs: ours for ours, theirs in self.layout.columns.items()}
        others = [name for name in table.columns if name in self.layout.columns and name not in ours]
        return table.drop(columns=others).rename(columns=ours)

    def _require_once(self, table: pd.DataFrame, name: str) -> None:
        repeated = {*table.columns[table.columns.duplicated()]} & {*self._wanted(table), TIMESTAMP, SENSOR}
        if repeated:
            theirs = ", ".join(sorted(map(self.theirs, repeated)))
            raise BadRecording(f"{name}: expected each column once, got {theirs} twice; rename or remove one")

    def theirs(self, ours: str) -> str:
        """What the files call a column of ours."""
        return self.layout.columns.get(ours, ours)

    def _wanted(self, table: pd.DataFrame) -> list[str]:
        mapped = {*self.layout.columns, TEMPERATURE, REFERENCE} - {TIMESTAMP, SENSOR}
        return [name for name in map(str, table.columns) if name in mapped or _is_channel(name)]

    def _of_sensor(self, table: pd.DataFrame, name: str) -> pd.DataFrame:
        """Where a file holds several sensors, the rows of this one."""
        if SENSOR not in table.columns:
            return table
        owners = table[SENSOR].astype(str)
        if not (owners == self.sensor).any():
            there = ", ".join(sorted(owners.unique())[:8])
            raise BadRecording(f"{name}: expected rows of sensor {self.sensor}, got {there}; check --sensor")
        return table[owners == self.sensor]

    def _times(self, column: "pd.Series[Any]", name: str) -> NDArray[np.int64]:
        zone = None if self.layout.timezone is None else stamps.zone(self.layout.timezone)
        read = stamps.parse(column, zone)
        readable = read.at_ms != stamps.UNREADABLE
        if not readable.any():
            raise BadRecording(
                f"{name}: expected time stamps as ISO 8601 or epoch, got {_first(column, ~readable)}; "
                "write them like 2024-02-01T10:15:00Z"
            )
        if unreadable := int((~readable).sum()):
            self._drop("unreadable timestamp", unreadable)
            what = f"{unreadable} time stamp{'s' * (unreadable > 1)}"
            self.notes.append(
                f"{name}: {what} could not be read, the first {_first(column, ~readable)}; "
                "write them like 2024-02-01T10:15:00Z"
            )
        if read.naive and zone is None:
            self.notes.append(f"{name}: stamps have no time zone, read as UTC; --timezone says otherwise")
        if (np.diff(read.at_ms[readable]) < 0).any():
            self.notes.append(f"{name}: rows were not in the order of time; sorted")
        return read.at_ms

    def _numbers(self, name: str, column: "pd.Series[Any]", at_ms: NDArray[np.int64]) -> Array:
        """The column as floats, NaN where there is nothing to use."""
        readable = at_ms != stamps.UNREADABLE
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan, copy=True)
        usable = np.abs(numbers) < LIMIT
        missing = column.isna().to_numpy()
        self._drop(f"{name} missing", int((missing & readable).sum()))
        self._drop(f"{name} not a number", int((~usable & ~missing & readable).sum()))
        numbers[~(usable & readable)] = np.nan
        return numbers

    def series(self, name: str, column: str) -> Series:
        """All parts of one column in the order of time; of two values at one time the first counts."""
        at_ms = np.concatenate([times for times, _ in self.parts[column]])
        values = np.concatenate([numbers for _, numbers in self.parts[column]])
        rows, usable = len(values), np.isfinite(values)
        if not usable.any():
            raise BadRecording(
                f"{name}: {column}: expected numbers, got none in {rows} rows; map another with --columns"
            )
        times, first = np.unique(at_ms[usable], return_index=True)
        self._drop(f"{column} duplicate", int(usable.sum()) - len(times))
        return Series(times, values[usable][first])

    def _drop(self, reason: str, count: int) -> None:
        if count:
            self.dropped[reason] += count


def read(
    paths: Sequence[Path],
    sensor: str,
    layout: Layout | None = None,
    channels: Sequence[str] | None = None,
    with_reference: bool = True,
) -> Recording:
    """One sensor's recording from one or several files, which may overlap or hold different columns.

    Without `channels` they are op1, op2, … as found, and whatever else the layout maps.
    """
    reader = _Reader(sensor, layout or Layout())
    for path in paths:
        reader.add(path)
    name = title(paths)
    chosen = tuple(channels or _channels(reader, name))
    wanted = (*chosen, TEMPERATURE, *([REFERENCE] if with_reference else []))
    _require(reader, name, wanted)
    series = {column: reader.series(name, column) for column in wanted}
    if duplicates := max((reader.dropped[f"{column} duplicate"] for column in wanted), default=0):
        reader.notes.append(f"{name}: {duplicates} rows repeat a time; the first of each counts")
    return Recording(name, sensor, chosen, series, dict(reader.dropped), tuple(reader.notes))


def title(paths: Sequence[Path]) -> str:
    """Files as error texts name them.

    >>> title([Path("data/january.csv"), Path("data/february.csv")])
    'january.csv and 1 more'
    """
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0].name}{more}"


def _first(column: "pd.Series[Any]", chosen: NDArray[np.bool_]) -> str:
    """The first of some values, and where it stands."""
    at = int(np.flatnonzero(chosen)[0])
    return f"{str(column.iloc[at])!r:.40} in row {int(column.index[at]) + 1} after the header"


def _is_channel(name: str) -> bool:
    return re.fullmatch(r"op\d+", name) is not None


def _channels(reader: _Reader, name: str) -> list[str]:
    """op1, op2, … without a gap, then the channels that only --columns names."""
    mapped = [ours for ours in reader.layout.columns if ours not in _NOT_CHANNELS]
    numbered = [column for column in {*reader.known, *mapped} if _is_channel(column)]
    others = [ours for ours in mapped if not _is_channel(ours)]
    last = max((int(column[2:]) for column in numbered), default=0 if others else 1)
    return [f"op{number}" for number in range(1, last + 1)] + others


def _require(reader: _Reader, name: str, wanted: Iterable[str]) -> None:
    """Refuse files that lack a column, naming all that lack."""
    missing = [TIMESTAMP] if reader.untimed else []
    missing += [column for column in wanted if column not in reader.known][:8]
    if not missing:
        return
    where, found = name, reader.found
    if missing == [TIMESTAMP]:
        where, found = next(iter(reader.untimed.items()))
    theirs = ", ".join(map(reader.theirs, missing))
    raise BadRecording(
        f"{where}: expected {'columns' if missing[1:] else 'a column'} {theirs}, got {', '.join(found)}; "
        f"{_advice(reader, missing)}"
    )


def _advice(reader: _Reader, missing: Sequence[str]) -> str:
    """How to map what is missing; a name on the left of = that is not ours is a slip, or a channel's own."""
    strange = [
        f"{ours}={theirs}"
        for ours, theirs in reader.layout.columns.items()
        if ours not in _NOT_CHANNELS and not _is_channel(ours)
    ]
    names = (
        f"name {'them' if missing[1:] else 'it'} with --columns {','.join(f'{name}=…' for name in missing)}"
    )
    if not strange:
        return names
    return (
        f"{names} (got {','.join(strange)}, where ours are timestamp, op1, op2, …, temperature and reference)"
    )
