"""Intervals that cover at a stated level, by split-conformal prediction.

Take residuals |y - ŷ| of windows that the model did not learn from. If a fresh window is exchangeable with
them, its own residual is equally likely to take any rank among the n + 1, so the ⌈(n + 1)·level⌉-th smallest
of the n covers it with probability at least `level`, whatever the model and the noise.

Setting one part of a short recording aside for this would waste it, and one part is one week's weather.
So every train window is held out once (cross-conformal): the train part is cut into four stretches of time,
and each is estimated by a model learnt from the other three, by the same recipe and of the same size.
Stretches, not windows at random, since neighbouring windows share their weather; and long ones, as long as
the test part, since a calibration serves days after it was learnt (docs/evaluation.md has the comparison
with shorter ones). The last 20 % take no part in a fit, so the coverage it reports was not learnt from.

What no method gives is coverage under conditions that are not exchangeable with the recording: another
season, another site, another sensor.
"""

from collections.abc import Callable
from itertools import pairwise
from math import ceil

import numpy as np

from edge_agent.errors import BadRecording
from edge_agent.kernel import Array
from edge_agent.model import Interval
from model_export.dataset import Dataset

LEVEL = 0.9
FOLDS = 4

Estimator = Callable[[Dataset, Dataset], Array]  # learns from the first, estimates the second


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


def cross_conformal(dataset: Dataset, estimator: Estimator, level: float = LEVEL) -> Interval:
    """The interval from residuals of stretches of time, each estimated by what the others taught."""
    residuals = np.concatenate(
        [
            held.target - estimator(rest, held)
            for rest, held in (_apart(dataset, fold) for fold in _folds(len(dataset)))
        ]
    )
    return conformal(residuals, level)


def _folds(n: int) -> list[slice]:
    bounds = np.linspace(0, n, min(FOLDS, n) + 1).round().astype(int).tolist()
    return [slice(start, end) for start, end in pairwise(bounds)]


def _apart(dataset: Dataset, fold: slice) -> tuple[Dataset, Dataset]:
    outside = np.ones(len(dataset), dtype=bool)
    outside[fold] = False
    return dataset.part(outside), dataset.part(fold)
