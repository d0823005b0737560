"""The gaps of a recording, such that exactly the wanted number of windows remains.

A window is valid if every channel has the minutes that the agent needs, 12 of 15, and the reference has a
value. Arrays are over the windows of a deployment, or over its minutes as (windows, 15).
"""

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.coverage import needed_minutes
from edge_agent.core.windows import WINDOW_MS
from model_export.simulator.analyser import WINDOW_MINUTES
from model_export.simulator.rng import Stream

Mask = NDArray[np.bool_]

WINDOWS_A_DAY = 96
NEEDED_MINUTES = needed_minutes(WINDOW_MS)
LOST_MINUTES = 0.006  # share of minutes lost by radio or bus
LOST_TEMPERATURES = 0.003


def reference_present(rng: Stream, windows: int) -> Mask:
    """When the reference has a value: in exactly so many windows, with nightly checks and some failures.

    The deployment lasts until that many windows are complete, so the last one always has a value.
    """
    failures = 2 + windows // 700
    span = np.ones(2 * windows + (failures + 1) * WINDOWS_A_DAY, dtype=bool)
    # Deployments start at 06:00 UTC. The nightly check is 52 windows later, at 00:30 in India.
    span[52::WINDOWS_A_DAY] = False
    for start in rng.integers(0, windows, failures):
        length = 2 + int(min(rng.exponential(WINDOWS_A_DAY / 4), WINDOWS_A_DAY - 4))
        span[start : start + length] = False
    return span[: int(np.flatnonzero(span)[windows - 1]) + 1]


def minutes_present(rng: Stream, reference: Mask, windows: int) -> tuple[Mask, Mask]:
    """When a package reports its electrodes and its temperature, (windows, 15) each.

    Exactly `windows` of the windows with a reference keep 12 minutes of both. Outages take the others.
    """
    usable = np.flatnonzero(reference)
    down = np.zeros((len(reference), WINDOW_MINUTES), dtype=bool)
    for first, last in _outages(rng, len(usable), len(usable) - windows):
        _blank(rng, down, int(usable[first]), int(usable[last]))
    electrodes = _losses(rng, down.shape, LOST_MINUTES)
    temperature = _losses(rng, down.shape, LOST_TEMPERATURES)
    return ~(down | _bounded(electrodes)), ~(down | _bounded(electrodes | temperature))


def _outages(rng: Stream, total: int, lost: int) -> list[tuple[int, int]]:
    """Disjoint runs (first, last) of places among `total` that together hold exactly `lost` of them.

    A few lost windows are scattered. Many come from a few long failures.
    """
    runs = lost if lost <= 3 else min(2 + lost // 150, 6)
    if runs == 0:
        return []
    lengths = np.ones(runs, dtype=int) + rng.multinomial(lost - runs, rng.dirichlet(np.full(runs, 0.7)))
    kept_before = np.sort(rng.integers(0, total - lost + 1, runs))
    firsts = kept_before + np.concatenate(([0], np.cumsum(lengths)[:-1]))
    return [(int(first), int(first + length - 1)) for first, length in zip(firsts, lengths, strict=True)]


def _blank(rng: Stream, down: Mask, first: int, last: int) -> None:
    """Remove all windows from first to last; each end keeps too few minutes to be valid."""
    too_few = NEEDED_MINUTES
    head, tail = rng.integers(0, too_few, 2)
    if first == last:
        tail = 0
    down.reshape(-1)[first * WINDOW_MINUTES + head : (last + 1) * WINDOW_MINUTES - tail] = True


def _losses(rng: Stream, shape: tuple[int, ...], rate: float) -> Mask:
    return np.asarray(rng.random(shape) < rate)


def _bounded(lost: Mask) -> Mask:
    """At most three lost minutes in a window, the earliest, so that losses alone never remove a window."""
    return np.asarray(lost & (np.cumsum(lost, axis=1) <= WINDOW_MINUTES - NEEDED_MINUTES))
