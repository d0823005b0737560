"""How much warmer it is than it was: the recent past of a sensor's temperature, as an input like any other.

A cell is heavier than the thermometer beside it, and its zero current follows slowly. So the same electrode
potentials at the same temperature mean less gas, or more, while it is getting warmer than while it is not.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import repeat
from math import exp, fsum, isnan, nan

TEMPERATURE = "temperature"
PREFIX = "warming_"  # of the names of such channels
REACH_MS = 86_400_000  # how far back is looked at all
SHORTEST_MS = 60_000  # memory
DIGITS = 9  # of a temperature that is remembered: as many as are published, so that a journal gives it back

Recall = Callable[[str], Iterable[tuple[int, float]]]  # sensor -> starts in ms and temperatures, oldest first


@lru_cache
def weights(window_ms: int, memory_ms: int) -> tuple[float, ...]:
    """What each window of the last day counts, the newest first: exp(-age / memory), 1 in all.

    >>> [round(weight, 3) for weight in weights(window_ms=21_600_000, memory_ms=21_600_000)]
    [0.644, 0.237, 0.087, 0.032]
    """
    decayed = [exp(-older * window_ms / memory_ms) for older in range(REACH_MS // window_ms)]
    whole = fsum(decayed)
    return tuple(weight / whole for weight in decayed)


def nothing(_: str) -> tuple[()]:
    """What is recalled where there is nobody to ask."""
    return ()


class Past:
    """The temperatures of every sensor over the last day.

    The first time a sensor is asked about, `recall` tells what was before, such as before a restart.

    >>> past = Past(window_ms=900_000)
    >>> past.note("5A2D", 0, 20.0)
    >>> round(past.warming("5A2D", 900_000, 23.0, memory_ms=3_600_000), 9)
    3.0
    """

    def __init__(self, window_ms: int, recall: Recall = nothing) -> None:
        self._window_ms = window_ms
        self._count = REACH_MS // window_ms
        self._recall = recall
        self._newest: dict[str, int] = {}  # the number of the newest window, counted from the epoch
        self._temperatures: dict[str, array[float]] = {}  # by number modulo count, NaN where there is none

    def note(self, sensor: str, start_ms: int, temperature: float) -> None:
        """Remember one window's mean."""
        held, number = self._held(sensor), start_ms // self._window_ms
        newest = self._newest.get(sensor, number)
        if abs(number - newest) >= self._count:  # a day later, or back from a stamp that was never true
            held[:] = array("d", repeat(nan, self._count))
            newest = number
        for skipped in range(newest + 1, number):
            held[skipped % self._count] = nan
        if self._count:
            held[number % self._count] = round(temperature, DIGITS)
        self._newest[sensor] = max(newest, number)

    def warming(self, sensor: str, start_ms: int, temperature: float, memory_ms: int) -> float:
        """The temperature of a window minus that of the day before it, the last hours counting most.

        A temperature that is missing is taken to be the next one known, which may be this window's.
        """
        held, number = self._held(sensor), start_ms // self._window_ms
        newest, then, warming = self._newest.get(sensor, number), temperature, 0.0
        for before, weight in enumerate(weights(self._window_ms, memory_ms), 1):
            place = number - before
            if newest - self._count < place <= newest and not isnan(known := held[place % self._count]):
                then = known
            warming += weight * (temperature - then)
        return warming

    def known(self, sensor: str, start_ms: int, memory_ms: int) -> float:
        """How much of what counts in `warming` is known, 0 to 1."""
        held, number = self._held(sensor), start_ms // self._window_ms
        newest = self._newest.get(sensor, number)
        return sum(
            weight
            for before, weight in enumerate(weights(self._window_ms, memory_ms), 1)
            if newest - self._count < number - before <= newest
            and not isnan(held[(number - before) % self._count])
        )

    def _held(self, sensor: str) -> "array[float]":
        if sensor not in self._temperatures:
            self._temperatures[sensor] = array("d", repeat(nan, self._count))
            for start_ms, temperature in self._recall(sensor):
                self.note(sensor, start_ms, temperature)
        return self._temperatures[sensor]

    def warmings(
        self, sensor: str, start_ms: int, temperature: float, memories_ms: Mapping[str, int]
    ) -> dict[str, float]:
        """The same for several memories, each under its name."""
        return {
            name: self.warming(sensor, start_ms, temperature, memory_ms)
            for name, memory_ms in memories_ms.items()
        }
