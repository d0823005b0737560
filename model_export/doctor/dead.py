"""Channels that carry only the noise of their amplifier: a broken bond, a loose plug, a missing cell.

Air and weather change slowly, so successive windows of a working electrode are correlated. This also holds
for an auxiliary electrode that hardly responds to anything. How well a channel is explained by other columns
is no criterion: in steady weather little explains a sound auxiliary electrode.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import ndtri

from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.recordings.dataset import MIN_WINDOWS, Dataset

LEVEL = 0.999  # share of white-noise channels inside the band
LARGEST = 0.5  # correlation; with so few windows that the band is wider, no channel is called dead


def memory(dataset: Dataset, channel: int) -> tuple[float, int]:
    """The correlation of successive window means of a channel, and the number of pairs."""
    values, next_to = dataset.inputs[:, channel], np.diff(dataset.start_ms) == dataset.window_ms
    before, after = values[:-1][next_to], values[1:][next_to]
    if len(before) < MIN_WINDOWS or not (np.ptp(before) > 0.0 and np.ptp(after) > 0.0):
        return 1.0, len(before)
    return float(np.corrcoef(before, after)[0, 1]), len(before)


def dead(dataset: Dataset) -> tuple[str, ...]:
    """The channels that are white noise; a constant channel is stuck, not dead."""
    found = []
    for place, channel in enumerate(dataset.channels):
        correlation, pairs = memory(dataset, place)
        if correlation <= _noise(pairs) <= LARGEST:
            found.append(channel)
    return tuple(found)


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """Channels that are white noise.

    Statistic: the correlation r of a channel's successive window means, over n pairs.
    Null: white noise, whose r is normal with standard deviation 1/√n.
    Threshold: r is below the LEVEL quantile of the null.
    """
    for case in cases:
        for channel in case.dead:
            yield _finding(case, channel)


def _noise(pairs: int) -> float:
    return float(ndtri(LEVEL) / np.sqrt(max(pairs, 1)))


def _finding(case: Case, channel: str) -> Finding:
    place = case.windows.channels.index(channel)
    correlation, pairs = memory(case.windows, place)
    values = case.windows.inputs[:, place]
    evidence = {
        "column": channel,
        "correlation": correlation,
        "noise_at_most": _noise(pairs),
        "level": LEVEL,
        "pairs": pairs,
        "median": float(np.median(values)),
        "spread": float(np.std(values)),
    }
    return case.finding(
        "dead_channel",
        "error",
        evidence,
        f"{channel} is white noise around {evidence['median']:.4g} (correlation of successive windows "
        f"{correlation:.2f})",
        f"Look for a loose plug, a broken bond or a dead cell at {channel}, and replace the part. A "
        "calibration from this recording cannot use that electrode.",
    )
