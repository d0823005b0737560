"""Time stamps in tables as milliseconds UTC: ISO 8601, epoch seconds or milliseconds, or Parquet times."""

from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import EPOCH_SECONDS_BELOW, LAST_MS

UNREADABLE = -1
_OFFSET = r"(?:Z|[+-]\d{2}:?\d{2})\s*$"


@dataclass(frozen=True, slots=True)
class Stamps:
    """Milliseconds UTC, UNREADABLE where a stamp could not be read, and whether any had no zone."""

    at_ms: NDArray[np.int64]
    naive: bool


def zone(name: str) -> ZoneInfo:
    """The time zone of that name in the IANA database."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadRecording(f"--timezone: expected a name such as Asia/Kolkata, got {name!r}") from None


def parse(column: "pd.Series[Any]", local: ZoneInfo | None = None) -> Stamps:
    """Every stamp of a column; those without an offset are local time (UTC if no zone is given).

    Dates such as 12/09/2017 are not read: nothing says which number is the month. Neither is a local
    time that a change of clocks made happen twice or never.

    >>> parse(pd.Series(["2024-02-01T10:15:30", "2024-02-01T10:15:30Z", "soon"]), zone("Asia/Kolkata"))
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
    readable = (at_ms >= 0.0) & (at_ms < LAST_MS)  # NaN compares false
    return np.where(readable, np.rint(np.where(readable, at_ms, 0.0)), UNREADABLE).astype(np.int64)


def _iso(texts: "pd.Series[Any]", local: ZoneInfo | None) -> Stamps:
    """Stamps with and without an offset may stand in one column: each is read by its own rule."""
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
