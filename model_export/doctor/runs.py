"""Runs of equal values in a column."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model_export.recordings.recording import Series


@dataclass(frozen=True, slots=True)
class Runs:
    """Where each run starts and how many values it has, in the order of time."""

    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]


def runs(series: Series) -> Runs:
    """The runs of a column.

    >>> runs(Series(np.arange(5), np.array([1.0, 1.0, 2.0, 3.0, 3.0]))).lengths.tolist()
    [2, 1, 2]
    """
    changes = np.flatnonzero(np.diff(series.values) != 0.0) + 1
    starts = np.concatenate([[0], changes])
    return Runs(starts, np.diff(np.concatenate([starts, [len(series.values)]])))
