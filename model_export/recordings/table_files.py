"""CSV and Parquet files as tables, and their time stamps as milliseconds UTC."""

import zlib
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import EPOCH_SECONDS_BELOW, LAST_MS

UNREADABLE = -1  # in the place of a time
_OFFSET = r"(?:Z|[+-]\d{2}:?\d{2})\s*$"
_BROKEN = (OSError, ValueError, EOFError, zlib.error, LZMAError, BadZipFile, pa.ArrowException)
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Stamps:
    """Milliseconds UTC, UNREADABLE where a stamp is not readable; `naive` if any has no time zone."""

    at_ms: NDArray[np.int64]
    naive: bool


def table(path: Path) -> pd.DataFrame:
    """The rows of a file, with the column names of its header."""
    kind = "Parquet" if path.suffix == ".parquet" else "CSV"
    try:
        rows = pd.read_parquet(path, engine="pyarrow") if kind == "Parquet" else _csv(path)
    except FileNotFoundError:
        raise BadRecording(f"{path}: expected a recording, got no such file; check the path") from None
    except IsADirectoryError:
        raise BadRecording(f"{path}: expected a file, got a directory; name the files in it") from None
    except pd.errors.EmptyDataError:
        raise BadRecording(f"{path.name}: expected a header and rows, got an empty file") from None
    except _BROKEN as error:
        raise BadRecording(
            f"{path.name}: expected {kind}, got something else or a cut file; --debug shows more"
        ) from error
    if rows.empty:
        raise BadRecording(f"{path.name}: expected a header and rows, got no rows")
    return rows.reset_index(drop=True)


def _csv(path: Path) -> pd.DataFrame:
    with path.open("rb") as file:
        if file.read(2) in _UTF16:
            raise BadRecording(f"{path.name}: expected UTF-8, got UTF-16; save it as CSV UTF-8")
    header = [*map(str, pd.read_csv(path, header=None, nrows=1, dtype=str).iloc[0])]
    _require_commas(header, path.name)
    rows = pd.read_csv(path, low_memory=False)
    # pandas calls a second op1 op1.1, and keeps the spaces around a name.
    repeats = len(set(header)) < len(header) == len(rows.columns)
    rows.columns = pd.Index([str(name).strip() for name in (header if repeats else rows.columns)])
    return rows


def _require_commas(header: list[str], name: str) -> None:
    found = next((word for mark, word in _SEPARATORS.items() if mark in header[0]), None)
    if len(header) == 1 and found:
        raise BadRecording(
            f"{name}: expected values separated by commas, got {found}; "
            "save it with commas, and with points in numbers"
        )


def zone(name: str) -> ZoneInfo:
    """The time zone of that name in the IANA database."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadRecording(f"--timezone: expected a name such as Asia/Kolkata, got {name!r}") from None


def parse_stamps(column: "pd.Series[Any]", local: ZoneInfo | None = None) -> Stamps:
    """The time stamps of a column: ISO 8601, epoch seconds or milliseconds, or Parquet times.

    Stamps without an offset are local time, or UTC if no zone is given. `edge_agent.core.messages.parse_time`
    reads one stamp by the same rules; this reads a column at the speed of pandas. Dates such as 12/09/2017
    are not readable: the month is unclear. Neither is a local time that a change of clocks skips or repeats.

    >>> parse_stamps(pd.Series(["2024-02-01T10:15:30", "2024-02-01T10:15:30Z", "soon"]), zone("Asia/Kolkata"))
    Stamps(at_ms=array([1706762730000, 1706782530000,            -1]), naive=True)
    """
    if pd.api.types.is_numeric_dtype(column):
        return Stamps(_epoch(column.to_numpy(dtype=float, na_value=np.nan)), naive=False)
    if pd.api.types.is_datetime64_any_dtype(column):
        naive = column.dt.tz is None
        return Stamps(_milliseconds(_localised(column, local) if naive else column), naive=naive)
    return _iso(column.astype("string"), local)


def _epoch(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    at_ms = np.where(np.abs(numbers) < EPOCH_SECONDS_BELOW, numbers * 1000.0, numbers)
    # NaN compares false.
    readable = (at_ms >= 0.0) & (at_ms < LAST_MS)
    return np.where(readable, np.rint(np.where(readable, at_ms, 0.0)), UNREADABLE).astype(np.int64)


def _iso(texts: "pd.Series[Any]", local: ZoneInfo | None) -> Stamps:
    """A column may have stamps with and without an offset."""
    aware = texts.str.contains(_OFFSET, regex=True).fillna(False).to_numpy(dtype=bool)
    at_ms = np.full(len(texts), UNREADABLE, dtype=np.int64)
    with_offset = pd.to_datetime(texts[aware], format="ISO8601", errors="coerce", utc=True)
    without = pd.to_datetime(texts[~aware], format="ISO8601", errors="coerce")
    at_ms[aware] = _milliseconds(with_offset)
    at_ms[~aware] = _milliseconds(_localised(without, local))
    return Stamps(at_ms, naive=bool(without.notna().any()))


def _localised(times: "pd.Series[Any]", local: ZoneInfo | None) -> "pd.Series[Any]":
    localised: pd.Series[Any] = times.dt.tz_localize(
        local or ZoneInfo("UTC"), ambiguous="NaT", nonexistent="NaT"
    )
    return localised


def _milliseconds(times: "pd.Series[Any]") -> NDArray[np.int64]:
    naive = times.dt.tz_convert("UTC").dt.tz_localize(None)
    at_ms = naive.to_numpy().astype("datetime64[ms]").astype(np.int64)
    return np.where((at_ms >= 0) & (at_ms < LAST_MS), at_ms, UNREADABLE)
