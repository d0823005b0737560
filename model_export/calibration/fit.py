"""From recordings to a bundle: read, tune, fit, compress, measure the interval, write, and sum up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.messages import is_sensor
from edge_agent.core.model import Model
from edge_agent.core.windows import WINDOW_MS
from model_export.calibration import export
from model_export.calibration.interval import LEVEL, forward_conformal
from model_export.recordings.dataset import Dataset, Stamp, require_trainable, split, windows
from model_export.recordings.recording import Recording
from model_export.recordings.tables import Layout
from model_export.regression import respire
from model_export.regression.compress import Compressed, Method, compress
from model_export.regression.metrics import Score, r2, score
from model_export.regression.respire import Fitted, Hyperparameters
from model_export.regression.tune import tune

Progress = Callable[[int, int], None]

# How far back the temperature is compared; docs/methods.md has the figures behind the choice.
WARMING = {"warming_1h": 3_600_000, "warming_4h": 14_400_000}
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

    kernel: str = Hyperparameters().kernel
    trend: float = Hyperparameters().trend
    method: Method = "landmarks"
    size: int | None = None  # None: automatic, see compress
    trials: int = 60
    seed: int = 0
    level: float = LEVEL
    gas: str = "CO"
    warming: Mapping[str, int] = field(default_factory=lambda: WARMING)  # see Dataset.warmed

    def memories_ms(self, window_ms: int) -> dict[str, int]:
        """The warming of such windows: a memory shorter than a window says nothing of its own."""
        return {name: memory_ms for name, memory_ms in self.warming.items() if memory_ms >= window_ms}


def paper(recipe: Recipe) -> Recipe:
    """The same with the paper's inputs, its kernel, which shrinks towards zero, and its compression."""
    return replace(recipe, trend=0.0, method="paper", warming={})


@dataclass(frozen=True, slots=True)
class Calibration:
    """A model, and the full fit that it was compressed from."""

    fitted: Fitted
    compressed: Compressed
    model: Model

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
    require_trainable(dataset)
    return fit(dataset, recipe, out, source.test_share, progress)


def fit(
    dataset: Dataset, recipe: Recipe, path: Path, test_share: float = 0.2, progress: Progress | None = None
) -> FitResult:
    """Fit the first windows, keep the last for the test, and write the bundle."""
    require_trainable(dataset)
    require_trainable(split(dataset, test_share)[0])
    dataset = dataset.warmed(recipe.memories_ms(dataset.window_ms))
    train, test = split(dataset, test_share)
    calibration = fit_with_interval(train, tuned(train, recipe, progress), recipe)
    model = calibration.model
    known = export.facts(model, calibration.fitted, train, evaluate(model, test), evaluate(model, train).r2)
    exported = export.write(
        replace(model, provenance=known), path, dataset, estimate=calibration.predict(dataset)
    )
    return FitResult(dataset, train, test, calibration, exported)


def tuned(train: Dataset, recipe: Recipe, progress: Progress | None = None) -> Hyperparameters:
    """The hyperparameters of the best cross-validated R² on the train part."""
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


def fit_with_interval(train: Dataset, hyper: Hyperparameters, recipe: Recipe) -> Calibration:
    """The model of the train part, with an interval from windows that other models did not see."""
    calibration = fit_model(train, hyper, recipe)
    same_size = replace(recipe, size=len(calibration.compressed.support))

    def estimate(before: Dataset, after: Dataset) -> Array:
        return fit_model(before, hyper, same_size).model.predict(after.inputs, after.auxiliary)

    interval = forward_conformal(train, estimate, recipe.level)
    return replace(calibration, model=replace(calibration.model, interval=interval))


def fit_model(train: Dataset, hyper: Hyperparameters, recipe: Recipe) -> Calibration:
    """Fit and compress, without an interval."""
    return compressed(respire.fit(train.inputs, train.auxiliary, train.target, hyper), train, recipe)


def compressed(fitted: Fitted, train: Dataset, recipe: Recipe) -> Calibration:
    """The model of a full fit on as many support vectors as the recipe says."""
    small = compress(
        fitted, train.inputs, train.auxiliary, train.target, size=recipe.size, method=recipe.method
    )
    return Calibration(fitted, small, _model(fitted, small, train, recipe.gas))


def evaluate(model: Model, dataset: Dataset) -> Score:
    """The agreement of a model, as the agent serves it, with the reference of a dataset."""
    estimate = model.predict(dataset.inputs, dataset.auxiliary)
    return score(dataset.target, estimate, model.interval.half_width if model.interval else None)


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
        "level": model.interval.level if model.interval else None,
        "half_width": model.interval.half_width if model.interval else None,
        "support": len(model.support),
        "bytes": result.exported.size_bytes,
        "kernel": model.kernel,
        "trend": fitted.hyper.trend,
        "length_scale": model.length_scale,
        "lambda": fitted.hyper.ridge,
        "alpha": fitted.hyper.alpha,
        "eta": fitted.hyper.eta,
        "outliers": int(fitted.outliers.sum()),
        "rounds": fitted.rounds,
        "converged": fitted.converged,
        "dropped": {
            "rows": dict(result.dataset.dropped_rows),
            "windows": dict(result.dataset.dropped_windows),
        },
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
        window_ms=train.window_ms,
        domain={
            name: (float(values.min()), float(values.max()))
            for name, values in zip(names, columns, strict=True)
        },
    )
