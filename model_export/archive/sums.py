"""Sums over groups of neighbours, as exact as `math.fsum`, for all groups at once."""

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array

Places = NDArray[np.intp]


def first_places(keys: NDArray[np.int64]) -> Places:
    """The place where each run of equal keys begins.

    >>> first_places(np.array([7, 7, 8, 9, 9])).tolist()
    [0, 2, 3]
    """
    return np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else keys


def sizes(first: Places, total: int) -> Places:
    """How many values each run has.

    >>> sizes(np.array([0, 2, 3]), 5).tolist()
    [2, 1, 2]
    """
    return np.diff(first, append=total)


def exact_sums(values: Array, first: Places) -> Array:
    """The sum of every run, with the rounding errors added up apart (Knuth's TwoSum).

    All first values are added to all second values, and so on: the loop is as long as the longest run.

    >>> exact_sums(np.array([1e16, 1.0, -1e16, 0.1, 0.2]), np.array([0, 3])).tolist()
    [1.0, 0.30000000000000004]
    """
    counts = sizes(first, len(values))
    order = np.argsort(-counts, kind="stable")
    ordered, starts = counts[order], first[order]
    total, error = values[starts], np.zeros(len(starts))
    for rank in range(1, ordered[0] if len(ordered) else 0):
        still = slice(np.searchsorted(-ordered, -rank))
        before, value = total[still], values[starts[still] + rank]
        after = before + value
        added = after - before
        error[still] += (before - (after - added)) + (value - added)
        total[still] = after
    sums = np.empty(len(starts))
    sums[order] = total + error
    return sums
