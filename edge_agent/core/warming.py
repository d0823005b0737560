"""Warming: how much warmer a sensor is than in its recent past, as an input of the model.

A cell is heavier than the thermometer beside it, and its zero current follows the temperature slowly. So the
same electrode potentials at the same temperature mean less gas, or more, while the cell is warming up.
"""

from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import compress, repeat
from math import exp, fsum, isnan, nan

TEMPERATURE = "temperature"
PREFIX = "warming_"  # of the names of such channels
REACH_MS = 86_400_000  # temperatures older than this do not count
SHORTEST_MS = 60_000  # memory
DIGITS = 9  # of a stored temperature: as many as are published, so that the journal restores it exactly


@lru_cache
def weights(window_ms: int, memory_ms: int) -> tuple[float, ...]:
    """The weight of each window of the last day, the newest first: exp(-age / memory), with sum 1.

    >>> [round(weight, 3) for weight in weights(window_ms=21_600_000, memory_ms=21_600_000)]
    [0.644, 0.237, 0.087, 0.032]
    """
    decayed = [exp(-older * window_ms / memory_ms) for older in range(REACH_MS // window_ms)]
    whole = fsum(decayed)
    return tuple(weight / whole for weight in decayed)


class Past:
    """The temperatures of every sensor over the last day.

    >>> past = Past(window_ms=900_000)
    >>> past.note("5A2D", 0, 20.0)
    >>> round(past.warming("5A2D", 900_000, 23.0, memory_ms=3_600_000), 9)
    3.0
    """

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._count = REACH_MS // window_ms
        self._newest: dict[str, int] = {}  # the number of the newest window, counted from the epoch
        self._temperatures: dict[str, array[float]] = {}  # by number modulo count, NaN where there is none

    def note(self, sensor: str, start_ms: int, temperature: float) -> None:
        """Store the mean of one window."""
        stored, number = self._stored(sensor), start_ms // self._window_ms
        newest = self._newest.get(sensor, number)
        # A day later, or the first window after an implausible timestamp.
        if abs(number - newest) >= self._count:
            stored[:] = array("d", repeat(nan, self._count))
            newest = number
        for skipped in range(newest + 1, number):
            stored[skipped % self._count] = nan
        if self._count:
            stored[number % self._count] = round(temperature, DIGITS)
        self._newest[sensor] = max(newest, number)

    def correct(self, sensor: str, other: "Past") -> None:
        """Take over what another one knows of a sensor, as far as it is of the last day here."""
        if sensor not in other._newest:
            return
        newest, known = other._newest[sensor], other._stored(sensor)
        for number in range(newest - self._count + 1, newest + 1):
            temperature = known[number % self._count]
            if number > self._newest.get(sensor, number) - self._count and not isnan(temperature):
                self.note(sensor, number * self._window_ms, temperature)

    def compare(
        self, sensor: str, start_ms: int, temperature: float, memories_ms: Mapping[str, int], note: bool
    ) -> tuple[dict[str, float], float]:
        """The warming for each memory, by name, and the smallest share of its weights that is known.

        With `note` the temperature is stored for later windows.
        """
        warmings, shares = {}, [1.0]
        rises, known = self._rises(sensor, start_ms, temperature) if memories_ms and self._count else ([], [])
        for name, memory_ms in memories_ms.items():
            fading = weights(self._window_ms, memory_ms)
            warmings[name] = _weighted(fading, rises)
            shares.append(sum(compress(fading, known)))
        if note:
            self.note(sensor, start_ms, temperature)
        return warmings, min(shares)

    def warming(self, sensor: str, start_ms: int, temperature: float, memory_ms: int) -> float:
        """The temperature of a window minus the weighted mean of the day before it."""
        warmings, _ = self.compare(sensor, start_ms, temperature, {TEMPERATURE: memory_ms}, note=False)
        return warmings[TEMPERATURE]

    def _rises(self, sensor: str, start_ms: int, temperature: float) -> tuple[list[float], list[bool]]:
        """The temperature minus that of each window of the day before, newest first, and which are known.

        A missing temperature is replaced by the next known one, which may be that of this window.
        """
        stored, number = self._stored(sensor), start_ms // self._window_ms
        place, gap = number % self._count, number - 1 - self._newest.get(sensor, number)
        day = [*reversed(stored[:place]), *reversed(stored[place:])]
        if gap > 0:  # nothing is stored of the newest, and older ones are in their places
            day[:gap] = [nan] * min(gap, self._count)
        elif gap < 0:  # newer ones are in the places of the oldest
            day[gap:] = [nan] * min(-gap, self._count)
        known, then = [not isnan(was) for was in day], temperature
        rises = [
            temperature - (then := was if there else then) for was, there in zip(day, known, strict=True)
        ]
        return rises, known

    def _stored(self, sensor: str) -> "array[float]":
        if sensor not in self._temperatures:
            self._temperatures[sensor] = array("d", repeat(nan, self._count))
        return self._temperatures[sensor]


def _weighted(weights: Sequence[float], values: Sequence[float]) -> float:
    """The weighted sum, added up in order: the trainer has the same bits, and sum() depends on Python."""
    total = 0.0
    for weight, value in zip(weights, values, strict=False):
        total += weight * value
    return total
