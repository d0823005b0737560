"""RESPIRE: outlier-resistant semi-parametric regression y = w1(T)·x1 + … + wd(T)·xd + b(T).

APIS makes it resist outliers (the paper's Figure *RESPIRE pseudocode*). It alternates between two steps: a
regression on targets from which the suspected corruption is subtracted, and a new suspicion, the α·N largest
residuals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from model_export.regression.form import (
    Fitted,
    Hyperparameters,
    hold_range,
    moving,
    regressors,
    standardised,
)
from model_export.regression.solver import Ridge, functions

TOLERANCE = 1e-7  # of the target's standard deviation
ROUNDS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Robust:
    """The result of the alternation; `corrected` is the target of the last regression."""

    corrected: Array  # y - ηc, (n,)
    fitted: Array  # (n,)
    outliers: NDArray[np.bool_]  # the support of c
    rounds: int
    converged: bool


def hard_threshold(residual: Array, count: int) -> Array:
    """The `count` entries of largest magnitude, the others zero.

    >>> hard_threshold(np.array([1.0, -3.0, 2.0]), 1).tolist()
    [0.0, -3.0, 0.0]
    """
    kept = np.zeros_like(residual)
    if count > 0:
        largest = np.argpartition(np.abs(residual), -count)[-count:]
        kept[largest] = residual[largest]
    return kept


def apis(
    regress: Callable[[Array], Array],
    target: Array,
    alpha: float,
    eta: float = 1.0,
    *,
    tolerance: float = TOLERANCE,
    rounds: int = ROUNDS,
) -> Robust:
    """Alternate until the corruption c changes by less than `tolerance` standard deviations of the target.

    `regress` takes targets (n,) to fitted values (n,).
    """
    count, enough = round(alpha * len(target)), tolerance * float(np.std(target))
    corruption, done, converged = np.zeros_like(target), 0, False
    while done < rounds and not converged:
        corrected = target - eta * corruption
        fitted = regress(corrected)
        previous, corruption = corruption, hard_threshold(target - fitted, count)
        converged = bool(np.abs(corruption - previous).max() <= enough)
        done += 1
    return Robust(corrected, fitted, corruption != 0.0, done, converged)


def fit(inputs: Any, auxiliary: Any, target: Any, hyper: Hyperparameters) -> Fitted:
    """The calibration of raw channels (n, d) at temperatures (n,) against the reference (n,)."""
    data = standardised(inputs, auxiliary, target)
    u = regressors(data.x)
    shape = functions(hyper.kernel, hyper.length_scale, data.z, moving(u, hyper.steady))
    ridge = Ridge(shape, data.z, u, hyper.ridge, hyper.trend, hyper.steady)
    robust = apis(ridge, data.y, hyper.alpha, hyper.eta)
    return Fitted(
        hyper,
        data.channel_scales,
        data.auxiliary_scale,
        data.target_scale,
        hold_range(np.asarray(auxiliary, dtype=float), hyper.trend),
        ridge.weights(robust.corrected),
        (robust.corrected - robust.fitted) / hyper.ridge,
        robust.outliers,
        robust.rounds,
        robust.converged,
    )
