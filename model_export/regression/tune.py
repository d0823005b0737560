"""Choosing the hyperparameters by 3-fold cross-validation, over the search space of the paper's appendix."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from model_export.regression.distances import length_scale_quantile
from model_export.regression.respire import Hyperparameters, Standardised, held_range, standardised
from model_export.regression.robust import apis
from model_export.regression.solver import Functions, Ridge, functions, moving, regressors, trend_estimate

__all__ = ["Tuned", "length_scale_quantile", "tune"]

ALPHAS = (0.0, 0.05, 0.1, 0.15, 0.2)
RIDGES = (0.1, 0.5, 1.0, 5.0, 10.0)
FOLDS = 3
SHORTEST = 0.05  # length scale; among few distinct temperatures most distances are 0
DEFAULTS = Hyperparameters()
TOLERANCE, ROUNDS = 1e-3, 50  # of the alternation; ample to rank hyperparameters


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best hyperparameters found, and their R² over the windows held out."""

    hyper: Hyperparameters
    score: float
    trials: int


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """One stretch held out, and the functions and trend seen through the rest and through it."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    seen: Functions
    unseen: Functions
    z: Array  # of the stretch


class CrossValidation:
    """R² on windows held out, with everything shared that hyperparameters have in common.

    The functions depend on the length scale only and their factor on that and λ, so trials that differ in α
    or η only repeat the alternation.
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
        """1 - Σ error² / Σ (y - mean y)², both sums over all windows."""
        folds = self._folds(hyper.length_scale, hyper.ridge)
        errors = np.concatenate([self._errors(part, ridge, hyper) for part, ridge in folds])
        return 1.0 - float(errors @ errors / np.sum((self._data.y - self._data.y.mean()) ** 2))

    def _errors(self, part: _Part, ridge: Ridge, hyper: Hyperparameters) -> Array:
        y = self._data.y
        robust = apis(ridge, y[part.train], hyper.alpha, hyper.eta, tolerance=TOLERANCE, rounds=ROUNDS)
        weights = ridge.weights(robust.corrected)
        line = trend_estimate(part.z, self._u[part.test], weights.trend)
        estimate = part.unseen.apply(weights.state) + line
        return np.asarray(y[part.test] - estimate)

    def _make_parts(self, length_scale: float) -> list[_Part]:
        return [self._part(length_scale, test) for test in self._tests]

    def _part(self, length_scale: float, test: NDArray[np.intp]) -> _Part:
        """What lies beyond the temperatures of the rest is estimated as a model of the rest would."""
        train = np.setdiff1d(np.arange(len(self._u)), test)
        z = np.clip(self._data.z, *held_range(self._data.z[train], self._trend))
        shape = functions(self._kernel, length_scale, z, moving(self._u, self._steady))
        return _Part(train, test, shape.rows(train), shape.rows(test), z[test])

    def _make_folds(self, length_scale: float, ridge: float) -> list[tuple[_Part, Ridge]]:
        z, u = self._data.z, self._u
        return [
            (part, Ridge(part.seen, z[part.train], u[part.train], ridge, self._trend, self._steady))
            for part in self._parts(length_scale)
        ]


def split(count: int, contiguous: bool, seed: int) -> list[NDArray[np.intp]]:
    """The windows held out by each fold: stretches of time, or drawn at random."""
    order = np.arange(count) if contiguous else np.random.default_rng(seed).permutation(count)
    return np.array_split(order, FOLDS)


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
    contiguous: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Tuned:
    """The hyperparameters with the best cross-validated R² after `trials` trials of a seeded Bayesian search.

    Rows are taken to be in order of time. Folds are contiguous by default: neighbouring windows are so alike
    that random folds would test on what they have seen.
    """
    data = standardised(inputs, auxiliary, target)
    validation = CrossValidation(data, kernel, trend, split(len(data.z), contiguous, seed), steady)
    length_scale = lru_cache(None)(lambda q: max(length_scale_quantile(data.z, q), SHORTEST))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    for done in range(trials):
        trial = study.ask()
        hyper = replace(_suggest(trial, kernel, trend, length_scale), steady=steady)
        study.tell(trial, validation.score(hyper))
        if progress:
            progress(done + 1, trials)
    best = _suggest(study.best_trial, kernel, trend, length_scale)
    return Tuned(replace(best, steady=steady), study.best_value, trials)


def _suggest(
    trial: optuna.trial.BaseTrial, kernel: str, trend: float, length_scale: Callable[[float], float]
) -> Hyperparameters:
    """The paper's search space; quantiles step by 0.02, too little to matter, so that factors are shared."""
    alpha = trial.suggest_categorical("alpha", ALPHAS)
    return Hyperparameters(
        kernel=kernel,
        trend=trend,
        length_scale=length_scale(trial.suggest_float("quantile", 0.1, 0.9, step=0.02)),
        ridge=trial.suggest_categorical("ridge", RIDGES),
        alpha=alpha,
        eta=trial.suggest_float("eta", 0.1, 1.0) if alpha > 0.0 else 1.0,
    )
