"""Agreement of estimates with the reference."""

from dataclasses import dataclass
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
    coverage: float  # share of references inside the model's interval


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


def score(reference: Array, estimate: Array, half_width: float | None = None) -> Score:
    """All figures of one set of estimates.

    >>> score(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 3.0]), half_width=0.1)
    Score(n=3, r2=0.875, rmse=0.28867513459481287, mae=0.16666666666666666, bias=0.16666666666666666, \
coverage=0.6666666666666666)
    """
    if len(reference) == 0:
        return Score(0, nan, nan, nan, nan, nan)
    error = estimate - reference
    return Score(
        n=len(error),
        r2=r2(reference, estimate),
        rmse=sqrt(float(np.mean(error**2))),
        mae=float(np.mean(np.abs(error))),
        bias=float(np.mean(error)),
        coverage=nan if half_width is None else float(np.mean(np.abs(error) <= half_width)),
    )
