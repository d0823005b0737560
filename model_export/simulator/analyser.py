"""The reference instrument: a mean every 15 minutes, a zero that shifts, and outliers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from model_export.simulator.rng import Stream

WINDOW_MINUTES = 15
NOISE = 0.02  # ppm; about what makers of NDIR analysers state
ZERO_SPREAD = 0.1  # ppm; the shift of zero after a move of the van or a service
GAIN_SPREAD = 0.015


@dataclass(frozen=True, slots=True)
class Analyser:
    """The instrument in one deployment: reading = gain·CO + zero + noise."""

    zero: float = 0.0
    gain: float = 1.0


def draw_analyser(rng: Stream) -> Analyser:
    """The instrument after another move of the van."""
    return Analyser(zero=ZERO_SPREAD * rng.standard_normal(), gain=1.0 + GAIN_SPREAD * rng.standard_normal())


def measure(rng: Stream, analyser: Analyser, co: Array) -> Array:
    """One reading (m,) for every whole 15 minutes of the true CO (15·m,)."""
    means = co.reshape(-1, WINDOW_MINUTES).mean(axis=1)
    return np.asarray(analyser.gain * means + analyser.zero + NOISE * rng.standard_normal(len(means)))


def spoil(rng: Stream, reference: Array, rate: float) -> tuple[Array, NDArray[np.bool_]]:
    """The readings with outliers, and their places; a share `rate` of the readings, rounded.

    Half are plumes at the analyser's inlet only, whose mast is apart from the packages. Half are zero checks
    that were not flagged, so the reading falls towards 0.
    """
    present = np.flatnonzero(~np.isnan(reference))
    where = np.zeros(len(reference), dtype=bool)
    where[rng.choice(present, round(rate * len(present)), replace=False)] = True
    plume = reference * (1.0 + np.exp(0.5 * rng.standard_normal(len(reference))))
    checked = reference * rng.uniform(0.0, 0.3, len(reference))
    bad = np.where(rng.random(len(reference)) < 0.5, plume, checked)
    return np.where(where, bad, reference), where
