"""The law of a sound sensor: weights that change slowly with temperature, fitted without outliers.

    y = Σₖ zᵏ·(aₖ·x + cₖ) + d·warming + noise,   k = 0 … DEGREE,   z the standardised temperature

A cell is heavier than the thermometer beside it. Without warming its lag would look like a fault.
Null distributions are simulated around the law.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edge_agent.core.kernel import Array
from edge_agent.core.robust import robust_spread
from model_export.recordings.dataset import Dataset
from model_export.regression.form import Standardised, regressors, standardised

DEGREE = 2  # a zero current that grows with heat is a curve without waves
CLIP = 4.0  # robust standard deviations
ROUNDS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Smooth:
    """The fitted law and its residual, in standardised units."""

    data: Standardised
    design: Array  # (n, p)
    fitted: Array  # (n,), without what warming adds
    residual: Array  # (n,)
    tamed: Array  # (n,), clipped at CLIP robust standard deviations

    @property
    def spread(self) -> float:
        """A robust standard deviation of the residual."""
        return robust_spread(self.residual)


def smooth(dataset: Dataset, memories_ms: Mapping[str, int] | None = None) -> Smooth:
    """The law of a dataset, with warming of these memories."""
    data = standardised(*dataset.arrays)
    u = regressors(data.x)
    weights = np.column_stack([data.z[:, None] ** k * u for k in range(DEGREE + 1)])
    design = np.column_stack([weights, _warmings(dataset, memories_ms or {})])
    fitted, residual, tamed = huber(design, data.y)
    warmed = design[:, weights.shape[1] :] @ np.linalg.lstsq(design, fitted)[0][weights.shape[1] :]
    return Smooth(data, design, fitted - warmed, residual, tamed)


def _warmings(dataset: Dataset, memories_ms: Mapping[str, int]) -> Array:
    """How much warmer it is than in the last hours, (n, memories), without memories that say nothing."""
    warmed = dataset.warmed(memories_ms).inputs[:, len(dataset.channels) :]
    spread = warmed.std(axis=0)
    return np.asarray((warmed[:, spread > 0.0] - warmed.mean(axis=0)[spread > 0.0]) / spread[spread > 0.0])


def huber(design: Array, target: Array) -> tuple[Array, Array, Array]:
    """Huber's regression: fitted values, residuals and clipped residuals.

    Each round is a plain regression on the pseudo-values fit + clip(residual).
    """
    pseudo = target
    hat = np.linalg.pinv(design)
    for _ in range(ROUNDS):
        fitted = design @ (hat @ pseudo)
        residual = target - fitted
        limit = CLIP * robust_spread(residual)
        pseudo = fitted + np.clip(residual, -limit, limit)
    return fitted, residual, pseudo - fitted
