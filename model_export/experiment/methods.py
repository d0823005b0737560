"""Every method of the evaluation under one name and one signature: from a train part to an estimator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from edge_agent.core.errors import BadSettings
from model_export.calibration import export
from model_export.calibration.fit import Recipe, fit_model, paper
from model_export.calibration.fit import chosen as chosen_fit
from model_export.experiment import baselines
from model_export.experiment.cases import RESPIRE, RESPIRE_PAPER, Estimator
from model_export.recordings.dataset import Dataset
from model_export.regression.compress import Method, curve
from model_export.regression.respire import Fitted

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
TEMPERATURES = 81  # samples of the weight curves


@dataclass(frozen=True, slots=True)
class FittedMethod:
    """One method fitted to one train part; `details` are what only some methods have.

    Its input is a recording with the channels of `warming`, see Dataset.warmed.
    """

    predict: Estimator
    parameters: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)
    warming: Mapping[str, int] = field(default_factory=dict)


FitMethod = Callable[[Dataset, int, int], FittedMethod]  # train part, trials, seed


def _baseline(train: Dataset, trials: int, seed: int, *, name: str) -> FittedMethod:
    """A baseline; its grid search tries every point, so `trials` is not used."""
    found = baselines.search(name, train, seed)
    return FittedMethod(
        lambda inputs, auxiliary: np.asarray(found.predict(baselines.features(inputs, auxiliary))),
        found.parameters,
        {"r2_folds": found.score},
    )


def _respire(train: Dataset, trials: int, seed: int, *, variant: Callable[[Recipe], Recipe]) -> FittedMethod:
    """RESPIRE, compressed as on the edge."""
    recipe = variant(Recipe(trials=trials, seed=seed))
    train = train.warmed(recipe.memories_ms(train.window_ms))
    calibration = fit_model(train, chosen_fit(train, recipe), recipe)
    fitted = calibration.fitted
    details = {
        "support": len(calibration.model.support),
        "outliers": int(fitted.outliers.sum()),
        "weights": _weights(fitted, train),
        "sizes": _sizes(fitted, train, recipe.method),
    }
    return FittedMethod(calibration.model.predict, export.settings(fitted), details, train.warming)


METHODS: Mapping[str, FitMethod] = {
    **{name: partial(_baseline, name=name) for name in baselines.SPACES},
    RESPIRE_PAPER: partial(_respire, variant=paper),
    RESPIRE: partial(_respire, variant=lambda recipe: recipe),
}
QUICK = ("RR", "KRR", RESPIRE)

# Seconds for 1000 windows on one core. They decide the order of the fits and the time left.
COSTS: Mapping[str, float] = {
    "DT": 0.5,
    "GBDT": 6.0,
    "KNN": 0.3,
    "KRR": 4.0,
    "MLP": 8.0,
    "RR": 0.1,
    RESPIRE_PAPER: 1.0,
    RESPIRE: 1.0,
}


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The named methods in the usual order, or all if none is named.

    >>> chosen(["RESPIRE", "RR"])
    ('RR', 'RESPIRE')
    """
    if unknown := [name for name in names if name not in METHODS]:
        raise BadSettings(f"--methods: expected some of {','.join(METHODS)}, got {','.join(unknown)}")
    return tuple(name for name in METHODS if not names or name in names)


def _weights(fitted: Fitted, train: Dataset) -> dict[str, list[Any]]:
    """w1, …, wd and b over the temperatures of the train part."""
    temperatures = np.linspace(train.auxiliary.min(), train.auxiliary.max(), TEMPERATURES)
    return {
        "temperature": temperatures.tolist(),
        "channels": list(train.channels),
        "curves": fitted.weights(temperatures).T.tolist(),
    }


def _sizes(fitted: Fitted, train: Dataset, method: Method) -> list[dict[str, float]]:
    """R² on the train part against the number of support vectors."""
    sizes = [size for size in SIZES if size < len(train)]
    points = curve(fitted, train.inputs, train.auxiliary, train.target, sizes=sizes, method=method)
    return [asdict(point) for point in points]
