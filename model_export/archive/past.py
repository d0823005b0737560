"""Warming for all windows of a sensor at once: what `edge_agent.core.warming.Past` gives one by one."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edge_agent.core.kernel import Array
from edge_agent.core.quality import PAST_NEEDED
from edge_agent.core.warming import DIGITS, REACH_MS, weights
from model_export.archive.sums import Places
from model_export.archive.windows import Mask, Times

NEAR = 1e-9  # a known share so near to PAST_NEEDED is added up in the agent's order


@dataclass(frozen=True, slots=True)
class Temperatures:
    """The temperatures of a sensor's windows that have enough minutes, in the order of time; both (n,)."""

    start_ms: Times
    mean: Array

    @classmethod
    def none(cls) -> "Temperatures":
        """No temperature is known."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0))

    def since(self, from_ms: int) -> "Temperatures":
        """Those of windows that start then or later."""
        later = self.start_ms >= from_ms
        return Temperatures(self.start_ms[later], self.mean[later])

    def after(self, earlier: "Temperatures") -> "Temperatures":
        """Both, where the earlier ones are of windows before these."""
        starts, means = (earlier.start_ms, self.start_ms), (earlier.mean, self.mean)
        return Temperatures(np.concatenate(starts), np.concatenate(means))


@dataclass(frozen=True, slots=True)
class _Slots:
    """A sensor's past on a grid with a slot for every window, whether there is one or not; all (slots,)."""

    known: Mask
    next_known: Array  # the first known temperature from this slot on; 0 after the last
    last_before: Places  # the last slot before this one that is known, -1 if there is none


def warmings(
    start_ms: Times, temperature: Array, past: Temperatures, memories_ms: Mapping[str, int], length_ms: int
) -> tuple[dict[str, Array], Mask]:
    """The warming of every window for each memory, and whether enough of its past is known.

    `past` has the temperatures of these windows too. The grid spans all windows, so they should be of one
    month or so.
    """
    enough = np.ones(len(start_ms), dtype=bool)
    if not memories_ms or not len(start_ms):
        return {name: np.empty(0) for name in memories_ms}, enough
    reach = REACH_MS // length_ms
    number = start_ms // length_ms
    origin, past = int(number[0]) - reach, past.since((int(number[0]) - reach) * length_ms)
    slots = _slots(past.start_ms // length_ms - origin, past.mean, int(number[-1]) - origin + 1)
    places, found = number - origin, dict[str, Array]()
    for name, memory_ms in memories_ms.items():
        aged = np.array(weights(length_ms, memory_ms))
        found[name] = _warming(slots, places, temperature, aged)
        enough &= _share(slots, places, aged) >= PAST_NEEDED
    return found, enough


def _slots(places: Times, means: Array, count: int) -> _Slots:
    known, last = np.zeros(count, dtype=bool), np.full(count, -1, dtype=np.intp)
    known[places] = True
    last[places] = places
    last_before = np.concatenate(([-1], np.maximum.accumulate(last)[:-1]))
    ahead = np.searchsorted(places, np.arange(count))
    next_known = np.append(np.round(means, DIGITS), 0.0)[np.minimum(ahead, len(places))]
    return _Slots(known, next_known, last_before)


def _warming(slots: _Slots, places: Times, temperature: Array, aged: Array) -> Array:
    """temperature - Σ aged·next_known; between the last known window and this one its own temperature."""
    warming = temperature - np.convolve(slots.next_known, aged)[places - 1]
    last = slots.last_before[places]
    for row in np.flatnonzero(last < places - 1):
        warming[row] = _after_a_gap(slots, int(places[row]), int(last[row]), float(temperature[row]), aged)
    return np.asarray(warming)


def _after_a_gap(slots: _Slots, place: int, last: int, temperature: float, aged: Array) -> float:
    """The windows after the last known one do not count."""
    oldest = place - len(aged)
    then = slots.next_known[oldest : max(last + 1, oldest)][::-1]
    # A window without a temperature has no warming: NaN.
    return float(aged[len(aged) - len(then) :] @ (temperature - then)) + 0.0 * temperature


def _share(slots: _Slots, places: Times, aged: Array) -> Array:
    share = np.convolve(slots.known, aged)[places - 1]
    for row in np.flatnonzero(np.abs(share - PAST_NEEDED) < NEAR):
        known = slots.known[places[row] - len(aged) : places[row]][::-1]
        share[row] = sum(aged[known].tolist())
    return np.asarray(share)
