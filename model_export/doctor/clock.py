"""The reference's clock: the lag at which the channels follow the reference best."""

from collections.abc import Iterator, Sequence

import numpy as np

from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.lag import Scan, explained
from model_export.doctor.resample import interval, least

LEVEL = 0.99
TOLERANCE = 3  # minutes, a fifth of a window; sensors respond within one minute
WIDEST = 15  # minutes; a wider interval does not determine the offset to a window

_CAUSES = (
    "Whole and half hours usually mean a time zone or summer time (--timezone). 15 minutes usually mean "
    "stamps at the end of an average (--reference end). Then set the analyser's clock."
)


def offset(scan: Scan | None) -> int:
    """The minutes to add to the reference's stamps; 0 unless they are certain.

    The interval of the block bootstrap must be narrow and lie beyond the tolerance on one side. The move
    must raise R².
    """
    if scan is None:
        return 0
    low, high = _between(scan)
    beyond = low >= TOLERANCE or high <= -TOLERANCE
    best = int(scan.best[0])
    gain = explained(scan.moments[best])[:, 0] - explained(scan.moments[0])[:, 0]
    certain = beyond and high - low <= WIDEST and least(gain, LEVEL) > 0.0
    return best if certain else 0


def changed(halves: Sequence[Scan | None]) -> bool:
    """Whether the two halves of a recording need different minutes.

    Both intervals must be narrow and more than the tolerance apart, and at least one half must be off.
    """
    first, second = halves
    if first is None or second is None or not (offset(first) or offset(second)):
        return False
    (low, high), (other_low, other_high) = _between(first), _between(second)
    known = max(high - low, other_high - other_low) <= WIDEST and _follows(first) and _follows(second)
    return known and (other_low - high >= TOLERANCE or low - other_high >= TOLERANCE)


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """A reference's clock that is wrong, or that changed during the recording.

    Statistic: the lag with the highest R² of the reference on the channels, within ±14 hours.
    Null: the lag is 0. The LEVEL interval of the lag comes from resampling blocks of 6 hours.
    Threshold: the whole interval is TOLERANCE from 0, or from the interval of the other half.
    """
    for case in cases:
        first, second = case.halves
        if first and second and changed(case.halves):
            yield _changed(case, first, second)
        elif case.scan and case.minutes:
            yield _wrong(case, case.scan, case.minutes)


def _changed(case: Case, first: Scan, second: Scan) -> Finding:
    before, after = int(first.best[0]), int(second.best[0])
    return case.finding(
        "reference_clock_changed",
        "error",
        {"first_half": _half(first), "second_half": _half(second), "level": LEVEL},
        f"the reference's clock changed during the recording: its stamps must be moved {before:+d} minutes "
        f"in the first half and {after:+d} in the second",
        "Do not move all stamps alike. Find in the records of analyser and logger when a clock was set or "
        "how fast it ran. Then split the recording there, diagnose each part by itself and correct each "
        "part by its own minutes. Other findings here may be consequences of this one.",
    )


def _wrong(case: Case, scan: Scan, minutes: int) -> Finding:
    right = float(scan.explained[scan.lags == minutes][0])
    now = float(scan.explained[scan.lags == 0][0])
    low, high = _between(scan)
    evidence = {
        "minutes": minutes,
        "low": low,
        "high": high,
        "level": LEVEL,
        "confidence": float(np.mean(scan.best[1:] * np.sign(minutes) >= TOLERANCE)),
        "r2_as_stamped": now,
        "r2_moved": right,
        "blocks": scan.blocks,
    }
    behind, later = ("behind", "later") if minutes > 0 else ("ahead", "earlier")
    return case.finding(
        "reference_clock_offset",
        "error",
        evidence,
        f"the reference's clock is {abs(minutes)} minutes {behind}: R² with the sensor is {now:.2f} as "
        f"stamped and {right:.2f} when corrected",
        f"Move the reference's time stamps {abs(minutes)} minutes {later} with "
        f"--shift-reference {minutes}min, and fit again. {_CAUSES}",
    )


def _between(scan: Scan) -> tuple[float, float]:
    """The minutes between which the best lag is, at LEVEL."""
    return interval(scan.best.astype(float), LEVEL)


def _follows(scan: Scan) -> bool:
    """Whether R² at the best lag is above 0."""
    return least(explained(scan.moments[int(scan.best[0])])[:, 0], LEVEL) > 0.0


def _half(scan: Scan) -> dict[str, float]:
    low, high = _between(scan)
    return {
        "minutes": int(scan.best[0]),
        "low": low,
        "high": high,
        "r2_as_stamped": float(scan.explained[scan.lags == 0][0]),
        "r2_moved": float(scan.explained.max()),
        "blocks": scan.blocks,
    }
