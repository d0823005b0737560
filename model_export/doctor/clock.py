"""Is the reference's clock right? The lag at which the channels follow it best, and how sure that is."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edge_agent.core.windows import MINUTE_MS
from model_export.doctor.finding import Finding
from model_export.doctor.lag import Scan, explained
from model_export.doctor.resample import interval, least
from model_export.recordings.tables import REFERENCE, Recording, Series

LEVEL = 0.99
TOLERANCE = 3  # minutes, a fifth of a window; sensors answer within one
WIDEST = 15  # minutes: an offset not known to within a window is not known

_CAUSES = (
    "whole and half hours are mostly a time zone or summer time (--timezone), 15 minutes mostly stamps at "
    "the end of an average (--reference end). Then set the analyser's clock."
)


def offset(scan: Scan | None) -> int:
    """The minutes by which the reference's stamps must be moved later; 0 unless that is certain.

    The whole interval of the block bootstrap must lie beyond the tolerance on one side and be narrow, and
    the move must explain more than nothing.
    """
    if scan is None:
        return 0
    low, high = interval(scan.best.astype(float), LEVEL)
    beyond = low >= TOLERANCE or high <= -TOLERANCE
    best = int(scan.best[0])
    gain = explained(scan.moments[best])[:, 0] - explained(scan.moments[0])[:, 0]
    certain = beyond and high - low <= WIDEST and least(gain, LEVEL) > 0.0
    return best if certain else 0


def changed(halves: Sequence[Scan | None]) -> bool:
    """Whether the first and the second half of a recording plainly want different minutes.

    Both must know theirs, neither may lie in the other's interval or near it, and one at least must be off.
    """
    first, second = halves
    if first is None or second is None or not (offset(first) or offset(second)):
        return False
    (low, high), (other_low, other_high) = (
        interval(each.best.astype(float), LEVEL) for each in (first, second)
    )
    known = max(high - low, other_high - other_low) <= WIDEST and _follows(first) and _follows(second)
    return known and (other_low - high >= TOLERANCE or low - other_high >= TOLERANCE)


def examine_halves(halves: Sequence[Scan | None], sensor: str, dataset: str) -> list[Finding]:
    """A finding where the clock was set or ran during the recording."""
    first, second = halves
    if first is None or second is None or not changed(halves):
        return []
    before, after = int(first.best[0]), int(second.best[0])
    return [
        Finding(
            "reference_clock_changed",
            "error",
            sensor,
            dataset,
            {"first_half": _half(first), "second_half": _half(second), "level": LEVEL},
            f"the reference's clock changed on the way: its stamps must be moved {before:+d} minutes in the "
            f"first half and {after:+d} in the second",
            "Do not move all stamps alike. Look in the records of analyser and logger when a clock was set "
            "or how fast it ran, split the recording there, diagnose each part by itself and correct each "
            "part by its own minutes. Other findings here may come from this one.",
        )
    ]


def examine(scan: Scan | None, sensor: str, dataset: str) -> list[Finding]:
    """A finding where the reference is plainly early or late."""
    minutes = offset(scan)
    if scan is None or not minutes:
        return []
    right = float(scan.explained[scan.lags == minutes][0])
    now = float(scan.explained[scan.lags == 0][0])
    low, high = interval(scan.best.astype(float), LEVEL)
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
    return [
        Finding(
            "reference_clock_offset",
            "error",
            sensor,
            dataset,
            evidence,
            f"the reference's clock is {abs(minutes)} minutes {behind}: moved, it goes with the sensor "
            f"(R² {right:.2f}), as stamped it does not (R² {now:.2f})",
            f"Move the reference's time stamps {abs(minutes)} minutes {later} and fit again; {_CAUSES}",
        )
    ]


def moved(recording: Recording, minutes: int) -> Recording:
    """The recording with the reference's stamps moved later."""
    if not minutes:
        return recording
    series = recording.series[REFERENCE]
    later = Series(series.at_ms + minutes * MINUTE_MS, series.values)
    return replace(recording, series={**recording.series, REFERENCE: later})


def _follows(scan: Scan) -> bool:
    """Whether the channels follow the reference at all, at the best lag."""
    return least(explained(scan.moments[int(scan.best[0])])[:, 0], LEVEL) > 0.0


def _half(scan: Scan) -> dict[str, float]:
    low, high = interval(scan.best.astype(float), LEVEL)
    return {
        "minutes": int(scan.best[0]),
        "low": low,
        "high": high,
        "r2_as_stamped": float(scan.explained[scan.lags == 0][0]),
        "r2_moved": float(scan.explained.max()),
        "blocks": scan.blocks,
    }
