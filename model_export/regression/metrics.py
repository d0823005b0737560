"""Agreement of estimates with the reference."""

from dataclasses import dataclass, replace
from math import nan, sqrt

import numpy as np

from edge_agent.core.kernel import Array


@dataclass(frozen=True, slots=True)
class Score:
    """Agreement over n windows; `bias` is the mean of estimate - reference, NaN stands for undefined."""

    n: int
    r2: float
    rmse: float
    mae: float
    bias: float
    coverage: float = nan  # share of references inside the model's interval, where it has one
    promised: float = nan  # share of windows with an interval
    interval_score: float = nan  # mean over them; the lower the better, in the unit of the reference


def varies(values: Array) -> bool:
    """Whether values differ by more than rounding.

    >>> varies(np.full(997, 0.1)), varies(np.array([0.1, 0.2]))
    (False, True)
    """
    return bool(len(values)) and float(np.ptp(values)) > 1e-9 * float(np.abs(values).max())


def r2(reference: Array, estimate: Array) -> float:
    """The share of the reference's variance that the estimate explains: 1 - Σ(y - ŷ)² / Σ(y - ȳ)².

    >>> r2(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]))
    1.0
    >>> r2(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0]))
    0.0
    """
    if not varies(reference):
        return nan
    return 1.0 - float(np.sum((reference - estimate) ** 2) / np.sum((reference - reference.mean()) ** 2))


def interval_score(error: Array, half_width: Array, level: float) -> float:
    """The mean of width + 2/(1 - level)·(what is missed): narrow is good, but missing costs more.

    >>> interval_score(np.array([0.0, 1.0]), np.array([0.5, 0.5]), level=0.9)
    6.0
    """
    missed = np.maximum(np.abs(error) - half_width, 0.0)
    return float(np.mean(2.0 * half_width + 2.0 / round(1.0 - level, 12) * missed))


def score(
    reference: Array, estimate: Array, half_width: Array | float | None = None, level: float = 0.9
) -> Score:
    """All figures of one set of estimates; `half_width` is NaN where no interval is promised.

    >>> found = score(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 3.0]), half_width=0.1)
    >>> found.n, found.r2, found.promised, round(found.coverage, 3), round(found.interval_score, 3)
    (3, 0.875, 1.0, 0.667, 2.867)
    """
    if len(reference) == 0:
        return Score(0, nan, nan, nan, nan)
    error = estimate - reference
    found = Score(
        n=len(error),
        r2=r2(reference, estimate),
        rmse=sqrt(float(np.mean(error**2))),
        mae=float(np.mean(np.abs(error))),
        bias=float(np.mean(error)),
    )
    if half_width is None:
        return found
    half_width = np.broadcast_to(np.asarray(half_width, dtype=float), error.shape)
    there = np.isfinite(half_width)
    if not there.any():
        return replace(found, promised=0.0)
    missed, width = error[there], half_width[there]
    return replace(
        found,
        coverage=float(np.mean(np.abs(missed) <= width)),
        promised=float(there.mean()),
        interval_score=interval_score(missed, width, level),
    )
