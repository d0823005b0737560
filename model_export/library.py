"""model-export as a library, which the commands call. Imports everything but the commands."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from edge_agent.core import bundle as bundles
from edge_agent.core.errors import BadRecording
from edge_agent.core.model import Model
from edge_agent.core.units import PublishUnit
from edge_agent.core.windows import WINDOW_MS
from model_export.bundle import Bundle, Paths
from model_export.calibration import export
from model_export.calibration import transfer as transfers
from model_export.calibration.adapt import Adapting
from model_export.calibration.adapt import adapt as adapted
from model_export.calibration.fit import FitResult, Progress, Recipe, Source, fit_recording, summary
from model_export.calibration.fit import evaluate as scored
from model_export.doctor import agreement, words
from model_export.doctor.diagnose import findings_of
from model_export.doctor.examination import examined, examined_alone, judged
from model_export.doctor.finding import Finding
from model_export.doctor.prepare import case_of
from model_export.doctor.units import check_reference, remarks_beside
from model_export.recordings.columns import plain_unit
from model_export.recordings.dataset import Dataset, Stamp, require_unit, require_windows, split, windows
from model_export.recordings.mending import Mending
from model_export.recordings.names import dataset_of, identity, of_another_sensor
from model_export.recordings.recording import CELL, REFERENCE, TEMPERATURE, Recording, Series
from model_export.recordings.shape import Shape
from model_export.recordings.stamps import Dates, parse_window, whole_window
from model_export.recordings.tables import Layout, read, require_columns
from model_export.regression.metrics import Score


@dataclass(frozen=True, slots=True)
class Fit:
    """A new calibration, how good it is on the last windows, and what the doctor says about the recording."""

    bundle: Bundle
    figures: Mapping[str, Any]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    result: FitResult

    @property
    def verdict(self) -> str:
        """One sentence: whether to use it."""
        return words.verdict(self.findings)

    def report(self, path: Paths) -> Path:
        """Write a page with plots, and the plots and their numbers beside it."""
        from model_export.calibration.report import write  # noqa: PLC0415 - matplotlib takes a second

        write(self.result, {**self.figures, **judged(self.findings)}, Path(path))
        return Path(path)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The agreement of a bundle with a reference, and every window behind it."""

    score: Score
    windows: pd.DataFrame  # start, reference, value, low, high, inputs
    notes: tuple[str, ...]
    bundle: Bundle
    dataset: Dataset

    def report(self, path: Paths) -> Path:
        """Write a page with plots, and the plots and their numbers beside it."""
        from model_export.calibration.report import write_evaluation  # noqa: PLC0415 - as above

        model = self.bundle.model
        figures = {"sensor": model.sensor, "unit": model.unit, "id": model.id, **asdict(self.score)}
        figures["level"] = model.interval.level if model.interval else None
        write_evaluation(model, self.dataset, figures, Path(path))
        return Path(path)


@dataclass(frozen=True, slots=True)
class Adapted:
    """A bundle for another place, and its agreement with the reference there before and after."""

    bundle: Bundle
    before: Score
    after: Score
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    n_train: int


@dataclass(frozen=True, slots=True)
class Transferred:
    """A bundle for another sensor, and how well the channels map."""

    bundle: Bundle
    map: transfers.Transfer
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def load_recording(
    *paths: Paths,
    sensor: str | None = None,
    columns: Mapping[str, str] | None = None,
    timezone: str | None = None,
    dates: Dates = "auto",
    shape: Shape | None = None,
    mending: Mending | None = None,
    channels: Sequence[str] | None = None,
    with_reference: bool | None = None,
) -> Recording:
    """A sensor's recording from one or several files (docs/recordings.md).

    If no sensor is given, it is the one in a name such as 5A2D_T-W.csv. A reference is read if there is one.
    """
    files = [Path(path) for path in paths]
    if not files:
        raise BadRecording("load_recording: expected at least one file, got none")
    layout = Layout(columns or {}, timezone, mending, dates, shape or Shape())
    return read(files, sensor or identity(files[0])[0], layout, channels, with_reference)


def load_bundle(path: Paths) -> Bundle:
    """The calibration in a file that `fit` or the agent has."""
    return Bundle(export.read(Path(path)))


def fit(
    recording: Recording,
    *,
    unit: str = "ppm",
    window: str | int = WINDOW_MS,
    reference: Stamp = "auto",
    test_share: float = 0.2,
    recipe: Recipe | None = None,
    strict: bool = False,
    out: Paths | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Calibrate a sensor on the first windows of its recording, and test it on the last.

    `window` is a length such as "1h", or milliseconds. `strict` refuses a recording with a grave fault. With
    `out` the bundle is also written to a file.
    """
    require_columns(recording, [REFERENCE])
    recipe, source = recipe or Recipe(), Source(Layout(), reference, test_share, _window_ms(window))
    found = examined(recording, source, strict=strict, sensor_type=recipe.sensor_type)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "new.bundle" if out is None else Path(out)
        result = fit_recording(recording, unit, path, source=source, recipe=recipe, progress=progress)
    model = result.exported.model
    found += agreement.check(model.sensor, dataset_of(recording), scored(model, result.test), recipe.level)
    found += check_reference(result.dataset, recipe.gas, dataset_of(recording))
    figures = summary(result)
    if out is None:
        del figures["bundle"]  # the file is gone
    if recipe.tuning == "folds":
        figures["trials"] = recipe.trials
    return Fit(Bundle(model), figures, tuple(found), result.dataset.notes, result)


def evaluate(
    bundle: Bundle, recording: Recording, *, reference: Stamp = "auto", unit: str | None = None
) -> Evaluation:
    """The agreement of a bundle with the reference in a recording.

    A reference in another `unit`, or with another one in its header, is converted to the bundle's, at 20 °C
    and 1013.25 hPa; a unit that is not known is refused.
    """
    model = bundle.model
    dataset = beside(model, _converted(recording, model, unit), reference)
    require_windows(dataset, 2)
    notes = (*of_another_sensor(recording, model.sensor), *dataset.notes, *remarks_beside(model, dataset))
    dataset = replace(dataset, notes=notes)
    from model_export.calibration.report import per_window  # noqa: PLC0415 - as above

    return Evaluation(scored(model, dataset), per_window(model, dataset), notes, bundle, dataset)


def adapt(
    bundle: Bundle,
    recording: Recording,
    *,
    reference: Stamp = "auto",
    test_share: float = 0.2,
    how: Adapting | None = None,
    strict: bool = False,
) -> Adapted:
    """The bundle with a gain and an offset fitted to the first windows of a recording elsewhere.

    A reference with another unit in its header is converted to the bundle's.
    """
    model = bundle.model
    require_columns(recording, [*model.measured, TEMPERATURE, REFERENCE])
    source = Source(Layout(), reference, test_share, model.window_ms)
    found = examined(recording, source, strict=strict, sensor_type=model.sensor_type)
    dataset = beside(model, _converted(recording, model), reference)
    dataset = replace(dataset, notes=(*of_another_sensor(recording, model.sensor), *dataset.notes))
    return adapt_windows(bundle, dataset, dataset_of(recording), test_share, how, found)


def adapt_windows(
    bundle: Bundle,
    dataset: Dataset,
    place: str,
    test_share: float,
    how: Adapting | None = None,
    found: Sequence[Finding] = (),
) -> Adapted:
    """The same for windows, wherever they come from; `place` is for findings, `found` are known ones."""
    model = bundle.model
    part, test = split(dataset, test_share)
    moved = _sealed(export.renewed(adapted(model, part, how), part), adapted_on=dataset.name)
    before, after = scored(model, test), scored(moved, test)
    level = moved.interval.level if moved.interval else None
    found = (*found, *agreement.check(model.sensor, place, after, level))
    notes = (*dataset.notes, *remarks_beside(model, dataset))
    return Adapted(Bundle(moved), before, after, found, notes, len(part))


def transfer(bundle: Bundle, source: Recording, target: Recording, *, strict: bool = False) -> Transferred:
    """The bundle for another sensor, from recordings of both at the same time; no reference is read."""
    model = bundle.model
    how = Source(window_ms=model.window_ms)
    found = [finding for one in (source, target) for finding in examined_alone(one, how, strict=strict)]
    there, here = (beside(model, one, None) for one in (source, target))
    moved, fitted = transfers.transfer(model, there, here)
    made = _sealed(moved, transferred_from=model.sensor)
    notes = (*of_another_sensor(source, model.sensor), *there.notes, *here.notes)
    return Transferred(Bundle(made), fitted, tuple(found), notes)


def diagnose(
    *recordings: Recording, window: str | int = WINDOW_MS, reference: Stamp = "auto", sensor_type: str = CELL
) -> list[Finding]:
    """The faults of recordings, the gravest first (docs/doctor.md)."""
    for one in recordings:
        require_columns(one, [REFERENCE])
    how = reference, _window_ms(window), sensor_type
    return findings_of([case_of(one, dataset_of(one), *how) for one in recordings])


def _window_ms(window: str | int) -> int:
    try:
        return parse_window(window) if isinstance(window, str) else whole_window(window)
    except ValueError as error:
        raise BadRecording(f"window: {error}") from error


def beside(model: Model, recording: Recording, reference: Stamp | None) -> Dataset:
    """Windows with all channels of the model, measured or not."""
    require_columns(recording, (*model.measured, TEMPERATURE, *([REFERENCE] if reference else ())))
    chosen = replace(recording, channels=model.measured)
    return windows(chosen, model.unit, reference, model.window_ms).warmed(model.warming)


def _converted(recording: Recording, model: Model, unit: str | None = None) -> Recording:
    """The recording with its reference in the model's unit; without `unit` it is in that of its header."""
    require_columns(recording, [REFERENCE])
    require_unit(recording, unit or "")
    unit = unit or recording.unit or model.unit
    if model.unit == unit or (plain_unit(unit) and plain_unit(model.unit) == plain_unit(unit)):
        return recording
    factor = PublishUnit(model.unit).factor(model.gas, unit)
    if factor is None:
        raise BadRecording(f"unit: expected {model.unit} as in the bundle, got {unit}; convert the reference")
    series = recording.series[REFERENCE]
    moved = {**recording.series, REFERENCE: Series(series.at_ms, series.values * factor)}
    note = f"{recording.name}: the reference was converted from {unit} to {model.unit} (times {factor:.6g})"
    return replace(recording, series=moved, notes=(*recording.notes, note), unit="")


def _sealed(model: Model, **facts: str) -> Model:
    """The model as an agent reads it, with its id and with more provenance."""
    return bundles.decode(bundles.encode(replace(model, provenance={**model.provenance, **facts})))
