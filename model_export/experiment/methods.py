"""Every method of the evaluation under one name and one signature: from a train part to an estimator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from edge_agent.core.errors import BadSettings
from edge_agent.core.kernel import Array
from edge_agent.core.model import bend
from model_export.calibration import export
from model_export.calibration.fit import (
    Calibration,
    Fit,
    Recipe,
    fit_model,
    fit_with_interval,
    for_sensor,
    paper,
)
from model_export.calibration.fit import chosen as chosen_fit
from model_export.experiment import baselines
from model_export.experiment.cases import RESPIRE, RESPIRE_PAPER, FittedMethod
from model_export.recordings.dataset import Dataset, SensorType
from model_export.regression.compress import Method, curve
from model_export.regression.evidence import choose_power
from model_export.regression.form import Fitted

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
TEMPERATURES = 81  # samples of the weight curves


@dataclass(frozen=True, slots=True)
class Setup:
    """What a fit depends on beside its windows; `warmed` and `power` give the baselines our inputs."""

    trials: int = 60
    seed: int = 0
    sensor_type: SensorType = "electrochemical"
    warmed: bool = False
    power: bool = False

    @property
    def recipe(self) -> Recipe:
        """That of our default."""
        return for_sensor(Recipe(trials=self.trials, seed=self.seed), self.sensor_type)


FitMethod = Callable[[Dataset, Setup], FittedMethod]


def _baseline(train: Dataset, setup: Setup, *, name: str) -> FittedMethod:
    """A baseline; its grid search tries every point, so the number of trials is not used."""
    recipe, measured = setup.recipe, len(train.channels)
    if setup.warmed:
        train = train.warmed(recipe.memories_ms(train.window_ms))
    powers = recipe.powers if setup.power else (1.0,)
    power = choose_power(*train.arrays, powers, kernel=recipe.kernel, steady=len(train.warming))
    found = baselines.search(name, replace(train, inputs=bend(train.inputs, power, measured)), setup.seed)

    def predict(inputs: Array, auxiliary: Array) -> Array:
        return np.asarray(found.predict(baselines.features(bend(inputs, power, measured), auxiliary)))

    return FittedMethod(
        predict, {**found.parameters, "power": power}, {"r2_folds": found.score}, train.warming
    )


def _respire(train: Dataset, setup: Setup) -> FittedMethod:
    """Our RESPIRE, compressed as on the edge, with its interval."""
    return _fitted(train, setup.recipe, fit_with_interval)


def _respire_paper(train: Dataset, setup: Setup) -> FittedMethod:
    """The paper's, which has no interval."""
    return _fitted(train, paper(setup.recipe), fit_model)


def _fitted(
    train: Dataset, recipe: Recipe, fit: Callable[[Dataset, Fit, Recipe], Calibration]
) -> FittedMethod:
    train = train.warmed(recipe.memories_ms(train.window_ms))
    calibration = fit(train, chosen_fit(train, recipe), recipe)
    fitted, model = calibration.fitted, calibration.model
    details = {
        "support": len(model.support),
        "outliers": int(fitted.outliers.sum()),
        "weights": _weights(fitted, train),
        "sizes": _sizes(fitted, train, recipe.method),
    }
    settings = {**export.settings(fitted), "power": model.power}
    return FittedMethod(model.predict, settings, details, train.warming, model)


METHODS: Mapping[str, FitMethod] = {
    **{name: partial(_baseline, name=name) for name in baselines.SPACES},
    RESPIRE_PAPER: _respire_paper,
    RESPIRE: _respire,
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
    points = curve(fitted, *train.arrays, sizes=sizes, method=method)
    return [asdict(point) for point in points]
