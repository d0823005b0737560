"""The regulatory-grade instrument: a mean every 15 minutes, a zero that moves, and its bad moments."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from model_export.simulator.rng import Stream

WINDOW_MINUTES = 15
NOISE = 0.02  # ppm; what makers of NDIR analysers state, about
ZERO_SPREAD = 0.1  # ppm; the shift of zero that a move of the van or a service leaves behind
GAIN_SPREAD = 0.015


@dataclass(frozen=True, slots=True)
class Analyser:
    """The instrument as one deployment finds it: reading = gain·CO + zero + noise."""

    zero: float = 0.0
    gain: float = 1.0


def draw_analyser(chance: Stream) -> Analyser:
    """The instrument after another move of the van."""
    return Analyser(
        zero=ZERO_SPREAD * chance.standard_normal(), gain=1.0 + GAIN_SPREAD * chance.standard_normal()
    )


def measure(chance: Stream, analyser: Analyser, co: Array) -> Array:
    """One reading (m,) for every whole 15 minutes of the true CO (15·m,)."""
    means = co.reshape(-1, WINDOW_MINUTES).mean(axis=1)
    return np.asarray(analyser.gain * means + analyser.zero + NOISE * chance.standard_normal(len(means)))


def spoil(chance: Stream, reference: Array, rate: float) -> tuple[Array, NDArray[np.bool_]]:
    """The readings with outliers, and where they are; a share `rate` of those not missing, rounded.

    Two kinds, in halves: a plume that the inlet of the analyser met and the packages did not (its mast stands
    apart), and a check of the zero that was not flagged, so that the reading falls towards nothing.
    """
    present = np.flatnonzero(~np.isnan(reference))
    where = np.zeros(len(reference), dtype=bool)
    where[chance.choice(present, round(rate * len(present)), replace=False)] = True
    plume = reference * (1.0 + np.exp(0.5 * chance.standard_normal(len(reference))))
    checked = reference * chance.uniform(0.0, 0.3, len(reference))
    bad = np.where(chance.random(len(reference)) < 0.5, plume, checked)
    return np.where(where, bad, reference), where
