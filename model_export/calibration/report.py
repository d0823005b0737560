"""One self-contained page about one calibration, for a browser, a phone or an e-mail."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from model_export.calibration import plots
from model_export.calibration.evaluate import evaluate
from model_export.calibration.size_curve import SizePoint
from model_export.calibration.training import Training
from model_export.figures import webpage
from model_export.figures.webpage import Picture, Section
from model_export.regression.metrics import r2

Curves = Mapping[str, Sequence[SizePoint]]


def page(training: Training, curves: Curves, summary: Mapping[str, Any]) -> str:
    """The page as HTML, with every plot inside it."""
    model = training.exported.model
    notes = [[note] for note in training.dataset.notes]
    sections = [
        Section("", pictures=pictures(training, curves)),
        Section("All figures", tables=[[("figure", "value"), *_flat(summary)]]),
        *([Section("Notes", tables=[[["about the recording"], *notes]])] if notes else []),
    ]
    return webpage.page(
        f"Calibration of {model.sensor} ({model.gas}, {model.unit})", _headline(summary), sections
    )


def pictures(training: Training, curves: Curves) -> list[Picture]:
    """The plots in the order of the questions: does it follow, how far off, where, why, how small."""
    model, dataset, n_train = training.exported.model, training.dataset, len(training.train)
    fitted = training.calibration.fitted
    judged, where = (training.test, "test") if len(training.test) else (training.train, "train")
    score, size = evaluate(model, judged), len(model.support)
    full = r2(training.train.target, fitted.predict(training.train.inputs, training.train.auxiliary))
    follows = f"Over time: R² {score.r2:.3f} ({where})"
    error = f"Against the reference: RMSE {score.rmse:.3g} {model.unit} ({where})"
    smaller = f"Compression: {size} of {n_train} support vectors"
    bias = f"Error over temperature: bias {score.bias:+.2g} {model.unit} ({where})"
    return [
        Picture(
            plots.timeline(model, dataset, n_train, follows),
            "Estimate and reference in the last days, and below the error of every day of the recording: "
            "days that part from zero are a drift or a step. The shaded part was kept apart for the test.",
        ),
        Picture(
            plots.scatter(model, dataset, n_train, fitted.outliers, error),
            "Estimate against reference. On the dashed line both agree; crosses are train windows that the "
            "fit took for outliers.",
        ),
        Picture(
            plots.residuals(model, dataset, n_train, bias),
            "What is left over at each temperature. A median away from zero is a bias the model missed.",
        ),
        Picture(
            plots.weights(model, "Weights: trust them where train windows are many"),
            "The calibration itself. Wild swings where there were few train windows mean overfitting, or "
            "channels that were swapped. Warming has one weight at all temperatures.",
        ),
        Picture(
            plots.compression(curves, full, size, smaller),
            "What a smaller bundle costs, for landmark temperatures (the default) and the paper's way. "
            "Above the full model's line a refit has begun to follow the noise.",
        ),
    ]


def _headline(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    unit = summary["unit"]
    return [
        ("R² test", _number(summary["r2_test"])),
        ("RMSE test", f"{_number(summary['rmse_test'])} {unit}"),
        (f"covered at {summary['level']:.0%}", _number(summary["coverage"])),
        ("windows", f"{summary['n_train']} + {summary['n_test']}"),
        ("support vectors", str(summary["support"])),
        ("bytes", str(summary["bytes"])),
    ]


def _flat(summary: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in summary.items():
        if isinstance(value, Mapping):
            yield from _flat({f"{name} {key}": item for key, item in value.items()})
        else:
            yield name, ", ".join(map(str, value)) if isinstance(value, list | tuple) else _number(value)


def _number(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
