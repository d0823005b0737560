"""Recordings on disk as series of values over time: one file or several, with our column names or others."""

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
from edge_agent.core.messages import LIMIT, SENSOR, TIMESTAMP
from edge_agent.core.windows import MINUTE_MS
from model_export.recordings.mending import Mending, mended
from model_export.recordings.recording import REFERENCE, TEMPERATURE, Recording, Series
from model_export.recordings.table_files import UNREADABLE, parse_stamps, table, zone

_NOT_CHANNELS = (TIMESTAMP, SENSOR, TEMPERATURE, REFERENCE)


@dataclass(frozen=True, slots=True)
class Layout:
    """How files are written: {our name: their column}, the zone of stamps without one, what to correct."""

    columns: Mapping[str, str] = field(default_factory=dict)
    timezone: str | None = None
    mending: Mending = field(default_factory=Mending)


@dataclass(slots=True)
class _Reader:
    """Collects the parts of each column, file by file, and counts what is left out."""

    sensor: str
    layout: Layout
    parts: dict[str, list[tuple[NDArray[np.int64], Array]]] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)  # their column names
    known: set[str] = field(default_factory=set)  # our names
    untimed: dict[str, list[str]] = field(default_factory=dict)  # columns of the files without a timestamp
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Read one file; it may have only some of the columns."""
        rows = table(path)
        columns = [*map(str, rows.columns)]
        self.found += [column for column in columns if column not in self.found]
        rows = self._named(rows)
        self._require_once(rows, path.name)
        self.known.update(self._wanted(rows))
        if TIMESTAMP not in rows.columns:
            self.untimed[path.name] = columns
            return
        rows = self._of_sensor(rows, path.name)
        at_ms = self._times(rows[TIMESTAMP], path.name)
        for column in self._wanted(rows):
            self.parts.setdefault(column, []).append((at_ms, self._numbers(column, rows[column], at_ms)))

    def _named(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows with our column names, without columns that use such a name for something else."""
        ours = {theirs: ours for ours, theirs in self.layout.columns.items()}
        others = [name for name in rows.columns if name in self.layout.columns and name not in ours]
        return rows.drop(columns=others).rename(columns=ours)

    def _require_once(self, rows: pd.DataFrame, name: str) -> None:
        repeated = {*rows.columns[rows.columns.duplicated()]} & {*self._wanted(rows), TIMESTAMP, SENSOR}
        if repeated:
            theirs = ", ".join(sorted(map(self.theirs, repeated)))
            raise BadRecording(f"{name}: expected each column once, got {theirs} twice; rename or remove one")

    def theirs(self, ours: str) -> str:
        """The files' name of a column."""
        return self.layout.columns.get(ours, ours)

    def _wanted(self, rows: pd.DataFrame) -> list[str]:
        mapped = {*self.layout.columns, TEMPERATURE, REFERENCE} - {TIMESTAMP, SENSOR}
        return [name for name in map(str, rows.columns) if name in mapped or _is_channel(name)]

    def _of_sensor(self, rows: pd.DataFrame, name: str) -> pd.DataFrame:
        """The rows of this sensor, if the file has several."""
        if SENSOR not in rows.columns:
            return rows
        owners = rows[SENSOR].astype(str)
        if not (owners == self.sensor).any():
            there = ", ".join(sorted(owners.unique())[:8])
            raise BadRecording(f"{name}: expected rows of sensor {self.sensor}, got {there}; check --sensor")
        return rows[owners == self.sensor]

    def _times(self, column: "pd.Series[Any]", name: str) -> NDArray[np.int64]:
        local = None if self.layout.timezone is None else zone(self.layout.timezone)
        stamps = parse_stamps(column, local)
        readable = stamps.at_ms != UNREADABLE
        if not readable.any():
            raise BadRecording(
                f"{name}: expected time stamps as ISO 8601 or epoch, got {_first(column, ~readable)}; "
                "write them like 2024-02-01T10:15:00Z"
            )
        if unreadable := int((~readable).sum()):
            self._drop("unreadable timestamp", unreadable)
            what = f"{unreadable} time stamp{'s' * (unreadable > 1)}"
            self.notes.append(
                f"{name}: {what} not readable, the first {_first(column, ~readable)}; "
                "write them like 2024-02-01T10:15:00Z"
            )
        if stamps.naive and local is None:
            self.notes.append(
                f"{name}: time stamps have no time zone, read as UTC; change it with --timezone"
            )
        if (np.diff(stamps.at_ms[readable]) < 0).any():
            self.notes.append(f"{name}: rows were not in the order of time; sorted")
        return stamps.at_ms

    def _numbers(self, name: str, column: "pd.Series[Any]", at_ms: NDArray[np.int64]) -> Array:
        """The column as floats, NaN where a value or its time is not usable."""
        readable = at_ms != UNREADABLE
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan, copy=True)
        usable = np.abs(numbers) < LIMIT
        missing = column.isna().to_numpy()
        self._drop(f"{name} missing", int((missing & readable).sum()))
        self._drop(f"{name} not a number", int((~usable & ~missing & readable).sum()))
        numbers[~(usable & readable)] = np.nan
        return numbers

    def series(self, name: str, column: str) -> Series:
        """All parts of a column in the order of time; of several values at one time the first counts."""
        at_ms = np.concatenate([times for times, _ in self.parts[column]])
        values = np.concatenate([numbers for _, numbers in self.parts[column]])
        rows, usable = len(values), np.isfinite(values)
        if not usable.any():
            raise BadRecording(
                f"{name}: {column}: expected numbers, got none in {rows} rows; map another with --columns"
            )
        times, first = np.unique(at_ms[usable], return_index=True)
        self._drop(f"{column} duplicate", int(usable.sum()) - len(times))
        # A slow column has an empty cell in most rows of a faster sensor: no value is missing there.
        if cadence_minutes(times) > cadence_minutes(np.unique(at_ms[at_ms != UNREADABLE])):
            self.dropped.pop(f"{column} missing", None)
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
    """One sensor's recording from one or several files, which may overlap or have different columns.

    The default channels are op1, op2, … as found, and those that only the layout names.
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
    recording = Recording(name, sensor, chosen, series, dict(reader.dropped), tuple(reader.notes))
    return mended(recording, reader.layout.mending)


def cadence_minutes(at_ms: NDArray[np.int64]) -> int:
    """The minutes from one value to the next, at least 1, for sorted times.

    It is the most common gap, not the median, so that lost values do not change it.
    """
    gaps = np.maximum(np.rint(np.diff(at_ms) / MINUTE_MS), 1).astype(np.int64)
    lengths, counts = np.unique(gaps, return_counts=True)
    return int(lengths[np.argmax(counts)]) if len(gaps) else 1


def parse_columns(text: str) -> dict[str, str]:
    """{our name: their column} from --columns or a manifest; ValueError says what was expected.

    >>> parse_columns("op1=co_we, op2=co_ae")
    {'op1': 'co_we', 'op2': 'co_ae'}
    """
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    if any(not ours.strip() or not theirs.strip() for ours, _, theirs in pairs):
        raise ValueError(f"expected op1=co_we,op2=co_ae,… got {text!r:.80}")
    columns = {ours.strip(): theirs.strip() for ours, _, theirs in pairs}
    if len(columns) < len(pairs) or len({*columns.values()}) < len(pairs):
        raise ValueError(f"expected each name once, got {text!r:.80}")
    return columns


def title(paths: Sequence[Path]) -> str:
    """The files' name in messages.

    >>> title([Path("data/january.csv"), Path("data/february.csv")])
    'january.csv and 1 more'
    """
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0].name}{more}"


def _first(column: "pd.Series[Any]", chosen: NDArray[np.bool_]) -> str:
    """The first of the chosen values, with its row."""
    at = int(np.flatnonzero(chosen)[0])
    return f"{str(column.iloc[at])!r:.40} in row {int(column.index[at]) + 1} after the header"


def _is_channel(name: str) -> bool:
    return re.fullmatch(r"op\d+", name) is not None


def _channels(reader: _Reader, name: str) -> list[str]:
    """op1, op2, … without a gap, then the channels that only the layout names."""
    mapped = [ours for ours in reader.layout.columns if ours not in _NOT_CHANNELS]
    numbered = [column for column in {*reader.known, *mapped} if _is_channel(column)]
    others = [ours for ours in mapped if not _is_channel(ours)]
    last = max((int(column[2:]) for column in numbered), default=0 if others else 1)
    return [f"op{number}" for number in range(1, last + 1)] + others


def _require(reader: _Reader, name: str, wanted: Iterable[str]) -> None:
    """Refuse files without a column; the message names all that are missing."""
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
    """How to map the missing columns; an unknown name on the left of = may be a typing error."""
    unknown = [
        f"{ours}={theirs}"
        for ours, theirs in reader.layout.columns.items()
        if ours not in _NOT_CHANNELS and not _is_channel(ours)
    ]
    names = (
        f"name {'them' if missing[1:] else 'it'} with --columns {','.join(f'{name}=…' for name in missing)}"
    )
    if not unknown:
        return names
    return (
        f"{names} (got {','.join(unknown)}; our names are timestamp, op1, op2, …, temperature and reference)"
    )
