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
from model_export.recordings.columns import JOIN, NOT_CHANNELS, joined, plain_unit, without_columns
from model_export.recordings.counted import Progress
from model_export.recordings.mending import Mending, mended
from model_export.recordings.recording import REFERENCE, TEMPERATURE, Part, Recording, Series
from model_export.recordings.shape import Shape
from model_export.recordings.stamps import UNREADABLE, Dates, parse_stamps, zone
from model_export.recordings.table_files import table
from model_export.recordings.thermometers import strangers

_UNIT = re.compile(r"\s*[\[(][^\])]*[\])]\s*$")  # op1 [mV]
_TIMES = ("time", "datetime", "date_time", "date time", "date/time", "date")  # if there is no timestamp
LONGEST_GAP = 100_000  # minutes between two values


@dataclass(frozen=True, slots=True)
class Layout:
    """How files are written: {our name: their column}, the zone of stamps without one, what to correct."""

    columns: Mapping[str, str] = field(default_factory=dict)
    timezone: str | None = None
    mending: Mending | None = None
    dates: Dates = "auto"
    shape: Shape = field(default_factory=Shape)


@dataclass(slots=True)
class _Reader:
    """Collects the parts of each column, file by file, and counts what is left out."""

    sensor: str
    layout: Layout
    parts: dict[str, list[Part]] = field(default_factory=dict)
    elsewhere: dict[str, Part] = field(default_factory=dict)  # temperatures of the files without a channel
    found: list[str] = field(default_factory=list)  # their column names
    known: set[str] = field(default_factory=set)  # our names
    units: dict[str, str] = field(default_factory=dict)  # of the reference in a header -> a file that has it
    untimed: dict[str, list[str]] = field(default_factory=dict)  # columns of the files without a timestamp
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, path: Path, progress: Progress | None = None) -> None:
        """Read one file; it may have only some of the columns."""
        found = table(path, self._named, self.layout.shape, progress)
        self.found += [column for column in found.columns if column not in self.found]
        rows = joined(found.rows) if any(JOIN in str(name) for name in found.rows) else found.rows
        self._note_unit(found.columns, path.name)
        self._require_once(rows, path.name)
        self.known.update(self._wanted(rows))
        if TIMESTAMP not in rows.columns:
            self.untimed[path.name] = [*found.columns]
            return
        rows = self._of_sensor(rows, path.name)
        at_ms, said = self._times(rows[TIMESTAMP], path.name)
        wanted = self._wanted(rows)
        for column in wanted:
            part = at_ms, self._numbers(column, rows[column], at_ms)
            if column == TEMPERATURE and {*wanted} <= {*NOT_CHANNELS}:
                self.elsewhere[path.name] = part
            else:
                self.parts.setdefault(column, []).append(part)
        if said := [*found.said, *said]:
            self.notes.append(f"{path.name}: read with {', '.join(said)}")
        if found.ragged:
            self._drop("rows of another width", found.ragged)
            self.notes.append(f"{path.name}: {found.ragged} rows have another number of cells; left out")

    def _named(self, header: Sequence[str]) -> dict[str, str]:
        """{their column: ours}: as the layout says, otherwise by our names, in any case and with any unit."""
        plain = {name: _plain(name) for name in header}
        chosen: dict[str, str] = {}
        for ours, theirs in self.layout.columns.items():
            for place, part in enumerate(parts := theirs.split(JOIN) if theirs not in header else [theirs]):
                ours_part = ours if len(parts) == 1 else f"{ours}{JOIN}{place}"
                exact = [name for name in header if name == part]
                chosen |= dict.fromkeys(exact or [n for n in header if plain[n] == _plain(part)], ours_part)
        for name in header:
            if name not in chosen and plain[name] not in self.layout.columns and _is_ours(plain[name]):
                chosen[name] = plain[name]
        return chosen if TIMESTAMP in {*self.layout.columns, *chosen.values()} else chosen | _time_of(plain)

    def _note_unit(self, header: Sequence[str], name: str) -> None:
        """Keep the unit in the header of the reference; refuse a second one."""
        theirs = next((column for column, ours in self._named(header).items() if ours == REFERENCE), "")
        bracket = _UNIT.search(theirs)
        unit = plain_unit(bracket[0].strip()) if bracket else ""
        if unit and unit not in self.units and self.units:
            both = " and ".join(f"{each} in {file}" for each, file in {**self.units, unit: name}.items())
            raise BadRecording(f"{REFERENCE}: expected one unit, got {both}; convert one")
        if unit:
            self.units[unit] = name

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
        owners = rows[SENSOR].astype(str).str.strip()
        if not (owners == self.sensor).any():
            there = ", ".join(sorted(owners.unique())[:8])
            raise BadRecording(f"{name}: expected rows of sensor {self.sensor}, got {there}; check --sensor")
        return rows[owners == self.sensor]

    def _times(self, column: "pd.Series[Any]", name: str) -> tuple[NDArray[np.int64], list[str]]:
        """The times, and how they were read, where that is not the usual way."""
        local = None if self.layout.timezone is None else zone(self.layout.timezone)
        try:
            stamps = parse_stamps(column, local, self.layout.dates)
        except ValueError as error:
            raise BadRecording(f"{name}: {error}") from error
        readable = stamps.at_ms != UNREADABLE
        if not readable.any():
            raise BadRecording(
                f"{name}: expected time stamps as ISO 8601 or epoch, got {_first(column, ~readable)}; "
                "write them like 2024-02-01T10:15:00Z"
            )
        self._note_lost(name, column, readable, stamps.unresolved)
        if stamps.naive and local is None:
            self.notes.append(
                f"{name}: time stamps have no time zone, read as UTC; change it with --timezone"
            )
        if (np.diff(stamps.at_ms[readable]) < 0).any():
            self.notes.append(f"{name}: rows were not in the order of time; sorted")
        return stamps.at_ms, [stamps.said] if stamps.said else []

    def _note_lost(
        self, name: str, column: "pd.Series[Any]", readable: NDArray[np.bool_], unresolved: int
    ) -> None:
        if unresolved:
            self._drop("time of a change of clocks", unresolved)
            self.notes.append(
                f"{name}: {unresolved} time stamps are in an hour that a change of clocks repeats or skips, "
                "and the order of the rows does not say which it is; left out"
            )
        if unreadable := int((~readable).sum()) - unresolved:
            self._drop("unreadable timestamp", unreadable)
            what = f"{unreadable} time stamp{'s' * (unreadable > 1)}"
            self.notes.append(
                f"{name}: {what} not readable, the first {_first(column, ~readable)}; "
                "write them like 2024-02-01T10:15:00Z"
            )

    def _numbers(self, name: str, column: "pd.Series[Any]", at_ms: NDArray[np.int64]) -> Array:
        """The column as floats, NaN where a value or its time is not usable."""
        readable = at_ms != UNREADABLE
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        usable = np.abs(numbers) < LIMIT
        missing = column.isna().to_numpy()
        self._drop(f"{name} missing", int((missing & readable).sum()))
        self._drop(f"{name} not a number", int((~usable & ~missing & readable).sum()))
        usable &= readable
        return numbers if usable.all() else np.where(usable, numbers, np.nan)

    def add_temperatures(self) -> None:
        """Those of files without a channel, unless the sensor has its own at that time."""
        left_out = strangers(self.elsewhere, self.parts.get(TEMPERATURE, ()))
        for name in left_out:
            self.notes.append(f"{name}: its temperature is left out; that of the sensor's files is used")
        added = [part for name, part in self.elsewhere.items() if name not in left_out]
        self.parts[TEMPERATURE] = [*self.parts.get(TEMPERATURE, ()), *added]

    def series(self, name: str, column: str) -> Series:
        """All parts of a column in the order of time; of several values at one time the first counts."""
        parts: Sequence[Any] = self.parts[column]  # a single one may be large and is not copied
        at_ms, values = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        rows, usable = len(values), np.isfinite(values)
        if not usable.any():
            raise BadRecording(
                f"{name}: {column}: expected numbers, got none in {rows} rows; map another with --columns"
            )
        at = slice(None) if (whole := bool(usable.all())) else usable
        times, found = _distinct(at_ms[at], values[at])
        self._drop(f"{column} duplicate", int(usable.sum()) - len(times))
        # A slow column has an empty cell in most rows of a faster sensor: no value is missing there.
        if not whole and cadence_minutes(times) > cadence_minutes(_distinct(at_ms[at_ms != UNREADABLE])[0]):
            self.dropped.pop(f"{column} missing", None)
        return Series(times, found)

    def _drop(self, reason: str, count: int) -> None:
        if count:
            self.dropped[reason] += count


def read(
    paths: Sequence[Path],
    sensor: str,
    layout: Layout | None = None,
    channels: Sequence[str] | None = None,
    with_reference: bool | None = True,
    progress: Progress | None = None,
) -> Recording:
    """One sensor's recording from one or several files, which may overlap or have different columns.

    The default channels are op1, op2, … as found, and those that only the layout names. With None a reference
    is read if there is one.
    """
    reader = _Reader(sensor, layout or Layout())
    for path in paths:
        reader.add(path, progress)
    if reader.elsewhere:
        reader.add_temperatures()
    name = title(paths)
    chosen = tuple(channels or _channels(reader, name))
    if with_reference is None:
        with_reference = REFERENCE in reader.known
    wanted = (*chosen, TEMPERATURE, *([REFERENCE] if with_reference else []))
    _require(reader, name, wanted)
    series = {column: reader.series(name, column) for column in wanted}
    if duplicates := max((reader.dropped[f"{column} duplicate"] for column in wanted), default=0):
        reader.notes.append(f"{name}: {duplicates} rows repeat a time; the first of each counts")
    unit = "".join(reader.units) if with_reference else ""
    recording = Recording(name, sensor, chosen, series, dict(reader.dropped), tuple(reader.notes), unit)
    return mended(recording, reader.layout.mending) if reader.layout.mending else recording


def cadence_minutes(at_ms: NDArray[np.int64]) -> int:
    """The minutes from one value to the next, at least 1, for sorted times.

    It is the most common gap, not the median, so that lost values do not change it.
    """
    gaps = np.clip(np.rint(np.diff(at_ms) / MINUTE_MS), 1, LONGEST_GAP).astype(np.int64)
    return int(np.argmax(np.bincount(gaps))) if len(gaps) else 1


def title(paths: Sequence[Path]) -> str:
    """The files' name in messages.

    >>> title([Path("data/january.csv"), Path("data/february.csv")])
    'january.csv and 1 more'
    """
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0].name}{more}"


def require_columns(recording: Recording, names: Iterable[str]) -> None:
    """Refuse a recording without one of these columns."""
    if missing := [name for name in names if name not in recording.series]:
        found = ", ".join(recording.series)
        raise BadRecording(f"{recording.name}: expected a column {missing[0]}, got {found}")


def _distinct(at_ms: NDArray[np.int64], values: Array | None = None) -> tuple[NDArray[np.int64], Array]:
    """Each time once, in order, with its first value; np.unique takes a minute for a few million."""
    found = at_ms if values is None else values
    if (at_ms[1:] > at_ms[:-1]).all():
        return at_ms, np.asarray(found, dtype=float)
    order = np.argsort(at_ms, kind="stable")
    ordered = at_ms[order]
    kept = np.concatenate(([True], ordered[1:] > ordered[:-1]))
    return ordered[kept], np.asarray(found[order][kept], dtype=float)


def _first(column: "pd.Series[Any]", chosen: NDArray[np.bool_]) -> str:
    """The first of the chosen values, with its row."""
    at = int(np.flatnonzero(chosen)[0])
    return f"{str(column.iloc[at])!r:.40} in row {int(column.index[at]) + 1} after the header"


def _plain(name: str) -> str:
    """A name without its unit and its capitals.

    >>> _plain("Temperature (°C)"), _plain("OP1 [mV]")
    ('temperature', 'op1')
    """
    return _UNIT.sub("", name).strip().lower()


def _is_ours(name: str) -> bool:
    return name in NOT_CHANNELS or _is_channel(name)


def _time_of(plain: Mapping[str, str]) -> dict[str, str]:
    """The column of times under another name, or a date and a time in two columns."""
    theirs = {short: name for name, short in reversed([*plain.items()])}
    if "date" in theirs and "time" in theirs:
        return {theirs["date"]: f"{TIMESTAMP}{JOIN}0", theirs["time"]: f"{TIMESTAMP}{JOIN}1"}
    return next(({theirs[short]: TIMESTAMP} for short in _TIMES if short in theirs), {})


def _is_channel(name: str) -> bool:
    return re.fullmatch(r"op\d+", name) is not None


def _channels(reader: _Reader, name: str) -> list[str]:
    """op1, op2, … without a gap, then the channels that only the layout names."""
    mapped = [ours for ours in reader.layout.columns if ours not in NOT_CHANNELS]
    numbered = [column for column in {*reader.known, *mapped} if _is_channel(column)]
    others = [ours for ours in mapped if not _is_channel(ours)]
    last = max((int(column[2:]) for column in numbered), default=0 if others else 1)
    return [f"op{number}" for number in range(1, last + 1)] + others


def _require(reader: _Reader, name: str, wanted: Iterable[str]) -> None:
    """Refuse files without a column; the message names all that are missing."""
    missing = [TIMESTAMP] if reader.untimed else []
    missing += [column for column in wanted if column not in reader.known][:8]
    if missing == [TIMESTAMP]:
        name, found = next(iter(reader.untimed.items()))
        raise without_columns(name, missing, found, reader.layout.columns)
    if missing:
        raise without_columns(name, missing, reader.found, reader.layout.columns)
