"""From a dataset to a bundle on disk, and the figures that say how good it is."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from model_export.calibration.calibrate import Calibration, Progress, Recipe, calibrate, probe, tuned
from model_export.calibration.evaluate import evaluate
from model_export.calibration.export import Exported, write
from model_export.calibration.provenance import facts
from model_export.recordings.dataset import Dataset, require_trainable, split
from model_export.regression.metrics import r2
from model_export.regression.respire import Hyperparameters


@dataclass(frozen=True, slots=True)
class Training:
    """All that one `fit` made; `exported.model` is what the edge will serve."""

    dataset: Dataset
    train: Dataset
    test: Dataset
    calibration: Calibration
    exported: Exported


def train(
    dataset: Dataset, recipe: Recipe, path: Path, test_share: float = 0.2, progress: Progress | None = None
) -> Training:
    """Learn from the first windows, keep the last for the test, and write the bundle."""
    require_trainable(dataset)
    require_trainable(split(dataset, test_share)[0])
    dataset = dataset.warmed(recipe.warming)
    part, _ = split(dataset, test_share)
    return train_with(tuned(part, recipe, progress), dataset, recipe, path, test_share)


def train_with(
    hyper: Hyperparameters, dataset: Dataset, recipe: Recipe, path: Path, test_share: float = 0.2
) -> Training:
    """The same with hyperparameters that are known already."""
    part, test = split(dataset, test_share)
    calibration = calibrate(part, hyper, recipe)
    known = facts(calibration, part, evaluate(calibration.model, test), evaluate(calibration.model, part).r2)
    model = replace(calibration.model, provenance=known)
    return Training(dataset, part, test, calibration, write(model, path, probe(calibration, dataset)))


def summary(training: Training) -> dict[str, Any]:
    """The figures of a training; those of agreement are the bundle's, as read back from disk."""
    model, fitted = training.exported.model, training.calibration.fitted
    score = evaluate(model, training.test)
    full = fitted.predict(training.test.inputs, training.test.auxiliary)
    return {
        "sensor": model.sensor,
        "gas": model.gas,
        "unit": model.unit,
        "channels": list(model.channels),
        "n_train": len(training.train),
        "n_test": score.n,
        "r2_train": evaluate(model, training.train).r2,
        "r2_test": score.r2,
        "r2_test_full": r2(training.test.target, full),
        "rmse_test": score.rmse,
        "mae_test": score.mae,
        "bias_test": score.bias,
        "coverage": score.coverage,
        "level": model.interval.level if model.interval else None,
        "half_width": model.interval.half_width if model.interval else None,
        "support": len(model.support),
        "bytes": training.exported.size_bytes,
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
            "rows": dict(training.dataset.dropped_rows),
            "windows": dict(training.dataset.dropped_windows),
        },
        "bundle": str(training.exported.path),
        "id": model.id,
    }
