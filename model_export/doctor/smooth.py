"""The plain law a sound sensor follows: weights that change slowly with temperature, and no outlier's say.

    y = Σₖ zᵏ·(aₖ·x + cₖ) + noise,   k = 0 … DEGREE,   z the standardised temperature

It is what null distributions are drawn around: the doctor asks whether a recording could come from it.
"""

from dataclasses import dataclass

import numpy as np

from edge_agent.core.kernel import Array
from model_export.recordings.dataset import Dataset
from model_export.regression.respire import Standardised, standardised
from model_export.regression.solver import regressors

DEGREE = 2  # a zero current that runs away with heat bends; it does not wave
CLIP = 4.0  # robust standard deviations
ROUNDS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Smooth:
    """The law found, in standardised quantities, and what it leaves over."""

    data: Standardised
    design: Array  # (n, p)
    fitted: Array  # (n,)
    residual: Array  # (n,), as it is
    tamed: Array  # (n,), clipped at CLIP robust standard deviations

    @property
    def spread(self) -> float:
        """A robust standard deviation of the residual."""
        return robust_spread(self.residual)

    @property
    def r2(self) -> float:
        """The share of the variance that the law explains, outliers clipped."""
        return 1.0 - float(np.var(self.tamed) / np.var(self.fitted + self.tamed))


def smooth(dataset: Dataset, *more: Array) -> Smooth:
    """The law of a dataset; `more` are further columns (n,) that may explain something beside it."""
    data = standardised(dataset.inputs, dataset.auxiliary, dataset.target)
    u = regressors(data.x)
    powers = [data.z[:, None] ** k * u for k in range(DEGREE + 1)]
    design = np.column_stack([*powers, *more])
    return Smooth(data, design, *huber(design, data.y))


def huber(design: Array, target: Array) -> tuple[Array, Array, Array]:
    """Least squares that pulls far residuals in: fitted values, residuals, and residuals pulled in.

    With targets moved to fit + clip(residual), every round is a plain regression (Huber's pseudo-values).
    """
    pseudo = target
    hat = np.linalg.pinv(design)
    for _ in range(ROUNDS):
        fitted = design @ (hat @ pseudo)
        residual = target - fitted
        limit = CLIP * robust_spread(residual)
        pseudo = fitted + np.clip(residual, -limit, limit)
    return fitted, residual, pseudo - fitted


def robust_spread(values: Array) -> float:
    """1.4826·MAD, which is the standard deviation of normal values; that itself where the MAD is 0."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values)))) or float(np.std(values))
