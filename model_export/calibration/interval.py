"""Intervals that cover at a stated level, by split-conformal prediction.

Take residuals |y - ŷ| of windows that the model was not fitted to. If a fresh window is exchangeable with
them, its own residual is equally likely to take any rank among the n + 1. So the ⌈(n + 1)·level⌉-th smallest
of the n covers it with probability at least `level`, for any model and any noise.

One part set aside for this would be one week's weather. So the train part is cut into four stretches of time.
Each stretch but the first is estimated by a model fitted to all before it, with the same recipe and size: a
calibration too serves days that follow its training. On train parts this came closer to the level than
estimating each stretch from the other three (docs/methods.md). The last 20 % of the recording are not
used, so the coverage that `fit` reports is an independent check.

No method gives coverage where conditions are not exchangeable with the recording: another season, another
site, another sensor.
"""

from collections.abc import Callable
from itertools import pairwise
from math import ceil

import numpy as np

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.model import Interval
from model_export.recordings.dataset import Dataset

LEVEL = 0.9
STRETCHES = 4

Estimate = Callable[[Dataset, Dataset], Array]  # fits the first dataset, estimates the second


def conformal(residuals: Array, level: float = LEVEL) -> Interval:
    """The interval whose half-width is the ⌈(n + 1)·level⌉-th smallest absolute residual.

    >>> conformal(np.arange(1.0, 20.0), level=0.9)
    Interval(half_width=18.0, level=0.9)
    """
    rank = ceil(round((len(residuals) + 1) * level, 9))  # 0.7·10 is 7, not 7.000000000000001
    if rank > len(residuals):
        raise BadRecording(
            f"interval: expected at least {ceil(round(level / (1.0 - level), 9))} held-out windows "
            f"for level {level:g}, got {len(residuals)}; add a longer recording"
        )
    return Interval(float(np.sort(np.abs(residuals))[rank - 1]), level)


def forward_conformal(dataset: Dataset, estimate: Estimate, level: float = LEVEL) -> Interval:
    """The interval from residuals of stretches of time, each estimated from those before it."""
    bounds = np.linspace(0, len(dataset), STRETCHES + 1).round().astype(int).tolist()
    stretches = [
        (dataset.part(slice(start)), dataset.part(slice(start, end))) for start, end in pairwise(bounds[1:])
    ]
    residuals = [after.target - estimate(before, after) for before, after in stretches]
    return conformal(np.concatenate(residuals), level)
