"""`edge_agent.core.warming` for a whole recording at once: the same bits, without a step for each window."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from edge_agent.core.warming import DIGITS, weights
from edge_agent.core.windows import WINDOW_MS


def warmings(
    starts_ms: Iterable[int], temperatures: Mapping[int, float], memories_ms: Iterable[int]
) -> Array:
    """(n, memories) for the windows that start then; `temperatures` are those of all windows, by start."""
    starts = np.array(sorted(temperatures), dtype=np.int64)
    known = np.array([temperatures[start] for start in starts.tolist()])
    rounded = np.array([round(temperature, DIGITS) for temperature in known.tolist()])
    asked = np.searchsorted(starts, np.fromiter(starts_ms, dtype=np.int64))
    found = [_warming(starts, known, rounded, memory_ms)[asked] for memory_ms in memories_ms]
    return np.column_stack([np.empty((len(asked), 0)), *found])


def _warming(starts: NDArray[np.int64], known: Array, rounded: Array, memory_ms: int) -> Array:
    """Added up in the order of the agent, who takes a window that is missing to be the next known."""
    total = np.zeros(len(starts))
    for age, weight in enumerate(weights(WINDOW_MS, memory_ms), 1):
        next_known = np.searchsorted(starts, starts - age * WINDOW_MS)
        then = rounded[next_known]
        before = next_known < np.arange(len(starts))
        total += np.where(before, weight * (known - then), 0.0)
    return total
