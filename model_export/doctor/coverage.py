"""Is there enough to learn from? Days beside the reference, and temperatures met there."""

import numpy as np

from edge_agent.core.windows import WINDOW_MS
from model_export.doctor.finding import Finding
from model_export.doctor.minutes import DAY_MS
from model_export.recordings.dataset import Dataset

DAYS = 7.0  # of valid windows: working days and a weekend
# About 10 °C double an electrode's zero current; over less than that its growth cannot be told from noise.
RANGE = 10.0
INNER = (2.5, 97.5)  # percentiles: the ends hold too few windows to learn from


def examine(dataset: Dataset, sensor: str, name: str) -> list[Finding]:
    """Findings where the co-location was short or its temperatures were all alike. Rules, not tests."""
    return [*_short(dataset, sensor, name), *_narrow(dataset, sensor, name)]


def _short(dataset: Dataset, sensor: str, name: str) -> list[Finding]:
    days = len(dataset) * WINDOW_MS / DAY_MS
    if days >= DAYS:
        return []
    span = float(np.ptp(dataset.start_ms)) / DAY_MS if len(dataset) else 0.0
    return [
        Finding(
            "colocation_short",
            "warning",
            sensor,
            name,
            {"windows": len(dataset), "days": days, "span_days": span, "needed_days": DAYS},
            f"{days:.1f} days of valid windows stand beside the reference, fewer than {DAYS:g}",
            "Leave the sensor beside the reference for longer; until then use the calibration only in "
            "weather like that of those days.",
        )
    ]


def _narrow(dataset: Dataset, sensor: str, name: str) -> list[Finding]:
    if not len(dataset):
        return []
    low, high = map(float, np.percentile(dataset.auxiliary, INNER))
    if high - low >= RANGE:
        return []
    return [
        Finding(
            "narrow_temperature",
            "warning",
            sensor,
            name,
            {"low": low, "high": high, "range": high - low, "needed_range": RANGE},
            f"95 % of the windows lie between {low:.1f} and {high:.1f} °C",
            "The calibration knows nothing outside these temperatures. Add a recording from another season, "
            "or flag estimates made elsewhere.",
        )
    ]
