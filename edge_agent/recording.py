"""Tidy CSV recordings, plain or gzip, as the readings a sensor would have sent."""

import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import LIMIT, Reading, parse_time


def read(path: Path, sensor: str, channels: Iterable[str], needed: Iterable[str] = ()) -> Iterator[Reading]:
    """The readings of a file with columns timestamp, op1, op2, temperature, …; an empty cell is none."""
    try:
        with _open(path) as file:
            rows = csv.reader(file)
            header = [name.strip() for name in next(rows, [])]
            columns = _columns(path, header, tuple(channels), tuple(needed))
            for row in rows:
                if row:
                    yield from _readings(
                        f"{path}:{rows.line_num}", row, sensor, header.index("timestamp"), columns
                    )
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise BadRecording(f"{path}: {_reason(error)}; expected a CSV file, plain or .gz") from error


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _columns(
    path: Path, header: list[str], channels: tuple[str, ...], needed: tuple[str, ...]
) -> list[tuple[int, str]]:
    """Where each channel stands; every needed one must be there."""
    if not header:
        raise BadRecording(f"{path}: expected a header line, the file is empty; record something first")
    found = [name for name in channels if name in header]
    if "timestamp" not in header or not found or not set(needed) <= set(header):
        expected = ", ".join(("timestamp", *(needed or channels)))
        raise BadRecording(f"{path}: expected columns {expected}, got {', '.join(header)}; rename them")
    return [(header.index(name), name) for name in found]


def _readings(
    place: str, row: list[str], sensor: str, stamp: int, columns: list[tuple[int, str]]
) -> Iterator[Reading]:
    if len(row) <= max(stamp, *(index for index, _ in columns)):
        raise BadRecording(f"{place}: expected as many cells as the header, got {len(row)}; is the file cut?")
    try:
        at_ms = parse_time(_epoch_or_text(row[stamp]))
    except ValueError as error:
        expected = "a timestamp as ISO 8601 or epoch"
        raise BadRecording(
            f"{place}: expected {expected}, got {row[stamp][:40]!r}; correct or remove the row"
        ) from error
    for index, channel in columns:
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
