"""How much warmer it is than it was: the recent past of a sensor's temperature, as an input like any other.

A cell is heavier than the thermometer beside it, and its zero current follows slowly. So the same electrode
potentials at the same temperature mean less gas, or more, while it is getting warmer than while it is not.
"""

from array import array
from collections.abc import Mapping
from functools import lru_cache
from itertools import repeat
from math import exp, fsum

REACH_MS = 86_400_000  # how far back is looked at all
DIGITS = 9  # of a temperature that is remembered: as many as are published, so that a journal gives it back


@lru_cache
def weights(window_ms: int, memory_ms: int) -> tuple[float, ...]:
    """What each window of the last day counts, the newest first: exp(-age / memory), 1 in all.

    >>> [round(weight, 3) for weight in weights(window_ms=21_600_000, memory_ms=21_600_000)]
    [0.644, 0.237, 0.087, 0.032]
    """
    decayed = [exp(-(age + 1) * window_ms / memory_ms) for age in range(REACH_MS // window_ms)]
    whole = fsum(decayed)
    return tuple(weight / whole for weight in decayed)


class Past:
    """The temperatures of every sensor over the last day; one that is missing is taken to be the next known.

    >>> past = Past(window_ms=900_000)
    >>> past.note("5A2D", 0, 20.0)
    >>> round(past.warming("5A2D", 900_000, 23.0, memory_ms=3_600_000), 9)
    3.0
    """

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._count = REACH_MS // window_ms
        self._newest: dict[str, int] = {}  # the number of the newest window, counted from the epoch
        self._temperatures: dict[str, array[float]] = {}  # by number modulo count

    def note(self, sensor: str, start_ms: int, temperature: float) -> None:
        """Remember one window's mean."""
        if not self._count:
            return
        number, known = start_ms // self._window_ms, round(temperature, DIGITS)
        newest = self._newest.get(sensor)
        if newest is None or abs(number - newest) >= self._count:  # also back from a stamp that was untrue
            self._temperatures[sensor] = array("d", repeat(known, self._count))
            self._newest[sensor] = number
            return
        held = self._temperatures[sensor]
        for each in range(min(newest + 1, number), number + 1):
            held[each % self._count] = known
        self._newest[sensor] = max(newest, number)

    def warming(self, sensor: str, start_ms: int, temperature: float, memory_ms: int) -> float:
        """The temperature of a window minus that of the day before it, the last hours counting most."""
        number, newest = start_ms // self._window_ms, self._newest.get(sensor)
        if newest is None or abs(number - newest) > self._count:
            return 0.0
        held, warming = self._temperatures[sensor], 0.0
        for age, weight in enumerate(weights(self._window_ms, memory_ms), 1):
            before = number - age
            if newest - self._count < before <= newest:
                warming += weight * (temperature - held[before % self._count])
        return warming

    def warmings(
        self, sensor: str, start_ms: int, temperature: float, memories_ms: Mapping[str, int]
    ) -> dict[str, float]:
        """The same for several memories, each under its name."""
        return {
            name: self.warming(sensor, start_ms, temperature, memory_ms)
            for name, memory_ms in memories_ms.items()
        }
