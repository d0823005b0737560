"""Values that mean "no value": loggers write -9999, -999, -200 or 65535 where a measurement is missing."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from edge_agent.core.kernel import Array
from model_export.doctor.case import Case, Sentinel
from model_export.doctor.finding import Finding
from model_export.doctor.runs import visits
from model_export.recordings.recording import Recording, Series

_NINES = (99.0, 99.9, 200.0, 999.0, 999.9, 9999.0, 9999.9, 99999.0)
CODES = (*_NINES, *(-code for code in _NINES), -32768.0, 32767.0, 65535.0)
REPEATS = 3  # separate visits to the same value
FAR = 3.0  # ranges of the other values between them and a sentinel
FAR_CODE = 0.25  # the same for a value in CODES
MIDDLE = (5.0, 95.0)  # percentiles: the range of the other values
GRAVE = 0.001  # share of the values: a few are outliers, which the fit ignores
MOST = 4  # sentinels at each end of a column


def sentinels(column: str, series: Series) -> tuple[Sentinel, ...]:
    """The sentinels at both ends of a column, from the outside to the inside."""
    return (*_at_end(column, series, 1.0), *_at_end(column, series, -1.0))


def found_in(recording: Recording) -> tuple[Sentinel, ...]:
    """The sentinels of all columns."""
    return tuple(one for column, series in recording.series.items() for one in sentinels(column, series))


def without(recording: Recording, found: Sequence[Sentinel]) -> Recording:
    """The recording without its sentinels, so that they do not look like another fault."""
    series = dict(recording.series)
    for one in found:
        values = series[one.column]
        kept = values.values != one.value
        series[one.column] = Series(values.at_ms[kept], values.values[kept])
    return replace(recording, series=series)


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """Columns with values that mean "no value".

    Statistic: the distance of a value, visited REPEATS times or more, from the nearest other value.
    Null: none; this is a rule, not a test.
    Threshold: FAR ranges of the other values, FAR_CODE for the usual codes.
    """
    for case in cases:
        for one in case.sentinels:
            yield _finding(case, one)


def _at_end(column: str, series: Series, sign: float) -> Iterator[Sentinel]:
    """Sentinels at the low end (sign 1) or at the high end (sign -1)."""
    values = series.values
    for _ in range(MOST):
        value = _end(values, sign)
        if visits(series, value) < REPEATS:
            return
        others = values[values != value]
        is_code = value in CODES
        spread = _range(others)
        # Others that do not change do not say what is far, and codes alone do not say what is measured.
        if not (spread or is_code) or np.isin(others, CODES).all():
            return
        nearest = _end(others, sign)
        if abs(nearest - value) <= (FAR_CODE if is_code else FAR) * spread:
            return
        count = len(values) - len(others)
        yield Sentinel(column, value, count, count / len(series.values), _between(value, nearest), nearest)
        values = others


def _end(values: Array, sign: float) -> float:
    return float(values.min() if sign > 0.0 else values.max())


def _range(values: Array) -> float:
    """The range of the middle of the values, without the usual codes."""
    measured = values[~np.isin(values, CODES)]
    low, high = np.percentile(measured, MIDDLE) if len(measured) else (0.0, 0.0)
    return float(high - low)


def _between(value: float, nearest: float) -> float:
    """A short number in the middle of both.

    >>> _between(-9999.0, 201.3), _between(65535.0, 320.0)
    (-4900.0, 33000.0)
    """
    return float(f"{(value + nearest) / 2.0:.2g}")


def _finding(case: Case, one: Sentinel) -> Finding:
    side = "below" if one.value < one.nearest else "above"
    evidence = {
        "column": one.column,
        "value": one.value,
        "values": one.count,
        "share": one.share,
        "nearest": one.nearest,
        "side": side,
        "limit": one.limit,
    }
    return case.finding(
        "sentinel_values",
        "error" if one.share > GRAVE else "warning",
        evidence,
        f"{one.column} has {one.count} values of {one.value:g} that are no measurements: {one.share:.1%} of "
        f"its values, the nearest other value is {one.nearest:.4g}",
        f"Leave them out with --drop-{side} {one.column}={one.limit:g}, and fit again.",
    )
