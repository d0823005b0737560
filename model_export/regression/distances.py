"""Quantiles of all pairwise distances, without the pairs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array


def length_scale_quantile(z: Any, q: float) -> float:
    """The q-quantile of |zᵢ - zⱼ| over all pairs i < j, in O(n log n) time and O(n) memory.

    >>> length_scale_quantile([0.0, 1.0, 3.0], 0.5)
    2.0
    """
    z = np.sort(np.asarray(z, dtype=float))
    rank = q * (len(z) * (len(z) - 1) // 2 - 1)
    low, high = (_smallest(z, int(k)) for k in (np.floor(rank), np.ceil(rank)))
    return float(low + (rank - np.floor(rank)) * (high - low))


def _smallest(z: Array, k: int) -> float:
    """The k-th smallest distance, from 0: bisect, counting pairs, until few enough remain to be listed."""
    low, high = -1.0, float(z[-1] - z[0])
    below, within = np.arange(1, len(z) + 1), np.full(len(z), len(z))  # pairs (i, j): j in below[i]:within[i]
    before = 0
    while np.sum(within - below) > 4 * len(z) and low < (middle := (low + high) / 2) < high:
        reach = np.maximum(np.searchsorted(z, z + middle, side="right"), np.arange(1, len(z) + 1))
        if (count := int(np.sum(reach - np.arange(1, len(z) + 1)))) <= k:
            low, below, before = middle, reach, count
        else:
            high, within = middle, reach
    if low >= 0.0 and np.nextafter(low, high) >= high:
        return high
    return float(np.partition(_listed(z, below, within), k - before)[k - before])


def _listed(z: Array, start: NDArray[np.intp], stop: NDArray[np.intp]) -> Array:
    """The distances z[j] - z[i] for start[i] <= j < stop[i]."""
    lengths = stop - start
    first = np.repeat(np.arange(len(z)), lengths)
    offset = np.arange(len(first)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.asarray(z[np.repeat(start, lengths) + offset] - z[first])
