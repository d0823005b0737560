"""Times as people write them: stamps in ISO 8601, as epoch, dates or local time; lengths such as 15min."""

import re
from dataclasses import dataclass
from typing import Any, Literal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import EPOCH_SECONDS_BELOW, LAST_MS
from edge_agent.core.windows import MINUTE_MS

UNREADABLE = -1  # in the place of a time
DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
Dates = Literal["auto", "day-first", "month-first"]

_OFFSET = r"(?:Z|[+-]\d{2}:?\d{2}|:\d{2}(?:\.\d+)?[+-]\d{2})\s*$"
_CIVIL = re.compile(
    r"\s*(\d{1,2})([./-])(\d{1,2})[./-](\d{4}|\d{2})"
    r"(?:[ T,]+(\d{1,2})[:.](\d{2})(?:[:.](\d{2}(?:[.,]\d+)?))?\s*([AaPp])?\.?[Mm]?\.?)?\s*"
)
_SAMPLE = 200
_EXCEL_DAYS = (20_000.0, 80_000.0)  # 1954 to 2119; as epoch seconds they would be the first day of 1970
_EXCEL_ZERO_MS = -2_209_161_600_000  # 1899-12-30
_DIGITS = {8: "year, month and day", 12: "year to minute", 14: "year to second"}  # such as 202402011015
_FIRST_DAY, _AFTER_LAST = 19_900_101, 21_000_000  # as epoch seconds or milliseconds they would be before 1977
SHORTEST_MS, LONGEST_MS = 300_000, 86_400_000  # windows
_DAY_MS = 86_400_000
_MINUTES = {"min": 1, "h": 60}
_CLEARLY = 5.0  # times shorter: the way through all rows in the right order of day and month

Times = NDArray[np.int64]
_Naive = NDArray[np.datetime64]


@dataclass(frozen=True, slots=True)
class Stamps:
    """Milliseconds UTC, UNREADABLE where a stamp is not readable; `naive` if any has no time zone.

    `said` is how dates were read, where that is not the usual way. `unresolved` counts local times that a
    change of clocks repeats or skips, and that the order of the rows does not explain.
    """

    at_ms: Times
    naive: bool
    said: str = ""
    unresolved: int = 0


def zone(name: str) -> ZoneInfo:
    """The time zone of that name in the IANA database."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadRecording(f"--timezone: expected a name such as Asia/Kolkata, got {name!r}") from None


def parse_stamps(column: "pd.Series[Any]", local: ZoneInfo | None = None, dates: Dates = "auto") -> Stamps:
    """The time stamps of a column: ISO 8601, epoch seconds or milliseconds, times of Parquet or Excel, or
    dates such as 12.09.2017 16:53 and 09/12/2017 04:53 PM.

    Stamps without an offset are local time, or UTC if no zone is given. `edge_agent.core.messages.parse_time`
    reads one stamp by the same rules; this reads a column at the speed of pandas. The order of day and month
    comes from the data or from `dates`; ValueError if it stays unclear.

    >>> parse_stamps(pd.Series(["2024-02-01T10:15:30", "2024-02-01T10:15:30Z", "soon"]), zone("Asia/Kolkata"))
    Stamps(at_ms=array([1706762730000, 1706782530000,            -1]), naive=True, said='', unresolved=0)
    """
    if pd.api.types.is_numeric_dtype(column):
        return _numbers(column.to_numpy(dtype=float, na_value=np.nan), local)
    if pd.api.types.is_datetime64_any_dtype(column):
        if column.dt.tz is not None:
            return Stamps(_milliseconds(column), naive=False)
        return _local(column.to_numpy(), local)
    texts = column.astype("string")
    sample = texts.dropna().head(_SAMPLE)
    if pd.to_numeric(sample, errors="coerce").notna().sum() * 2 > len(sample):
        numbers = pd.to_numeric(texts, errors="coerce")
        return _numbers(numbers.to_numpy(dtype=float, na_value=np.nan), local)
    if sum(_CIVIL.fullmatch(text) is not None for text in sample) * 2 > len(sample):
        times, said = _civil(texts, dates)
        return _local(times, local, said)
    return _iso(texts, local)


def parse_minutes(text: str) -> int:
    """Minutes from 60min, -15min or 1h; ValueError says what was expected.

    >>> parse_minutes("60min"), parse_minutes("-1h")
    (60, -60)
    """
    match = re.fullmatch(r"([+-]?\d{1,4})\s*(min|h)", text.strip())
    if not match:
        raise ValueError(f"expected minutes or hours such as 60min or -1h, got {text!r:.80}")
    return int(match[1]) * _MINUTES[match[2]]


def parse_window(text: str) -> int:
    """The length of a window in ms from 15min or 1h; ValueError says what was expected.

    >>> parse_window("15min"), parse_window("1h")
    (900000, 3600000)
    """
    return whole_window(parse_minutes(text) * MINUTE_MS, text)


def whole_window(window_ms: int, text: str = "") -> int:
    """The same length, if a day has whole windows of it; ValueError says what was expected."""
    if not SHORTEST_MS <= window_ms <= LONGEST_MS or LONGEST_MS % window_ms or window_ms % MINUTE_MS:
        got = repr(text)[:80] if text else f"{window_ms} ms"
        raise ValueError(f"expected 5min to 24h, so that a day has whole windows, got {got}")
    return int(window_ms)


def _numbers(numbers: NDArray[np.float64], local: ZoneInfo | None) -> Stamps:
    low, high = _EXCEL_DAYS
    there = numbers[np.isfinite(numbers)]
    if len(there) and low <= there.min() and there.max() < high:
        whole = np.where(np.isfinite(numbers), numbers, 0.0)
        at_ms = np.rint(whole * _DAY_MS / 1000.0) * 1000.0 + _EXCEL_ZERO_MS  # its days are not finer than 1 s
        times = np.where(np.isfinite(numbers), at_ms.astype("datetime64[ms]"), np.datetime64("NaT"))
        return _local(times, local, "time stamps as days of Excel")
    for digits, words in _DIGITS.items():
        unit = 10 ** (digits - 8)
        if len(there) and _FIRST_DAY * unit <= there.min() and there.max() < _AFTER_LAST * unit:
            return _local(_dated(numbers, digits), local, f"time stamps as {words}")
    return Stamps(_epoch(numbers), naive=False)


def _dated(numbers: NDArray[np.float64], digits: int) -> _Naive:
    """Times from numbers such as 202402011015, NaT where there is no such day or minute."""
    whole = np.where(np.isfinite(numbers), numbers, 0.0).astype(np.int64)
    second, whole = (whole % 100, whole // 100) if digits == 14 else (np.zeros_like(whole), whole)
    hour_minute, date = (whole % 10_000, whole // 10_000) if digits > 8 else (np.zeros_like(whole), whole)
    hour, minute = hour_minute // 100, hour_minute % 100
    times = _days(date % 100, date // 100 % 100, date // 10_000) + (
        hour * 3600 + minute * 60 + second
    ).astype("timedelta64[s]")
    right = (hour < 24) & (minute < 60) & (second < 60)
    return np.where(right, times, np.datetime64("NaT"))


def _epoch(numbers: NDArray[np.float64]) -> Times:
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
    naive = _local(without.to_numpy(), local)
    at_ms[~aware] = naive.at_ms
    return Stamps(at_ms, naive.naive, unresolved=naive.unresolved)


def _civil(texts: "pd.Series[Any]", dates: Dates) -> tuple[_Naive, str]:
    """Dates with the year last, as naive times, NaT where a text is something else."""
    parts = texts.str.extract(f"^{_CIVIL.pattern}$")
    parts[6] = parts[6].str.replace(",", ".")
    first, second, year, hour, minute, seconds = (
        pd.to_numeric(parts[place], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        for place in (0, 2, 3, 4, 5, 6)
    )
    year = np.where(year < 100.0, year + 2000.0, year)
    half = parts[7].str.lower().to_numpy(dtype=object, na_value="")
    hour = np.where(half == "", hour, hour % 12.0 + 12.0 * (half == "p"))
    clock = np.nan_to_num(hour) * 3600.0 + np.nan_to_num(minute) * 60.0 + np.nan_to_num(seconds)
    mark = str(parts[1].dropna().iloc[0])
    order, why = _order(first, second, year, mark, dates)
    day, month = (first, second) if order == DAY_FIRST else (second, first)
    days = _days(day, month, year)
    words = f"day{mark}month{mark}year" if order == DAY_FIRST else f"month{mark}day{mark}year"
    said = f"dates as {words} ({why}; if not, set --dates)" if dates == "auto" else ""
    return days + np.rint(clock * 1000.0).astype("timedelta64[ms]"), said


def _order(first: Any, second: Any, year: Any, mark: str, dates: Dates) -> tuple[str, str]:
    """Which of the two numbers is the day, and why."""
    if dates != "auto":
        return dates, "as asked"
    days, months = bool(np.nanmax(first) > 12), bool(np.nanmax(second) > 12)
    if days and months:
        raise ValueError(
            f"expected one order of day and month, got {_shown(first, second, year, mark, first > 12)} and "
            f"{_shown(first, second, year, mark, second > 12)}; split the file or correct it"
        )
    if days or months:
        above = first > 12 if days else second > 12
        return (DAY_FIRST if days else MONTH_FIRST), f"there is {_shown(first, second, year, mark, above)}"
    ways = _way(_days(first, second, year)), _way(_days(second, first, year))
    if max(ways) > _CLEARLY * min(ways):
        return (DAY_FIRST if ways[0] < ways[1] else MONTH_FIRST), "the rows then follow each other"
    if mark == ".":
        return DAY_FIRST, "as usual with points"
    raise ValueError(
        f"expected dates that can be read in one way, got {_shown(first, second, year, mark, first > 0)}; "
        "say which it is with --dates day-first or --dates month-first"
    )


def _way(days: _Naive) -> float:
    """The days from row to row, added up, forwards or backwards."""
    known = days[~np.isnat(days)].astype("datetime64[D]").astype(np.int64)
    return float(np.abs(np.diff(known)).sum())


def _days(day: Any, month: Any, year: Any) -> _Naive:
    """Dates as midnight, NaT where a month has no such day."""
    there = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    months = np.where(there, (year - 1970.0) * 12.0 + month - 1.0, 0.0).astype(np.int64)
    starts = months.astype("datetime64[M]")
    found = starts.astype("datetime64[D]") + np.where(there, day - 1.0, 0.0).astype("timedelta64[D]")
    right = there & (found.astype("datetime64[M]") == starts)
    return np.where(right, found, np.datetime64("NaT")).astype("datetime64[s]")


def _shown(first: Any, second: Any, year: Any, mark: str, chosen: Any) -> str:
    place = int(np.flatnonzero(chosen)[0])
    return f"{int(first[place]):02d}{mark}{int(second[place]):02d}{mark}{int(year[place])}"


def _local(times: Any, local: ZoneInfo | None, said: str = "") -> Stamps:
    """Naive times of a zone; where clocks are set back, the order of the rows tells the two hours apart."""
    column: pd.Series[Any] = pd.Series(times)
    naive = bool(column.notna().any())
    known = column.dt.tz_localize(local or ZoneInfo("UTC"), ambiguous="NaT", nonexistent="NaT")
    lost = (known.isna() & column.notna()).to_numpy()
    if not lost.any():
        return Stamps(_milliseconds(known), naive, said)
    summer = np.ones(len(column), dtype=bool)
    early = column.dt.tz_localize(local, ambiguous=summer, nonexistent="NaT")
    late = column.dt.tz_localize(local, ambiguous=~summer, nonexistent="NaT")
    twice = lost & early.notna().to_numpy()
    turn = _turns(column.to_numpy().astype("datetime64[ms]").astype(np.int64), twice)
    at_ms = _milliseconds(known)
    at_ms = np.where(turn == 1, _milliseconds(early), np.where(turn == 2, _milliseconds(late), at_ms))
    return Stamps(at_ms, naive, said, int((lost & (turn == 0)).sum()))


def _turns(at_ms: Times, twice: NDArray[np.bool_]) -> NDArray[np.int8]:
    """1 for rows of the first of two equal hours, 2 for the second, 0 where the rows do not tell.

    Within one change of clocks the rows step back once: before it is summer, after it is winter.
    """
    turn = np.zeros(len(at_ms), dtype=np.int8)
    places = np.flatnonzero(twice)
    backwards = bool(np.median(np.sign(np.diff(at_ms))) < 0)
    for group in np.split(places, np.flatnonzero(np.diff(at_ms[places] // _DAY_MS) != 0) + 1):
        rows = group[::-1] if backwards else group
        steps = np.flatnonzero(np.diff(at_ms[rows]) <= 0) + 1
        if len(steps) == 1:
            turn[rows[: steps[0]]], turn[rows[steps[0] :]] = 1, 2
    return turn


def _milliseconds(times: "pd.Series[Any]") -> Times:
    naive = times.dt.tz_convert("UTC").dt.tz_localize(None)
    at_ms = naive.to_numpy().astype("datetime64[ms]").astype(np.int64)
    return np.where((at_ms >= 0) & (at_ms < LAST_MS), at_ms, UNREADABLE)
