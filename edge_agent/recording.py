"""Recordings in CSV files, plain or gzip, as the readings that the sensor sent.

The trainer has a reader of its own, `model_export.recordings.tables`. It needs pandas and pyarrow, which a
gateway does not have, reads what people have (semicolons, Excel, local time), and skips values that it cannot
read. `model-export convert` writes any of that as the plain file that is read here. This one reads row by row
with the standard library and refuses a bad row by its line. Both take the names of columns, the rules of
times and the largest number from `edge_agent.core.messages`; a test compares what they read.
"""

import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import LIMIT, SENSOR, TIMESTAMP, Reading, parse_time
from edge_agent.core.packed import is_bundle

PLAIN = "make a plain file of it with model-export convert"


class _Columns(NamedTuple):
    """Where the columns are in a row."""

    timestamp: int
    sensor: int | None
    channels: dict[str, int]
    width: int


def read(path: Path, sensor: str, channels: Iterable[str], needed: Iterable[str] = ()) -> Iterator[Reading]:
    """The readings of a sensor in a file with columns timestamp, op1, op2, temperature, …

    An empty cell is no reading. If there is a column `sensor`, the file may have rows of several sensors.
    """
    others: set[str] = set()
    found = False
    try:
        with _open(path) as file:
            rows = csv.reader(file)
            columns = _columns(path, next(rows, []), tuple(channels), tuple(needed))
            for row in filter(None, rows):
                place = f"{path}:{rows.line_num}"
                if len(row) < columns.width:
                    raise BadRecording(
                        f"{place}: expected as many cells as the header, got {len(row)}; is the file cut?"
                    )
                if columns.sensor is not None and (owner := row[columns.sensor].strip()) != sensor:
                    others.add(owner)
                    continue
                found = True
                yield from _readings(place, row, sensor, columns)
    except FileNotFoundError:
        raise BadRecording(f"{path}: expected a recording, got no such file; check the path") from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        if isinstance(error, UnicodeDecodeError) and is_bundle(_start(path)):
            words = "expected a recording, got a bundle; see edge-agent replay --help"
            raise BadRecording(f"{path}: {words}") from None
        raise BadRecording(f"{path}: {_reason(error)}; expected a CSV file, plain or .gz; {PLAIN}") from error
    if others and not found:
        there = ", ".join(sorted(others)[:8])
        raise BadRecording(f"{path}: expected rows of sensor {sensor}, got {there}; check --sensor")


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(8)


def _columns(path: Path, first: list[str], channels: tuple[str, ...], needed: tuple[str, ...]) -> _Columns:
    """The columns of a header; every needed one must be there."""
    header = [name.strip() for name in first]
    if not header:
        raise BadRecording(f"{path}: expected a header line, got an empty file; record something first")
    found = {name: header.index(name) for name in channels if name in header}
    if TIMESTAMP not in header or not found or not set(needed) <= set(header):
        expected = ", ".join((TIMESTAMP, *(needed or channels)))
        raise BadRecording(f"{path}: expected columns {expected}, got {', '.join(header)}; {PLAIN}")
    timestamp = header.index(TIMESTAMP)
    sensor = header.index(SENSOR) if SENSOR in header else None
    return _Columns(timestamp, sensor, found, 1 + max(timestamp, sensor or 0, *found.values()))


def _readings(place: str, row: list[str], sensor: str, columns: _Columns) -> Iterator[Reading]:
    stamp = row[columns.timestamp]
    try:
        at_ms = parse_time(_epoch_or_text(stamp))
    except (ValueError, OverflowError) as error:
        expected = "a timestamp as ISO 8601 or epoch"
        raise BadRecording(
            f"{place}: expected {expected}, got {stamp[:40]!r}; correct or remove the row"
        ) from error
    for channel, index in columns.channels.items():
        if cell := row[index].strip():
            yield Reading(sensor, channel, at_ms, _number(place, channel, cell))


def _epoch_or_text(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell.strip()


def _number(place: str, channel: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = LIMIT
    if not abs(value) < LIMIT:
        raise BadRecording(
            f"{place}: expected {channel} as a finite number, got {cell[:40]!r}; leave it empty if missing"
        )
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
