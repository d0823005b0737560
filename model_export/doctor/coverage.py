"""The amount of data: days beside the reference, and the range of temperatures."""

from collections.abc import Iterator, Sequence

import numpy as np

from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.minutes import DAY_MS

DAYS = 7.0  # of valid windows: working days and a weekend
# 10 °C about double the zero current of an electrode. Over a smaller range its growth is lost in noise.
RANGE = 10.0
INNER = (2.5, 97.5)  # percentiles; there are too few windows beyond them to fit anything


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """Recordings that are short, or whose temperatures are nearly constant.

    Statistic: the days of valid windows, and the range of the middle 95 % of their temperatures.
    Null: none; these are rules, not tests.
    Threshold: fewer than DAYS days, or a range under RANGE °C.
    """
    for case in cases:
        days = len(case.windows) * case.windows.window_ms / DAY_MS
        if days < DAYS:
            yield _short(case, days)
        if len(case.windows):
            low, high = map(float, np.percentile(case.windows.auxiliary, INNER))
            if high - low < RANGE:
                yield _narrow(case, low, high)


def _short(case: Case, days: float) -> Finding:
    windows = case.windows
    span = float(np.ptp(windows.start_ms)) / DAY_MS if len(windows) else 0.0
    return case.finding(
        "colocation_short",
        "warning",
        {"windows": len(windows), "days": days, "span_days": span, "needed_days": DAYS},
        f"{days:.1f} days of valid windows beside the reference, fewer than {DAYS:g}",
        "Leave the sensor beside the reference for longer. Until then use the calibration only in weather "
        "like that of those days.",
    )


def _narrow(case: Case, low: float, high: float) -> Finding:
    return case.finding(
        "narrow_temperature",
        "warning",
        {"low": low, "high": high, "range": high - low, "needed_range": RANGE},
        f"95 % of the windows are between {low:.1f} and {high:.1f} °C",
        "The calibration is not valid outside these temperatures. Add a recording from another season, or "
        "flag estimates made elsewhere.",
    )
