"""Tuning: the hyperparameters by 3-fold cross-validation, over the search space of the paper's appendix."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from model_export.regression.form import (
    Hyperparameters,
    Standardised,
    hold_range,
    moving,
    regressors,
    standardised,
    trend_estimate,
)
from model_export.regression.metrics import r2
from model_export.regression.respire import apis
from model_export.regression.solver import Functions, Ridge, functions

ALPHAS = (0.0, 0.05, 0.1, 0.15, 0.2)
RIDGES = (0.1, 0.5, 1.0, 5.0, 10.0)
FOLDS = 3
SHORTEST = 0.05  # length scale; among few distinct temperatures most distances are 0
DEFAULTS = Hyperparameters()
TOLERANCE, ROUNDS = 1e-3, 50  # of the alternation; enough to rank hyperparameters


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best hyperparameters found, and their cross-validated R²."""

    hyper: Hyperparameters
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """One fold: its test windows, the others to train on, and the functions observed at each."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    seen: Functions
    unseen: Functions
    z: Array  # of the test windows


class CrossValidation:
    """Cross-validated R², with caches for what trials have in common.

    The functions depend only on the length scale, and their factor on that and λ. Trials that differ in α or
    η repeat only the alternation.
    """

    def __init__(
        self, data: Standardised, kernel: str, trend: float, tests: list[NDArray[np.intp]], steady: int = 0
    ) -> None:
        self._data, self._kernel, self._trend, self._tests = data, kernel, trend, tests
        self._steady = steady
        self._u = regressors(data.x)
        self._parts = lru_cache(16)(self._make_parts)
        self._folds = lru_cache(16)(self._make_folds)

    def score(self, hyper: Hyperparameters) -> float:
        """R² over all windows, each estimated by the fold that did not see it."""
        estimate = np.empty_like(self._data.y)
        for part, ridge in self._folds(hyper.length_scale, hyper.ridge):
            estimate[part.test] = self._estimate(part, ridge, hyper)
        return r2(self._data.y, estimate)

    def _estimate(self, part: _Part, ridge: Ridge, hyper: Hyperparameters) -> Array:
        target = self._data.y[part.train]
        robust = apis(ridge, target, hyper.alpha, hyper.eta, tolerance=TOLERANCE, rounds=ROUNDS)
        weights = ridge.weights(robust.corrected)
        line = trend_estimate(part.z, self._u[part.test], weights.trend)
        return np.asarray(part.unseen.apply(weights.state) + line)

    def _make_parts(self, length_scale: float) -> list[_Part]:
        return [self._part(length_scale, test) for test in self._tests]

    def _part(self, length_scale: float, test: NDArray[np.intp]) -> _Part:
        """Test temperatures outside the training range get the weights at its end, as a model would give."""
        train = np.setdiff1d(np.arange(len(self._u)), test)
        z = np.clip(self._data.z, *hold_range(self._data.z[train], self._trend))
        shape = functions(self._kernel, length_scale, z, moving(self._u, self._steady))
        return _Part(train, test, shape.rows(train), shape.rows(test), z[test])

    def _make_folds(self, length_scale: float, ridge: float) -> list[tuple[_Part, Ridge]]:
        z, u = self._data.z, self._u
        return [
            (part, Ridge(part.seen, z[part.train], u[part.train], ridge, self._trend, self._steady))
            for part in self._parts(length_scale)
        ]


def folds(count: int) -> list[NDArray[np.intp]]:
    """The test windows of each fold, which are stretches of time.

    Neighbouring windows are so alike that random folds would test on training data.
    """
    return np.array_split(np.arange(count), FOLDS)


def tune(
    inputs: Any,
    auxiliary: Any,
    target: Any,
    *,
    kernel: str = DEFAULTS.kernel,
    trend: float = DEFAULTS.trend,
    steady: int = DEFAULTS.steady,
    trials: int = 60,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Tuned:
    """The hyperparameters with the best cross-validated R² after `trials` trials of a seeded Bayesian search.

    Rows are expected in the order of time.
    """
    data, known = standardised(inputs, auxiliary, target), Hyperparameters(kernel, trend, steady=steady)
    validation = CrossValidation(data, kernel, trend, folds(len(data.z)), steady)
    length_scale = lru_cache(None)(lambda q: max(length_scale_quantile(data.z, q), SHORTEST))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    for done in range(trials):
        trial = study.ask()
        study.tell(trial, validation.score(_suggest(trial, known, length_scale)))
        if progress:
            progress(done + 1, trials)
    return Tuned(_suggest(study.best_trial, known, length_scale), study.best_value)


def _suggest(
    trial: optuna.trial.BaseTrial, known: Hyperparameters, length_scale: Callable[[float], float]
) -> Hyperparameters:
    """The paper's search space. Quantiles have steps of 0.02, so that trials share factors."""
    alpha = trial.suggest_categorical("alpha", ALPHAS)
    return replace(
        known,
        length_scale=length_scale(trial.suggest_float("quantile", 0.1, 0.9, step=0.02)),
        ridge=trial.suggest_categorical("ridge", RIDGES),
        alpha=alpha,
        eta=trial.suggest_float("eta", 0.1, 1.0) if alpha > 0.0 else 1.0,
    )


def length_scale_quantile(z: Any, q: float) -> float:
    """The q-quantile of |zᵢ - zⱼ| over all pairs i < j, in O(n log n) time and O(n) memory.

    >>> length_scale_quantile([0.0, 1.0, 3.0], 0.5)
    2.0
    """
    z = np.sort(np.asarray(z, dtype=float))
    rank = q * (len(z) * (len(z) - 1) // 2 - 1)
    low, high = (_smallest(z, int(k)) for k in (np.floor(rank), np.ceil(rank)))
    return float(low + (rank - np.floor(rank)) * (high - low))


def _smallest(z: Array, k: int) -> float:
    """The k-th smallest distance, from 0: bisect, counting pairs, until few enough remain to be listed."""
    low, high = -1.0, float(z[-1] - z[0])
    below, within = np.arange(1, len(z) + 1), np.full(len(z), len(z))  # pairs (i, j): j in below[i]:within[i]
    before = 0
    while np.sum(within - below) > 4 * len(z) and low < (middle := (low + high) / 2) < high:
        reach = np.maximum(np.searchsorted(z, z + middle, side="right"), np.arange(1, len(z) + 1))
        if (count := int(np.sum(reach - np.arange(1, len(z) + 1)))) <= k:
            low, below, before = middle, reach, count
        else:
            high, within = middle, reach
    if low >= 0.0 and np.nextafter(low, high) >= high:
        return high
    return float(np.partition(_listed(z, below, within), k - before)[k - before])


def _listed(z: Array, start: NDArray[np.intp], stop: NDArray[np.intp]) -> Array:
    """The distances z[j] - z[i] for start[i] <= j < stop[i]."""
    lengths = stop - start
    first = np.repeat(np.arange(len(z)), lengths)
    offset = np.arange(len(first)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.asarray(z[np.repeat(start, lengths) + offset] - z[first])
