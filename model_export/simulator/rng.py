"""Random numbers of the simulator: named streams, and autocorrelated noise."""

from zlib import crc32

import numpy as np
from scipy.signal import lfilter

from edge_agent.core.kernel import Array

Stream = np.random.Generator
Range = tuple[float, float]


def stream(seed: int, *names: str) -> Stream:
    """A separate stream for every named part, so that leaving one part out does not change another.

    >>> bool(stream(1, "unit", "5A2D").random() == stream(1, "unit", "5A2D").random())
    True
    >>> bool(stream(1, "unit", "5A2D").random() == stream(1, "unit", "5CB6").random())
    False
    """
    return np.random.default_rng([seed, *(crc32(name.encode()) for name in names)])


def wander(rng: Stream, minutes: int, memory_minutes: float) -> Array:
    """A smooth stationary process (minutes,) of mean 0 and variance 1 with a memory of some minutes.

    White noise e through two equal poles, x[t] = 2a·x[t-1] - a²·x[t-2] + g·e[t] with a = exp(-1/memory)
    and g² = (1 - a²)³/(1 + a²), which makes the variance 1. The first ten memories are dropped.
    """
    a = np.exp(-1.0 / memory_minutes)
    gain = np.sqrt((1.0 - a * a) ** 3 / (1.0 + a * a))
    settling = int(10 * memory_minutes)
    noise = rng.standard_normal(settling + minutes)
    return np.asarray(lfilter([gain], [1.0, -2.0 * a, a * a], noise)[settling:])


def smoothed(signal: Array, memory_minutes: float) -> Array:
    """A signal of one value a minute after a first-order lag: x' = (signal - x)/memory."""
    a = np.exp(-1.0 / memory_minutes)
    return np.asarray(lfilter([1.0 - a], [1.0, -a], signal, zi=[a * signal[0]])[0])
