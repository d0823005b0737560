"""Single values of a bundle: each is checked, or refused with a ValueError that says what belongs there."""

from math import isfinite
from typing import Any

import numpy as np

from edge_agent.core.kernel import Array
from edge_agent.core.messages import LAST_MS, LIMIT, is_sensor
from edge_agent.core.model import Interval, Scale
from edge_agent.core.warming import REACH_MS, SHORTEST_MS

POWERS = (0.1, 10.0)
LONGEST_S = 86_400  # of a window

MAX_CHANNELS = 32  # the scaling is folded in (d + 1)² numbers
MAX_SUPPORT = 8_192  # the card samples the kernel at 41 x m places
MAX_TEXT = 64
SMALLEST = 1 / LIMIT  # spread, length scale: no estimate overflows, whatever else the bundle holds


def channels(value: Any) -> tuple[str, ...]:
    """The names of the channels, each once."""
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_CHANNELS:
        raise ValueError(f"something else where 1 to {MAX_CHANNELS} channels belong")
    names = tuple(name(channel) for channel in value)
    if len({*names}) < len(names):
        raise ValueError("a channel twice")
    return names


def name(value: Any) -> str:
    """A name that can be part of a topic."""
    if not is_sensor(text(value)):
        raise ValueError(f"{value!r:.40} where a name without / + # belongs")
    return str(value)


def text(value: Any) -> str:
    """A short printable text."""
    if not isinstance(value, str) or len(value) > MAX_TEXT or not value.isprintable():
        raise ValueError(f"{value!r:.40} where a short text belongs")
    return value


def is_fact(value: Any) -> bool:
    """Whether JSON has it: a score that could not be computed is NaN, and is left out."""
    return isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))


def number(value: Any) -> float:
    """A finite number below LIMIT in size."""
    if type(value) not in (int, float) or not -LIMIT < value < LIMIT:
        raise ValueError(f"{value!r:.40} where a number belongs")
    return float(value)


def pair(value: Any) -> tuple[float, float]:
    """Two numbers."""
    first, second = (number(each) for each in value)
    return first, second


def ordered_pair(value: Any) -> tuple[float, float]:
    """Two numbers, the lower first."""
    low, high = pair(value)
    if low > high:
        raise ValueError(f"a range from {low:g} to {high:g}")
    return low, high


def positive(value: Any) -> float:
    """A number that is large enough to divide by."""
    if number(value) < SMALLEST:
        raise ValueError(f"{value!r:.40} where a positive number belongs")
    return float(value)


def memory_ms(seconds: Any) -> int:
    """A time constant of warming, from seconds."""
    if type(seconds) not in (int, float) or not SHORTEST_MS <= seconds * 1000 <= REACH_MS:
        between = f"{SHORTEST_MS // 1000} to {REACH_MS // 1000} seconds"
        raise ValueError(f"a memory of {seconds!r:.40} where {between} belong")
    return round(float(seconds) * 1000)


def window_ms(seconds: Any) -> int:
    """The length of a window, from seconds."""
    if type(seconds) is not int or not 60 <= seconds <= LONGEST_S or seconds % 60:
        raise ValueError(f"windows of {seconds!r:.40} where whole minutes from 60 to {LONGEST_S} s belong")
    return seconds * 1000


def moment_ms(value: Any) -> int:
    """A time from 1970 to 2100, from seconds."""
    if type(value) is not int or not 0 <= value * 1000 < LAST_MS:
        raise ValueError(f"{value!r:.40} where seconds since 1970 belong")
    return value * 1000


def scale(value: Any) -> Scale:
    """A centre and a spread."""
    centre, spread = pair(value)
    return Scale(centre, positive(spread))


def interval(value: Any) -> Interval:
    """A half-width and a level, and a slope and an origin if there are some."""
    half_width, level, slope, origin = (number(each) for each in (*value, *[0.0] * (4 - len(value))))
    if min(half_width, slope) < 0.0 or not 0.0 < level < 1.0:
        raise ValueError(f"an interval of ±{half_width:g} at level {level:g}, {slope:+g} for each unit")
    return Interval(half_width, level, slope, origin)


def power(value: Any) -> float:
    """The power of the measured channels."""
    if not POWERS[0] <= number(value) <= POWERS[1]:
        raise ValueError(f"a power of {value:g} where {POWERS[0]:g} to {POWERS[1]:g} belong")
    return float(value)


def support(value: Any) -> Array:
    """The support temperatures."""
    if (found := len(value) // 4) > MAX_SUPPORT:
        raise ValueError(f"{found} support vectors where at most {MAX_SUPPORT} belong")
    return array(value, None)


def array(value: Any, rows: int | None) -> Array:
    """An array of float32 as doubles, in so many rows."""
    packed_array = np.frombuffer(value, dtype="<f4")
    # Before the cast, which warns of a signalling NaN.
    if not np.isfinite(packed_array).all():
        raise ValueError("a number that is not finite")
    array = packed_array.astype(np.float64)
    return array if rows is None else array.reshape(rows, -1)
