"""One self-contained page about one calibration, and its plots as SVG and numbers as CSV beside it."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edge_agent.core.errors import RespireError
from edge_agent.core.model import Model
from model_export.calibration import plots, targets
from model_export.calibration.fit import FitResult, evaluate
from model_export.calibration.interval import half_widths
from model_export.calibration.profile_plot import profiles
from model_export.calibration.size_curve import Curves, size_curves
from model_export.figures import webpage
from model_export.figures.webpage import Picture, Section
from model_export.files import write_atomically
from model_export.recordings.dataset import Dataset
from model_export.regression.metrics import Score, r2

JUDGED = ("verdict", "findings")  # stand at the top of the page


def write(result: FitResult, summary: Mapping[str, Any], path: Path) -> None:
    """Write the page of a fit; the bundle is written already, and a failure says so."""
    model, fitted = result.exported.model, result.calibration.fitted
    curves = size_curves(model, fitted, result.train, result.test)
    shown = pictures(result, curves)
    judged, where = (result.test, "test part") if len(result.test) else (result.train, "train part")
    figures = {name: value for name, value in summary.items() if name not in JUDGED}
    sections = [
        *_verdict(summary),
        Section("", pictures=shown),
        _targets(model, judged, where),
        *_facts(figures, result.dataset.notes, path),
    ]
    title = f"Calibration of {model.sensor} ({model.gas}, {model.unit})"
    parts = np.where(np.arange(len(result.dataset)) < len(result.train), "train", "test")
    rows = per_window(model, result.dataset).assign(part=parts)
    try:
        write_atomically(path, webpage.page(title, _headline(summary), sections).encode())
        _beside(path, shown, rows, figures)
    except RespireError as error:
        raise RespireError(f"{error}; the bundle {result.exported.path} is complete") from error


def write_evaluation(model: Model, dataset: Dataset, figures: Mapping[str, Any], path: Path) -> None:
    """Write the page of a bundle beside a reference that it was not fitted to."""
    score = evaluate(model, dataset)
    shown = [
        *_agreement(model, dataset, 0, np.zeros(0, dtype=bool), score, "all windows"),
        _weights(model),
    ]
    tiles = [
        ("R²", _number(score.r2)),
        ("RMSE", f"{_number(score.rmse)} {model.unit}"),
        ("bias", f"{_number(score.bias)} {model.unit}"),
        *(_covered(score.coverage, score.promised, model.interval.level) if model.interval else ()),
        ("windows", str(score.n)),
    ]
    sections = [
        Section("", pictures=shown),
        _targets(model, dataset, "all windows"),
        *_facts(figures, dataset.notes, path),
    ]
    title = f"{model.sensor} ({model.gas}, {model.unit}) beside {dataset.name}"
    write_atomically(path, webpage.page(title, tiles, sections).encode())
    _beside(path, shown, per_window(model, dataset), figures)


def per_window(model: Model, dataset: Dataset) -> pd.DataFrame:
    """Every window: start, reference, value, low and high if an interval is promised, and the inputs."""
    value = model.predict(dataset.inputs, dataset.auxiliary)
    half = half_widths(model, dataset, value)
    columns = {"reference": dataset.target, "value": value, "low": value - half, "high": value + half}
    inputs = dict(zip(dataset.channels, dataset.inputs.T, strict=True))
    start = pd.to_datetime(dataset.start_ms, unit="ms", utc=True)
    return pd.DataFrame({"start": start, **columns, **inputs, model.auxiliary: dataset.auxiliary})


def folder_of(page: Path) -> Path:
    """Where the files beside a page go."""
    return page.with_name(f"{page.stem}-figures")


def _beside(page: Path, shown: Sequence[Picture], rows: pd.DataFrame, figures: Mapping[str, Any]) -> None:
    folder = folder_of(page)
    for picture in shown:
        write_atomically(folder / f"{picture.name}.svg", picture.svg)
    write_atomically(folder / "windows.csv", rows.to_csv(index=False, float_format="%.6g").encode())
    table = pd.DataFrame(_flat(figures), columns=["figure", "value"])
    write_atomically(folder / "figures.csv", table.to_csv(index=False).encode())


def _facts(figures: Mapping[str, Any], notes: Sequence[str], path: Path) -> list[Section]:
    where = f"The folder {folder_of(path).name} has the plots as SVG, and figures.csv and windows.csv."
    found = [Section("All figures", where, tables=[[("figure", "value"), *_flat(figures)]])]
    if notes:
        found.append(Section("Notes", tables=[[["about the recording"], *([note] for note in notes)]]))
    return found


def _targets(model: Model, dataset: Dataset, where: str) -> Section:
    """The figures of authorities, each by its name."""
    score = evaluate(model, dataset)
    estimate = model.predict(dataset.inputs, dataset.auxiliary)
    found = targets.targets(dataset.target, estimate, model.gas, model.unit)
    table = targets.rows(found, score.r2, score.rmse, score.bias, model.gas, model.unit)
    return Section(f"What authorities ask for ({where})", tables=[table])


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
    smaller = f"Compression: {size} of {n_train} support vectors"
    return [
        *_agreement(model, dataset, n_train, fitted.outliers, score, where),
        _weights(model),
        Picture(
            plots.compression(curves, full, size, smaller),
            "R² of smaller bundles, with landmark temperatures (the default) and with the paper's method. "
            "Above the full model's line a refit follows the noise.",
            "compression",
        ),
    ]


def _agreement(
    model: Model, dataset: Dataset, n_train: int, outliers: NDArray[np.bool_], score: Score, where: str
) -> list[Picture]:
    """The plots of estimates beside the reference; windows after n_train were not fitted."""
    shaded = " The shaded part is the test; it was not fitted." if 0 < n_train < len(dataset) else ""
    crosses = " Crosses are train windows that the fit treated as outliers." if outliers.any() else ""
    both = ", train and test" if shaded else ""
    follows = f"Over time: R² {score.r2:.3f} ({where})"
    error = f"Against the reference: RMSE {score.rmse:.3g} {model.unit} ({where})"
    bias = f"Error over temperature: bias {score.bias:+.2g} {model.unit} ({where})"
    return [
        Picture(
            plots.timeline(model, dataset, n_train, follows),
            "Top: estimate and reference in the last days. Bottom: the error of every day of the recording. "
            f"Days away from zero are a drift or a step.{shaded}",
            "timeline",
        ),
        Picture(
            plots.scatter(model, dataset, n_train, outliers, error),
            f"Estimate against reference. On the dashed line both agree.{crosses}",
            "scatter",
        ),
        Picture(
            plots.residuals(model, dataset, n_train, bias),
            "The error at each temperature. A median away from zero is a bias that the model missed.",
            "residuals",
        ),
        Picture(
            profiles(model, dataset, "When it is wrong: error by hour"),
            f"All windows{both}. A median that follows the hour or the day is a cause that the model does "
            "not know, such as the traffic's other gases, the sun on the box, or a clock.",
            "profiles",
        ),
    ]


def _weights(model: Model) -> Picture:
    return Picture(
        plots.weights(model, "Weights: reliable where there are many train windows"),
        "The calibration itself. Large swings where there are few train windows mean overfitting or "
        "swapped channels. Warming has one weight at all temperatures, which the title names.",
        "weights",
    )


def _headline(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    tested = [
        ("R² test", _number(summary["r2_test"])),
        ("RMSE test", f"{_number(summary['rmse_test'])} {summary['unit']}"),
        *_covered(summary["coverage"], summary["promised"], summary["level"]),
    ]
    return [
        *(tested if summary["n_test"] else ()),
        ("windows", f"{summary['n_train']} + {summary['n_test']}"),
        ("support vectors", str(summary["support"])),
        ("bytes", str(summary["bytes"])),
    ]


def _covered(coverage: float, promised: float, level: float) -> list[tuple[str, str]]:
    """The share of the references in the interval, and of the windows that have one."""
    return [(f"covered at {level:.0%}", _percent(coverage)), ("have an interval", _percent(promised))]


def _percent(share: float) -> str:
    return "none" if isnan(share) else f"{share:.0%}"


def _flat(summary: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in summary.items():
        if isinstance(value, Mapping):
            yield from _flat({f"{name} {key}": item for key, item in value.items()})
        else:
            yield name, ", ".join(map(str, value)) if isinstance(value, list | tuple) else _number(value)


def _number(value: Any) -> str:
    if value is None or (isinstance(value, float) and isnan(value)):
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
