"""Made-up co-locations, one row a minute: an autocorrelated gas, a sensor and a reference."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from model_export.recordings.recording import REFERENCE, TEMPERATURE, Recording, Series

MINUTE_MS = 60_000
FIRST_MS = 1_706_745_600_000  # 2024-02-01T00:00:00Z


def colocation(
    days: float = 8.0,
    seed: int = 0,
    sensor: str = "5A2D",
    *,
    every: int = 1,
    answers: Sequence[float] = (80.0, 0.0),
    noise: float = 0.03,
    first_ms: int = FIRST_MS,
    air: int = 0,
) -> Recording:
    """`answers` are millivolts per ppm, `every` is minutes between references, `air` the seed of the gas."""
    rng, outside = np.random.default_rng([1, seed]), np.random.default_rng([2, air])
    minutes = round(days * 1440)
    at_ms = first_ms + MINUTE_MS * np.arange(minutes)
    gas = 0.8 + 0.25 * wander(outside, minutes, 25.0) + 0.25 * wander(outside, minutes, 300.0)
    hour = np.arange(minutes) / 60.0
    temperature = 20.0 + 7.0 * np.sin(2.0 * np.pi * hour / 24.0) + 2.0 * wander(outside, minutes, 1000.0)
    baseline = 200.0 + 0.05 * (temperature - 20.0) ** 2 + wander(rng, minutes, 200.0)
    channels = {
        f"op{number}": baseline + answer * gas + rng.normal(0.0, 0.2, minutes)
        for number, answer in enumerate(answers, 1)
    }
    means = gas[: minutes // every * every].reshape(-1, every).mean(axis=1)
    reference = Series(at_ms[::every][: len(means)], means + noise * outside.standard_normal(len(means)))
    series = {name: Series(at_ms, values) for name, values in channels.items()}
    series |= {TEMPERATURE: Series(at_ms, temperature), REFERENCE: reference}
    return Recording("made-up", sensor, tuple(channels), series, {}, ())


def wander(rng: np.random.Generator, count: int, memory: float) -> NDArray[np.float64]:
    """Autocorrelated noise of variance 1, with a time constant of `memory` steps."""
    a = np.exp(-1.0 / memory)
    white = rng.standard_normal(count + round(5 * memory))
    return np.asarray(lfilter([np.sqrt(1.0 - a * a)], [1.0, -a], white)[-count:])
