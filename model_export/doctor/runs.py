"""Runs of equal values in a column: it may have millions, so few arrays of its length are made."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model_export.recordings.recording import Series


@dataclass(frozen=True, slots=True)
class Runs:
    """Where each run starts and how many values it has, in the order of time."""

    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]

    def of(self, chosen: NDArray[np.bool_]) -> "Runs":
        """Some of them."""
        return Runs(self.starts[chosen], self.lengths[chosen])


def runs(series: Series) -> Runs:
    """The runs of a column.

    >>> runs(Series(np.arange(5), np.array([1.0, 1.0, 2.0, 3.0, 3.0]))).lengths.tolist()
    [2, 1, 2]
    """
    starts = np.flatnonzero(np.concatenate([[True], series.values[1:] != series.values[:-1]]))
    return Runs(starts, np.diff(starts, append=len(series.values)))


def visits(series: Series, value: float) -> int:
    """How many runs of a column have this value.

    >>> visits(Series(np.arange(5), np.array([1.0, 1.0, 2.0, 1.0, 3.0])), 1.0)
    2
    """
    there = series.values == value
    return int(there[0]) + int(np.sum(there[1:] & ~there[:-1]))
