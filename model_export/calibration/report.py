"""One self-contained page about one calibration, for a browser, a phone or an e-mail."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from edge_agent.core.errors import RespireError
from model_export.calibration import plots
from model_export.calibration.fit import FitResult, evaluate
from model_export.calibration.size_curve import Curves, size_curves
from model_export.figures import webpage
from model_export.figures.webpage import Picture, Section
from model_export.files import write_atomically
from model_export.regression.metrics import r2

JUDGED = ("verdict", "findings")  # stand at the top of the page


def write(result: FitResult, summary: Mapping[str, Any], path: Path) -> None:
    """Write the page of a fit; the bundle is written already, and a failure says so."""
    model, fitted = result.exported.model, result.calibration.fitted
    curves = size_curves(model, fitted, result.train, result.test)
    try:
        write_atomically(path, page(result, curves, summary).encode())
    except RespireError as error:
        raise RespireError(f"{error}; the bundle {result.exported.path} is complete") from error


def page(result: FitResult, curves: Curves, summary: Mapping[str, Any]) -> str:
    """The page as HTML, with every plot inside it."""
    model = result.exported.model
    notes = [[note] for note in result.dataset.notes]
    figures = {name: value for name, value in summary.items() if name not in JUDGED}
    sections = [
        *_verdict(summary),
        Section("", pictures=pictures(result, curves)),
        Section("All figures", tables=[[("figure", "value"), *_flat(figures)]]),
        *([Section("Notes", tables=[[["about the recording"], *notes]])] if notes else []),
    ]
    return webpage.page(
        f"Calibration of {model.sensor} ({model.gas}, {model.unit})", _headline(summary), sections
    )


def _verdict(summary: Mapping[str, Any]) -> list[Section]:
    """The verdict in one sentence and its findings, the gravest first; nothing where no one looked."""
    if "verdict" not in summary:
        return []
    rows = [
        (f"{one['severity'].capitalize()}: {one['summary']}.", one["advice"]) for one in summary["findings"]
    ]
    return [Section(summary["verdict"], tables=[[("finding", "what to do"), *rows]] if rows else [])]


def pictures(result: FitResult, curves: Curves) -> list[Picture]:
    """The plots in the order of the questions: does it follow, how far off, where, why, how small."""
    model, dataset, n_train = result.exported.model, result.dataset, len(result.train)
    fitted = result.calibration.fitted
    judged, where = (result.test, "test") if len(result.test) else (result.train, "train")
    score, size = evaluate(model, judged), len(model.support)
    full = r2(result.train.target, fitted.predict(result.train.inputs, result.train.auxiliary))
    follows = f"Over time: R² {score.r2:.3f} ({where})"
    error = f"Against the reference: RMSE {score.rmse:.3g} {model.unit} ({where})"
    smaller = f"Compression: {size} of {n_train} support vectors"
    bias = f"Error over temperature: bias {score.bias:+.2g} {model.unit} ({where})"
    return [
        Picture(
            plots.timeline(model, dataset, n_train, follows),
            "Top: estimate and reference in the last days. Bottom: the error of every day of the recording. "
            "Days away from zero are a drift or a step. The shaded part is the test; it was not fitted.",
        ),
        Picture(
            plots.scatter(model, dataset, n_train, fitted.outliers, error),
            "Estimate against reference. On the dashed line both agree. Crosses are train windows that the "
            "fit treated as outliers.",
        ),
        Picture(
            plots.residuals(model, dataset, n_train, bias),
            "The error at each temperature. A median away from zero is a bias that the model missed.",
        ),
        Picture(
            plots.weights(model, "Weights: reliable where there are many train windows"),
            "The calibration itself. Large swings where there are few train windows mean overfitting or "
            "swapped channels. Warming has one weight at all temperatures.",
        ),
        Picture(
            plots.compression(curves, full, size, smaller),
            "R² of smaller bundles, with landmark temperatures (the default) and with the paper's method. "
            "Above the full model's line a refit follows the noise.",
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
