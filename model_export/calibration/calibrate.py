"""The straight line from a train set to a model: tune, fit, compress, and learn the interval."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from edge_agent.core.kernel import Array, gram
from edge_agent.core.model import Model
from model_export.calibration.export import Probe
from model_export.calibration.interval import LEVEL, forward_conformal
from model_export.recordings.dataset import Dataset
from model_export.regression.compress import Compressed, Method, compress
from model_export.regression.respire import Fitted, Hyperparameters, fit, standardise
from model_export.regression.tune import tune

Progress = Callable[[int, int], None]

# How long the temperature is remembered that it is compared with; docs/evaluation.md tells how it was chosen.
WARMING = {"warming_1h": 3_600_000, "warming_4h": 14_400_000}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the user chooses; tuning chooses the rest."""

    kernel: str = Hyperparameters().kernel
    trend: float = Hyperparameters().trend
    method: Method = "landmarks"
    size: int | None = None  # None: automatic, see compress
    trials: int = 60
    seed: int = 0
    level: float = LEVEL
    gas: str = "CO"
    warming: Mapping[str, int] = field(default_factory=lambda: WARMING)  # see Dataset.warmed


def paper(recipe: Recipe) -> Recipe:
    """The same with the paper's inputs, its kernel, which shrinks towards zero, and its compression."""
    return replace(recipe, trend=0.0, method="paper", warming={})


@dataclass(frozen=True, slots=True)
class Calibration:
    """A model beside the full fit that it was compressed from."""

    fitted: Fitted
    compressed: Compressed
    model: Model


def tuned(train: Dataset, recipe: Recipe, progress: Progress | None = None) -> Hyperparameters:
    """The hyperparameters of the best cross-validated R² on the train set."""
    return tune(
        train.inputs,
        train.auxiliary,
        train.target,
        kernel=recipe.kernel,
        trend=recipe.trend,
        steady=len(train.warming),
        trials=recipe.trials,
        seed=recipe.seed,
        progress=progress,
    ).hyper


def calibrate(train: Dataset, hyper: Hyperparameters, recipe: Recipe) -> Calibration:
    """The model of the train set with an interval from windows held out."""
    calibration = learn(train, hyper, recipe)
    same_size = replace(recipe, size=len(calibration.compressed.support))

    def estimator(before: Dataset, held: Dataset) -> Array:
        return learn(before, hyper, same_size).model.predict(held.inputs, held.auxiliary)

    interval = forward_conformal(train, estimator, recipe.level)
    return replace(calibration, model=replace(calibration.model, interval=interval))


def learn(train: Dataset, hyper: Hyperparameters, recipe: Recipe) -> Calibration:
    """Fit and compress; no interval yet."""
    fitted = fit(train.inputs, train.auxiliary, train.target, hyper)
    return compressed(fitted, train, recipe)


def compressed(fitted: Fitted, train: Dataset, recipe: Recipe) -> Calibration:
    """The model of a full fit on as many support vectors as the recipe says."""
    small = compress(
        fitted, train.inputs, train.auxiliary, train.target, size=recipe.size, method=recipe.method
    )
    return Calibration(fitted, small, _model(fitted, small, train, recipe.gas))


def probe(calibration: Calibration, dataset: Dataset) -> Probe:
    """What the compressed model estimates before it is rounded for the bundle."""
    fitted, small = calibration.fitted, calibration.compressed
    z = standardise(np.clip(dataset.auxiliary, *fitted.hold), fitted.auxiliary_scale)
    shapes = gram(fitted.hyper.kernel, fitted.hyper.length_scale, z, small.support)
    weights = shapes @ small.coefficients.T + small.trend[:, 0] + z[:, None] * small.trend[:, 1]
    x = np.column_stack([*map(standardise, dataset.inputs.T, fitted.channel_scales)])
    estimate = np.einsum("nd,nd->n", x, weights[:, :-1]) + weights[:, -1]
    raw = fitted.target_scale.centre + fitted.target_scale.spread * estimate
    return Probe(dataset.inputs, dataset.auxiliary, raw)


def _model(fitted: Fitted, small: Compressed, train: Dataset, gas: str) -> Model:
    names, columns = (*train.channels, "temperature"), (*train.inputs.T, train.auxiliary)
    return Model(
        sensor=train.sensor,
        gas=gas,
        unit=train.unit,
        channels=train.channels,
        kernel=fitted.hyper.kernel,
        length_scale=fitted.hyper.length_scale,
        channel_scales=fitted.channel_scales,
        auxiliary_scale=fitted.auxiliary_scale,
        target_scale=fitted.target_scale,
        support=small.support,
        coefficients=small.coefficients,
        trend=small.trend,
        hold=fitted.hold,
        warming=train.warming,
        cadence_minutes=train.cadence_minutes,
        domain={
            name: (float(values.min()), float(values.max()))
            for name, values in zip(names, columns, strict=True)
        },
    )
