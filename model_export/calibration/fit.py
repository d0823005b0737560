"""From recordings to a bundle: read, tune, fit, compress, measure the interval, write, and sum up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from edge_agent.core.card import valid_until
from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.messages import is_sensor
from edge_agent.core.model import Interval, Model
from edge_agent.core.windows import WINDOW_MS
from model_export.calibration import export
from model_export.calibration.interval import (
    LEVEL,
    Held,
    coverage,
    forward_conformal,
    half_widths,
    leave_out,
    measured,
    without_noise,
)
from model_export.recordings.dataset import Dataset, SensorType, Stamp, require_trainable, split, windows
from model_export.recordings.recording import Recording
from model_export.recordings.tables import Layout
from model_export.regression import evidence, respire
from model_export.regression.compress import Compressed, Method, compress
from model_export.regression.form import Fitted, Hyperparameters, Tuning
from model_export.regression.metrics import Score, r2, score

Progress = Callable[[int, int], None]
Fit = Callable[[Dataset], Fitted]

# How far back the temperature is compared; docs/methods.md has the figures behind the choice.
WARMING = {"warming_1h": 3_600_000, "warming_4h": 14_400_000}
# A CO-B4 may drift by 100 ppb and 10 % a year, says its datasheet: by half of that in half a year.
VALID_DAYS = 180
EXAMPLES = {"unit": "ppm", "gas": "CO"}


@dataclass(frozen=True, slots=True)
class Source:
    """How the user's files are read, and the share of the last windows that is kept for the test."""

    layout: Layout = field(default_factory=Layout)
    reference: Stamp = "auto"
    test_share: float = 0.2
    window_ms: int = WINDOW_MS


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the user chooses; tuning chooses the rest."""

    sensor_type: SensorType = "electrochemical"
    tuning: Tuning = "evidence"
    kernel: str = Hyperparameters().kernel
    trend: float = Hyperparameters().trend  # only of tuning by folds
    powers: tuple[float, ...] = (1.0,)  # of the measured channels, to choose from
    method: Method = "landmarks"
    size: int | None = None  # None: automatic, see compress
    trials: int = 60  # of tuning by folds
    seed: int = 0
    level: float = LEVEL
    reference_noise: float = 0.0  # standard deviation in a window, as far as it is known
    valid_days: int | None = VALID_DAYS  # None: for ever
    gas: str = "CO"
    warming: Mapping[str, int] = field(default_factory=lambda: WARMING)  # see Dataset.warmed

    def memories_ms(self, window_ms: int) -> dict[str, int]:
        """The warming of such windows: a memory shorter than a window says nothing of its own."""
        return {name: memory_ms for name, memory_ms in self.warming.items() if memory_ms >= window_ms}


def metal_oxide(recipe: Recipe) -> Recipe:
    """The same for a metal-oxide sensor: a power of its signal, and no warming.

    Its resistance is a power of the concentration, so no w(T)·x follows it from one site to another. It is
    heated, so that what `warming` adds is not the sensor's but the time of day.
    """
    return replace(recipe, sensor_type="metal-oxide", powers=evidence.POWERS, warming={})


def for_sensor(recipe: Recipe, sensor_type: str) -> Recipe:
    """The same for a type of sensor."""
    return metal_oxide(recipe) if sensor_type == "metal-oxide" else recipe


def paper(recipe: Recipe) -> Recipe:
    """The same with the paper's inputs, tuning, kernel (it shrinks towards zero) and compression."""
    return replace(recipe, tuning="folds", trend=0.0, powers=(1.0,), method="paper", warming={})


@dataclass(frozen=True, slots=True)
class Calibration:
    """A model, and the full fit that it was compressed from."""

    fitted: Fitted
    compressed: Compressed
    model: Model
    covered: Mapping[str, float] = field(default_factory=dict)  # of left-out stretches, by what they are of

    def predict(self, dataset: Dataset) -> Array:
        """The estimates of the compressed model before it is rounded for the bundle, (n,)."""
        return self.fitted.predict(dataset.inputs, dataset.auxiliary, self.compressed)


@dataclass(frozen=True, slots=True)
class FitResult:
    """All that one `fit` made; `exported.model` is what the agent will serve."""

    dataset: Dataset
    train: Dataset
    test: Dataset
    calibration: Calibration
    exported: export.Exported


def fit_recording(
    recording: Recording,
    unit: str,
    out: Path,
    *,
    source: Source,
    recipe: Recipe,
    progress: Progress | None = None,
) -> FitResult:
    """Fit the recording of one sensor and write its bundle."""
    require_options(recording.sensor, unit, recipe.gas)
    dataset = windows(recording, unit, source.reference, source.window_ms)
    return fit(dataset, recipe, out, source.test_share, progress)


def fit(
    dataset: Dataset, recipe: Recipe, path: Path, test_share: float = 0.2, progress: Progress | None = None
) -> FitResult:
    """Fit the first windows, keep the last for the test, and write the bundle."""
    require_trainable(dataset)
    require_trainable(split(dataset, test_share)[0])
    dataset = dataset.warmed(recipe.memories_ms(dataset.window_ms))
    train, test = split(dataset, test_share)
    calibration = fit_with_interval(train, chosen(train, recipe, progress), recipe)
    model = calibration.model
    known = export.facts(model, calibration.fitted, train, evaluate(model, test), evaluate(model, train).r2)
    known |= export.covered(calibration.covered)
    known |= {"reference_noise": recipe.reference_noise} if recipe.reference_noise else {}
    model = export.dated(replace(model, provenance=known), train, recipe.valid_days)
    exported = export.write(model, path, dataset, estimate=calibration.predict(dataset))
    return FitResult(dataset, train, test, calibration, exported)


def tuned(train: Dataset, recipe: Recipe, progress: Progress | None = None) -> Hyperparameters:
    """The hyperparameters of the best cross-validated R² on the train part."""
    from model_export.regression.tune import tune  # noqa: PLC0415 - optuna: the default does not need it

    return tune(
        *train.arrays,
        kernel=recipe.kernel,
        trend=recipe.trend,
        steady=len(train.warming),
        trials=recipe.trials,
        seed=recipe.seed,
        progress=progress,
    ).hyper


def chosen(train: Dataset, recipe: Recipe, progress: Progress | None = None) -> Fit:
    """What tuning chose on the train part, as a fit to any part of it."""
    if recipe.tuning == "folds":
        hyper = tuned(train, recipe, progress)
        return lambda part: respire.fit(*part.arrays, hyper)
    kernel, steady = recipe.kernel, len(train.warming)
    power = evidence.choose_power(*train.arrays, recipe.powers, kernel=kernel, steady=steady)
    if progress:
        progress(1, 1)
    return lambda part: evidence.fit(*part.arrays, kernel=kernel, steady=steady, power=power)


def fit_with_interval(train: Dataset, fit_to: Fit, recipe: Recipe) -> Calibration:
    """The model of the train part, with an interval from windows that other models did not see."""
    calibration = fit_model(train, fit_to, recipe)
    interval, held = _interval(calibration, train, fit_to, recipe)
    if recipe.reference_noise:
        interval = without_noise(interval, recipe.reference_noise, float(np.mean(train.target)))
    covered = {name: coverage(part, interval) for name, part in held.items()}
    return replace(calibration, model=replace(calibration.model, interval=interval), covered=covered)


def _interval(
    calibration: Calibration, train: Dataset, fit_to: Fit, recipe: Recipe
) -> tuple[Interval, dict[str, Held]]:
    """The interval of what the reference would read, and the left-out stretches that it is from."""
    if recipe.tuning == "folds":
        return _constant_interval(calibration, train, fit_to, recipe), {}

    def estimate(kept: Dataset, left: Dataset) -> Array:
        inputs, auxiliary = left.inputs, left.auxiliary
        lost = calibration.predict(left) - calibration.fitted.predict(inputs, auxiliary)  # by compression
        return np.asarray(fit_to(kept).predict(inputs, auxiliary) + lost)

    held = leave_out(train, estimate)
    return measured(held, recipe.level), held


def _constant_interval(calibration: Calibration, train: Dataset, fit_to: Fit, recipe: Recipe) -> Interval:
    same_size = replace(recipe, size=len(calibration.compressed.support))

    def estimate(before: Dataset, after: Dataset) -> Array:
        return fit_model(before, fit_to, same_size).model.predict(after.inputs, after.auxiliary)

    return forward_conformal(train, estimate, recipe.level)


def fit_model(train: Dataset, fit_to: Fit, recipe: Recipe) -> Calibration:
    """Fit and compress, without an interval."""
    return compressed(fit_to(train), train, recipe)


def compressed(fitted: Fitted, train: Dataset, recipe: Recipe) -> Calibration:
    """The model of a full fit on as many support vectors as the recipe says."""
    small = compress(fitted, *train.arrays, size=recipe.size, method=recipe.method)
    model = export.model_of(fitted, small, train, recipe.gas, recipe.sensor_type)
    return Calibration(fitted, small, model)


def evaluate(model: Model, dataset: Dataset) -> Score:
    """The agreement of a model, as the agent serves it, with the reference of a dataset."""
    estimate = model.predict(dataset.inputs, dataset.auxiliary)
    if model.interval is None:
        return score(dataset.target, estimate)
    return score(dataset.target, estimate, half_widths(model, dataset, estimate), model.interval.level)


def summary(result: FitResult) -> dict[str, Any]:
    """The figures of a fit; those of agreement are of the bundle, as the agent reads it."""
    model, fitted = result.exported.model, result.calibration.fitted
    test = evaluate(model, result.test)
    full = fitted.predict(result.test.inputs, result.test.auxiliary)
    return {
        "sensor": model.sensor,
        "gas": model.gas,
        "unit": model.unit,
        "channels": list(model.channels),
        "window": model.window_ms // 1000,
        "n_train": len(result.train),
        "n_test": test.n,
        "r2_train": evaluate(model, result.train).r2,
        "r2_test": test.r2,
        "r2_test_full": r2(result.test.target, full),
        "rmse_test": test.rmse,
        "mae_test": test.mae,
        "bias_test": test.bias,
        "coverage": test.coverage,
        "promised": test.promised,
        "interval_score": test.interval_score,
        "level": model.interval.level if model.interval else None,
        "half_width": model.interval.half_width if model.interval else None,
        "slope": model.interval.slope if model.interval else None,
        "covered_in_training": dict(result.calibration.covered),
        "support": len(model.support),
        "bytes": result.exported.size_bytes,
        "kernel": model.kernel,
        "sensor_type": model.sensor_type,
        "power": model.power,
        "length_scale": model.length_scale,
        **export.settings(fitted),
        "outliers": int(fitted.outliers.sum()),
        "rounds": fitted.rounds,
        "converged": fitted.converged,
        "dropped": {
            "rows": dict(result.dataset.dropped_rows),
            "windows": dict(result.dataset.dropped_windows),
        },
        "valid_until": valid_until(model),
        "bundle": str(result.exported.path),
        "id": model.id,
    }


def require_sensor(sensor: str) -> str:
    """The sensor's id, if it can be part of a topic."""
    if not is_sensor(sensor):
        raise BadRecording(f"--sensor: expected 1-64 printable characters without / + #, got {sensor!r:.80}")
    return sensor


def require_options(sensor: str, unit: str, gas: str) -> None:
    """Refuse a sensor's id that cannot be part of a topic, and an empty unit or gas."""
    require_sensor(sensor)
    for name, text in {"unit": unit, "gas": gas}.items():
        if not text.strip():
            raise BadRecording(f"--{name}: expected a word such as {EXAMPLES[name]}, got {text!r}")
