"""The law of a sound sensor: weights that change slowly with temperature, fitted without outliers.

    y = Σₖ zᵏ·(aₖ·x + cₖ) + noise,   k = 0 … DEGREE,   z the standardised temperature

Null distributions are simulated around it.
"""

from dataclasses import dataclass

import numpy as np

from edge_agent.core.kernel import Array
from edge_agent.core.robust import robust_spread
from model_export.recordings.dataset import Dataset
from model_export.regression.respire import Standardised, standardised
from model_export.regression.solver import regressors

DEGREE = 2  # a zero current that grows with heat is a curve without waves
CLIP = 4.0  # robust standard deviations
ROUNDS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Smooth:
    """The fitted law and its residual, in standardised units."""

    data: Standardised
    design: Array  # (n, p)
    fitted: Array  # (n,)
    residual: Array  # (n,)
    tamed: Array  # (n,), clipped at CLIP robust standard deviations

    @property
    def spread(self) -> float:
        """A robust standard deviation of the residual."""
        return robust_spread(self.residual)


def smooth(dataset: Dataset) -> Smooth:
    """The law of a dataset."""
    data = standardised(dataset.inputs, dataset.auxiliary, dataset.target)
    u = regressors(data.x)
    design = np.column_stack([data.z[:, None] ** k * u for k in range(DEGREE + 1)])
    return Smooth(data, design, *huber(design, data.y))


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
