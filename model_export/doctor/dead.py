"""Channels that carry nothing: a broken bond, a plug that is out, an amplifier without its cell.

Whatever an electrode measures, air and weather remember the last quarter of an hour, so the means of
successive windows go together, also those of an auxiliary that hardly answers anything. What a dead channel
shows is the noise of its amplifier. That is the null: the correlation of successive means of white noise has
the spread 1/√n. A channel that does not leave it is called dead; that nothing explains it would not do, since
little explains a sound auxiliary in steady weather.
"""

import numpy as np
from scipy.stats import norm

from edge_agent.core.windows import WINDOW_MS
from model_export.doctor.finding import Finding
from model_export.recordings.dataset import MIN_WINDOWS, Dataset

LEVEL = 0.999  # of dead channels are within
LARGEST = 0.5  # correlation: with so few windows that noise reaches further nothing is said


def memory(dataset: Dataset, channel: int) -> tuple[float, int]:
    """The correlation of successive window means of a channel, and how many pairs there are."""
    values, next_to = dataset.inputs[:, channel], np.diff(dataset.start_ms) == WINDOW_MS
    before, after = values[:-1][next_to], values[1:][next_to]
    if len(before) < MIN_WINDOWS or not (np.ptp(before) > 0.0 and np.ptp(after) > 0.0):
        return 1.0, len(before)
    return float(np.corrcoef(before, after)[0, 1]), len(before)


def dead(dataset: Dataset) -> tuple[str, ...]:
    """The channels that cannot be told from white noise; a constant one is stuck, not dead."""
    found = []
    for place, channel in enumerate(dataset.channels):
        correlation, pairs = memory(dataset, place)
        if correlation <= _noise(pairs) <= LARGEST:
            found.append(channel)
    return tuple(found)


def examine(dataset: Dataset, sensor: str, name: str) -> list[Finding]:
    """A finding for each channel that shows noise alone."""
    return [_finding(dataset, channel, sensor, name) for channel in dead(dataset)]


def _noise(pairs: int) -> float:
    return float(norm.ppf(LEVEL) / np.sqrt(max(pairs, 1)))


def _finding(dataset: Dataset, channel: str, sensor: str, name: str) -> Finding:
    place = dataset.channels.index(channel)
    correlation, pairs = memory(dataset, place)
    values = dataset.inputs[:, place]
    evidence = {
        "column": channel,
        "correlation": correlation,
        "noise_at_most": _noise(pairs),
        "level": LEVEL,
        "pairs": pairs,
        "median": float(np.median(values)),
        "spread": float(np.std(values)),
    }
    return Finding(
        "dead_channel",
        "error",
        sensor,
        name,
        evidence,
        f"{channel} shows noise alone, around {evidence['median']:.4g}: its windows have no more to do with "
        f"each other (correlation {correlation:.2f}) than white noise",
        f"Look for a plug that is out, a broken bond or a dead cell at {channel}, and replace the part. A "
        "calibration from this recording goes without what that electrode measures.",
    )
