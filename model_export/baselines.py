"""The paper's six baselines, each tuned over the paper's search space by an exhaustive grid search.

Inputs are the channels and the temperature, standardised. So is the target: trees, neighbours and linear
ridge regression do not notice, but kernel ridge regression has no bias of its own and a perceptron learns
slowly far from unit scale, and both would be judged by their units.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.compose import TransformedTargetRegressor  # type: ignore[import-untyped]
from sklearn.ensemble import GradientBoostingRegressor  # type: ignore[import-untyped]
from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
from sklearn.gaussian_process.kernels import Matern  # type: ignore[import-untyped]
from sklearn.kernel_ridge import KernelRidge  # type: ignore[import-untyped]
from sklearn.linear_model import Ridge  # type: ignore[import-untyped]
from sklearn.model_selection import GridSearchCV, KFold  # type: ignore[import-untyped]
from sklearn.neighbors import KNeighborsRegressor  # type: ignore[import-untyped]
from sklearn.neural_network import MLPRegressor  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler, scale  # type: ignore[import-untyped]
from sklearn.tree import DecisionTreeRegressor  # type: ignore[import-untyped]

from edge_agent.kernel import Array
from model_export.dataset import Dataset

FOLDS = 3
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
LENGTH_SCALE = "length_scale_quantile"  # the one entry of a space that is not scikit-learn's own
SMOOTHNESS = 1.5  # of the Matérn kernel, as RESPIRE's
EPOCHS = 2000  # scikit-learn's 200 leave short recordings half learnt
PAIRS_FROM = 2000  # windows whose distances give the quantiles; the pairs of many more fill the memory

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

_STEP = "regressor__model__"  # where a pipeline behind a scaled target keeps its regressor's parameters


def features(inputs: Array, auxiliary: Array) -> Array:
    """Channels (n, d) and temperatures (n,) as one table (n, d + 1)."""
    return np.column_stack([inputs, auxiliary])


def search(name: str, train: Dataset, seed: int = 0, space: Space | None = None) -> Any:
    """A `GridSearchCV` over the paper's space on contiguous folds, refitted to the whole train part."""
    X = features(train.inputs, train.auxiliary)
    grid = _grid(space or SPACES[name], X)
    scaled = Pipeline([("scale", StandardScaler()), ("model", _REGRESSORS[name](seed))])
    behind = TransformedTargetRegressor(scaled, transformer=StandardScaler())
    found = GridSearchCV(behind, {_STEP + key: list(values) for key, values in grid.items()}, cv=KFold(FOLDS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the worst corners of a grid only
        return found.fit(X, train.target)


def parameters(found: Any) -> dict[str, Any]:
    """What the search chose, under the names of scikit-learn; the kernel as its length scale."""
    chosen = {name.removeprefix(_STEP): value for name, value in found.best_params_.items()}
    if "kernel" in chosen:
        chosen["length_scale"] = float(chosen.pop("kernel").length_scale)
    return chosen


def _grid(space: Space, X: Array) -> Space:
    """The space with quantiles turned into kernels, of the distances between standardised windows."""
    if LENGTH_SCALE not in space:
        return space
    rows = np.linspace(0, len(X) - 1, min(len(X), PAIRS_FROM)).astype(int)
    lengths = np.quantile(pdist(scale(X)[rows]), space[LENGTH_SCALE])
    kernels = tuple(Matern(float(length), nu=SMOOTHNESS) for length in lengths)
    return {**{name: values for name, values in space.items() if name != LENGTH_SCALE}, "kernel": kernels}
