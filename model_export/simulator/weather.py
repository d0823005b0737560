"""The weather of Lucknow, one value a minute: temperature, sun, mixing height and wind."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from edge_agent.core.kernel import Array
from model_export.simulator.rng import Stream, wander

Times = NDArray[np.int64]

MINUTE_MS = 60_000
DAY_MS = 86_400_000
IST_MS = 19_800_000  # Indian Standard Time is UTC+05:30

# Mean daily maximum and minimum by month, January first: about the 1991-2020 normals of Lucknow (Amausi), °C.
MAXIMUM = (21.9, 26.1, 32.0, 37.7, 39.6, 38.4, 34.3, 33.6, 33.3, 32.9, 28.9, 24.0)
MINIMUM = (7.6, 10.5, 15.0, 20.4, 24.4, 26.8, 26.4, 26.0, 24.5, 19.6, 13.6, 8.9)
# Mixing height by month, October = 1: low in the fog of winter, high in the heat of spring.
DEPTH = (0.65, 0.90, 1.20, 1.50, 1.70, 1.60, 1.40, 1.40, 1.30, 1.00, 0.80, 0.65)


@dataclass(frozen=True, slots=True)
class Weather:
    """One stretch of weather, all (n,); height and wind relative to the mean of an October day."""

    at_ms: Times
    hour: Array  # Indian time, 0 to 24
    temperature: Array  # °C
    sun: Array  # 0 at night, 1 at a clear noon
    height: Array
    wind: Array


def daily(morning: Sequence[float], afternoon: Sequence[float]) -> CubicSpline:
    """A smooth periodic curve through 24 hourly values."""
    return CubicSpline(range(25), (*morning, *afternoon, morning[0]), bc_type="periodic")


# -1 at dawn, the minimum, and +1 in the early afternoon, the maximum.
_WARMTH = daily(
    (-0.58, -0.67, -0.75, -0.83, -0.91, -0.98, -1.0, -0.82, -0.42, 0.02, 0.38, 0.65),
    (0.83, 0.94, 1.0, 0.98, 0.86, 0.58, 0.26, 0.04, -0.12, -0.25, -0.37, -0.48),
)
# A clear night cools the ground and limits the mixing; the sun raises the limit from nine o'clock on.
_HEIGHT = daily(
    (0.42, 0.40, 0.39, 0.38, 0.37, 0.36, 0.36, 0.37, 0.40, 0.52, 0.85, 1.30),
    (1.65, 1.90, 2.05, 2.05, 1.85, 1.35, 0.82, 0.62, 0.54, 0.49, 0.46, 0.44),
)
_WIND = daily(
    (0.60, 0.58, 0.56, 0.55, 0.55, 0.55, 0.56, 0.62, 0.75, 0.95, 1.15, 1.30),
    (1.42, 1.48, 1.50, 1.46, 1.35, 1.12, 0.90, 0.78, 0.72, 0.68, 0.65, 0.62),
)


def draw_weather(rng: Stream, start_ms: int, minutes: int, liveliness: float = 1.0) -> Weather:
    """Some minutes of weather; `liveliness` scales the deviations from the normals (0: none)."""
    at_ms = start_ms + MINUTE_MS * np.arange(minutes, dtype=np.int64)
    hour = (at_ms + IST_MS) % DAY_MS / 3_600_000
    calm = np.exp(0.28 * liveliness * wander(rng, minutes, 1_200))
    gusts = np.exp(0.22 * liveliness * wander(rng, minutes, 40))
    lid = np.exp(0.15 * liveliness * wander(rng, minutes, 300))
    clear_sun = np.clip(np.sin(np.pi * (hour - 6.0) / 12.0), 0.0, None)
    sun = clear_sun * np.clip(0.85 + 0.25 * liveliness * wander(rng, minutes, 25), 0.0, 1.0)
    return Weather(
        at_ms=at_ms,
        hour=hour,
        temperature=_temperature(rng, at_ms, hour, liveliness) + sun - 0.85 * clear_sun,
        sun=sun,
        height=_HEIGHT(hour) * by_month(DEPTH, at_ms) * lid,
        wind=_WIND(hour) * calm * gusts,
    )


def by_month(values: Sequence[float], at_ms: Times) -> Array:
    """Twelve monthly normals, each at the middle of its month, interpolated to the minute."""
    month = at_ms / (365.2425 * DAY_MS) * 12 % 12
    return np.interp(month, np.arange(12) + 0.5, values, period=12)


def _temperature(rng: Stream, at_ms: Times, hour: Array, liveliness: float) -> Array:
    """The month's normals, with deviations of days (haze, fronts) and of minutes (turbulence)."""
    low, high = by_month(MINIMUM, at_ms), by_month(MAXIMUM, at_ms)
    clear = 1.0 + 0.15 * liveliness * wander(rng, len(at_ms), 700)
    fronts = 1.7 * liveliness * wander(rng, len(at_ms), 2_000)
    ruffle = 0.12 * wander(rng, len(at_ms), 4)
    usual = (low + high) / 2 + (high - low) / 2 * clear * _WARMTH(hour)
    return np.asarray(usual + fronts + ruffle)
