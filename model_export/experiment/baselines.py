"""The paper's six baselines, each tuned over the paper's search space by an exhaustive grid search.

Inputs are the channels and the temperature. Inputs and target are standardised. The scale of the target
makes no difference to trees, neighbours and linear ridge regression. Kernel ridge regression has no bias, and
a perceptron converges slowly far from unit scale, so without it both would depend on the unit.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.compose import TransformedTargetRegressor  # type: ignore[import-untyped]
from sklearn.ensemble import GradientBoostingRegressor  # type: ignore[import-untyped]
from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
from sklearn.gaussian_process.kernels import Matern  # type: ignore[import-untyped]
from sklearn.kernel_ridge import KernelRidge  # type: ignore[import-untyped]
from sklearn.linear_model import Ridge  # type: ignore[import-untyped]
from sklearn.metrics import r2_score  # type: ignore[import-untyped]
from sklearn.model_selection import GridSearchCV, KFold  # type: ignore[import-untyped]
from sklearn.neighbors import KNeighborsRegressor  # type: ignore[import-untyped]
from sklearn.neural_network import MLPRegressor  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler, scale  # type: ignore[import-untyped]
from sklearn.tree import DecisionTreeRegressor  # type: ignore[import-untyped]

from edge_agent.core.kernel import Array
from model_export.recordings.dataset import Dataset

FOLDS = 3
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
LENGTH_SCALE = "length_scale_quantile"  # the one entry of a space that is not scikit-learn's own
SMOOTHNESS = 1.5  # of the Matérn kernel, as RESPIRE's
EPOCHS = 2000  # scikit-learn's 200 are too few for short recordings
PAIRS_FROM = 2000  # windows whose distances give the quantiles; all pairs of more would fill the memory

Space = Mapping[str, tuple[Any, ...]]

# Paper, appendix, table "Hyperparameter Search Space".
SPACES: Mapping[str, Space] = {
    "DT": {
        "max_depth": (5, 10, 20, 40),
        "min_samples_split": (2, 5, 10),
        "min_samples_leaf": (1, 2, 4),
    },
    "GBDT": {
        "n_estimators": (50, 100, 200),
        "learning_rate": (0.01, 0.1, 0.2),
        "max_depth": (3, 5, 7),
    },
    "KNN": {"n_neighbors": (3, 5, 7, 10, 15)},
    "KRR": {"alpha": (0.1, 1.0, 10.0), LENGTH_SCALE: QUANTILES},
    "MLP": {
        "hidden_layer_sizes": ((50,), (100,), (50, 25)),
        "activation": ("relu", "tanh"),
        "alpha": (1e-4, 1e-3, 1e-2),
    },
    "RR": {"alpha": (0.1, 1.0, 10.0, 50.0, 100.0)},
}

_REGRESSORS: Mapping[str, Callable[[int], Any]] = {
    "DT": lambda seed: DecisionTreeRegressor(random_state=seed),
    "GBDT": lambda seed: GradientBoostingRegressor(random_state=seed),
    "KNN": lambda seed: KNeighborsRegressor(),
    "KRR": lambda seed: KernelRidge(),
    "MLP": lambda seed: MLPRegressor(max_iter=EPOCHS, random_state=seed),
    "RR": lambda seed: Ridge(),
}

_STEP = "regressor__model__"  # prefix of the regressor's parameters inside the scaled pipeline
_TREES = f"{_STEP}n_estimators"


@dataclass(frozen=True, slots=True)
class Found:
    """The best point of a search, fitted to the whole train part."""

    predict: Callable[[Array], Array]  # features (n, d + 1) to estimates (n,)
    parameters: Mapping[str, Any]
    score: float  # mean R² over the folds


def features(inputs: Array, auxiliary: Array) -> Array:
    """Channels (n, d) and temperatures (n,) as one table (n, d + 1)."""
    return np.column_stack([inputs, auxiliary])


def search(name: str, train: Dataset, seed: int = 0, space: Space | None = None) -> Found:
    """The result of `grid_search`; for boosted trees at less than half the cost."""
    if name == "GBDT":
        return _staged_search(train, seed, space or SPACES[name])
    found = grid_search(name, train, seed, space)
    return Found(found.predict, _named(found.best_params_), float(found.best_score_))


def grid_search(name: str, train: Dataset, seed: int = 0, space: Space | None = None) -> Any:
    """A `GridSearchCV` over the paper's space on contiguous folds, refitted to the whole train part."""
    X = features(train.inputs, train.auxiliary)
    grid = _grid(space or SPACES[name], X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # only the worst points of a grid do not converge
        return GridSearchCV(_scaled(name, seed), grid, cv=KFold(FOLDS)).fit(X, train.target)


def _staged_search(train: Dataset, seed: int, space: Space) -> Found:
    """Every number of trees from one fit of the largest: its first trees are the smaller ensemble."""
    X = features(train.inputs, train.auxiliary)
    grid = dict(_grid(space, X))
    counts = grid.pop(_TREES)
    largest = _scaled("GBDT", seed).set_params(**{_TREES: max(counts)})
    scoring = {str(count): partial(_score_of_first, count=count) for count in counts}
    found = GridSearchCV(largest, grid, cv=KFold(FOLDS), scoring=scoring, refit=False).fit(X, train.target)
    means = np.column_stack([found.cv_results_[f"mean_test_{count}"] for count in counts])
    point, stage = np.unravel_index(np.argmax(means), means.shape)
    best = {**found.cv_results_["params"][point], _TREES: counts[stage]}
    return Found(largest.set_params(**best).fit(X, train.target).predict, _named(best), float(means.max()))


def _score_of_first(fitted: Any, X: Array, y: Array, *, count: int) -> float:
    """R² of the first `count` trees."""
    scaler, trees = (step for _, step in fitted.regressor_.steps)
    stages = trees.staged_predict(scaler.transform(X))
    estimate = next(islice(stages, count - 1, None))
    return float(r2_score(y, fitted.transformer_.inverse_transform(estimate[:, None])[:, 0]))


def _scaled(name: str, seed: int) -> Any:
    """The regressor behind standardised inputs and target."""
    behind = Pipeline([("scale", StandardScaler()), ("model", _REGRESSORS[name](seed))])
    return TransformedTargetRegressor(behind, transformer=StandardScaler())


def _named(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The chosen parameters under scikit-learn's names, and the kernel as its length scale."""
    named = {name.removeprefix(_STEP): value for name, value in chosen.items()}
    if "kernel" in named:
        named["length_scale"] = float(named.pop("kernel").length_scale)
    return named


def _grid(space: Space, X: Array) -> dict[str, list[Any]]:
    """The space in scikit-learn's form; quantiles of the distances between windows become kernels."""
    grid = {_STEP + name: list(values) for name, values in space.items() if name != LENGTH_SCALE}
    if LENGTH_SCALE in space:
        rows = np.linspace(0, len(X) - 1, min(len(X), PAIRS_FROM)).astype(int)
        lengths = np.quantile(pdist(scale(X)[rows]), space[LENGTH_SCALE])
        grid[f"{_STEP}kernel"] = [Matern(float(length), nu=SMOOTHNESS) for length in lengths]
    return grid
