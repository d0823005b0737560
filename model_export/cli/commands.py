"""The commands: files in, a result to print out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from edge_agent.core.card import inspection
from edge_agent.core.errors import BadBundle
from edge_agent.core.model import Model
from model_export.calibration import export, plots, size_curve
from model_export.calibration import transfer as transfers
from model_export.calibration.adapt import Adapting
from model_export.calibration.adapt import adapt as adapted
from model_export.calibration.contributions import contributions, in_words
from model_export.calibration.fit import (
    Progress,
    Recipe,
    Source,
    fit_recording,
    require_options,
    require_sensor,
    summary,
)
from model_export.calibration.fit import evaluate as evaluated
from model_export.cli.console import (
    CommandResult,
    adapt_sentence,
    bar,
    evaluate_sentence,
    fit_sentence,
    transfer_sentence,
)
from model_export.doctor import agreement, mend, words
from model_export.doctor.examination import examined, examined_alone, judged, warnings
from model_export.doctor.units import remarks, remarks_beside
from model_export.figures.axes import png
from model_export.files import require_places, write_atomically
from model_export.recordings.catalogue import files_of_other_sensors, identity
from model_export.recordings.dataset import Dataset, Stamp, require_trainable, require_windows, split, windows
from model_export.recordings.recording import Recording
from model_export.recordings.tables import Layout, read, title
from model_export.regression.metrics import Score, r2

SHIFTED = 0.5  # share of the squared error that is bias
NO_INTERVAL = "the bundle has no interval: without a reference its errors are not known; adapt measures them"
ITS_SENSOR, NAMED = "the bundle is for", "--sensor is"


def fit(
    data: Sequence[Path],
    sensor: str,
    unit: str,
    out: Path,
    *,
    source: Source,
    recipe: Recipe,
    report: Path | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> CommandResult:
    """A sensor's bundle and its report, with the doctor's verdict on the recording and on the fit."""
    require_places(bundle=out, page=report, inputs=data)
    require_options(sensor, unit, recipe.gas)
    recording = read_files(data, sensor, source.layout)
    found = examined(recording, data[0], source, strict=strict)
    result = fit_recording(recording, unit, out, source=source, recipe=recipe, progress=progress)
    about = (*files_of_other_sensors(data, sensor, NAMED), *remarks(result.dataset, recipe.gas))
    result = replace(result, dataset=replace(result.dataset, notes=(*about, *result.dataset.notes)))
    score = evaluated(result.exported.model, result.test)
    found += agreement.check(sensor, identity(data[0])[1], score, recipe.level)
    figures = summary(result)
    if recipe.tuning == "folds":
        figures["trials"] = recipe.trials
    added = contributions(data, result, source, recipe) if len(data) > 1 else []
    if added:
        figures["recordings"] = [asdict(each) for each in added]
    if report:
        from model_export.calibration.report import write  # noqa: PLC0415 - matplotlib takes a second

        write(result, figures | judged(found), report)
    sentence = fit_sentence(figures, source.test_share, report, words.verdict(found))
    messages = (*result.dataset.notes, *map(in_words, added), *warnings(found))
    return CommandResult(figures | judged(found), messages, sentence)


def evaluate(bundle: Path, data: Sequence[Path], *, source: Source) -> CommandResult:
    """The agreement of a bundle with a reference."""
    model = export.read(bundle)
    dataset = _beside(model, data, source)
    require_windows(dataset, 2)
    figures = {
        "sensor": model.sensor,
        "unit": model.unit,
        "id": model.id,
        **asdict(evaluated(model, dataset)),
    }
    level = None if model.interval is None else model.interval.level
    others = files_of_other_sensors(data, model.sensor, ITS_SENSOR)
    messages = [*others, *_messages(model, dataset)]
    if level is not None and figures["coverage"] < level - agreement.SHORT:
        advice = "" if others else _adapt_advice(figures, model.unit)
        messages.append(
            f"only {figures['coverage']:.0%} of the values fall in the {level:.0%} interval; "
            f"do not use the bundle here{advice}"
        )
    figures |= {"level": level}
    return CommandResult(figures, tuple(messages), evaluate_sentence(figures))


def adapt(
    bundle: Path,
    data: Sequence[Path],
    out: Path,
    *,
    how: Adapting | None = None,
    source: Source,
    strict: bool = False,
) -> CommandResult:
    """A gain and an offset for another site or season, evaluated on the last windows."""
    require_places(bundle=out, inputs=data)
    model = export.read(bundle)
    source = replace(source, window_ms=model.window_ms)
    recording = read_files(data, model.sensor, source.layout, model.measured)
    found = examined(recording, data[0], source, strict=strict)
    dataset = _windows(model, recording, source.reference)
    part, test = split(dataset, source.test_share)
    moved = adapted(model, part, how)
    written = export.write(_noted(moved, adapted_on=dataset.name), out, dataset)
    before, after = evaluated(model, test), evaluated(written.model, test)
    level = written.model.interval.level if written.model.interval else None
    found += agreement.check(model.sensor, identity(data[0])[1], after, level)
    figures = {
        "sensor": model.sensor,
        "unit": model.unit,
        "n_train": len(part),
        "n_test": len(test),
        "gain": written.model.adapter[0],
        "offset": written.model.adapter[1],
        "before": _agreement(before),
        "after": _agreement(after),
    }
    others = files_of_other_sensors(data, model.sensor, ITS_SENSOR)
    messages = (*others, *_messages(model, dataset), *warnings(found))
    sentence = adapt_sentence(figures, written, words.verdict(found))
    return CommandResult(figures | _written(written) | judged(found), messages, sentence)


def transfer(
    bundle: Path,
    source_data: Sequence[Path],
    target_data: Sequence[Path],
    sensor: str,
    out: Path,
    *,
    source: Source,
    strict: bool = False,
) -> CommandResult:
    """One sensor's bundle for another that was beside it; no reference is read."""
    require_places(bundle=out, inputs=(*source_data, *target_data))
    model = export.read(bundle)
    source = replace(source, window_ms=model.window_ms)
    both = [
        read_files(paths, owner, source.layout, model.measured, with_reference=False)
        for paths, owner in ((source_data, model.sensor), (target_data, require_sensor(sensor)))
    ]
    found = [
        finding
        for recording, paths in zip(both, (source_data, target_data), strict=True)
        for finding in examined_alone(recording, paths[0], source, strict=strict)
    ]
    there, here = (_windows(model, recording, None) for recording in both)
    moved, fitted = transfers.transfer(model, there, here)
    written = export.write(_noted(moved, transferred_from=model.sensor), out, here)
    figures = {
        "sensor": sensor,
        "source": model.sensor,
        "n": fitted.n,
        "r2": dict(zip(model.channels, fitted.r2, strict=True)),
        "matrix": fitted.matrix.tolist(),
    }
    others = (
        *files_of_other_sensors(source_data, model.sensor, ITS_SENSOR),
        *files_of_other_sensors(target_data, sensor, NAMED),
    )
    messages = (*others, *there.notes, *here.notes, NO_INTERVAL, *warnings(found))
    sentence = transfer_sentence(figures, written, words.verdict(found))
    return CommandResult(figures | _written(written) | judged(found), messages, sentence)


def compress(
    bundle: Path,
    data: Sequence[Path],
    *,
    source: Source,
    sizes: Sequence[int] = size_curve.SIZES,
    plot: Path | None = None,
) -> CommandResult:
    """The agreement and the bytes of each size, on the recording that a bundle was fitted to."""
    require_places(plot=plot, inputs=data)
    model = export.read(bundle)
    if model.transfer is not None or model.adapter != (1.0, 0.0):
        raise BadBundle(f"{bundle.name}: expected a bundle made by fit, got one with transfer or adapter")
    dataset = _beside(model, data, source)
    require_trainable(dataset)
    train, test = split(dataset, source.test_share)
    fit_again = export.refit(model)
    export.require_fitted_to(model, train)
    fitted = fit_again(train)
    curves = size_curve.size_curves(model, fitted, train, test, sizes)
    full, chosen = r2(train.target, fitted.predict(train.inputs, train.auxiliary)), len(model.support)
    if plot:
        title = f"{model.sensor}: the cost of a smaller model"
        write_atomically(plot, png(plots.compression(curves, full, chosen, title)))
    figures = {
        "sensor": model.sensor,
        "n_train": len(train),
        "n_test": len(test),
        "r2_train_full": full,
        "chosen": chosen,
        "curves": {method: [asdict(point) for point in points] for method, points in curves.items()},
    }
    return CommandResult(figures, dataset.notes)


def convert(data: Sequence[Path], sensor: str, out: Path, *, source: Source) -> CommandResult:
    """A recording as CSV that every program reads; the reference is in it if the files have one."""
    require_places(table=out, inputs=data)
    recording = read_files(data, require_sensor(sensor), source.layout, with_reference=None)
    rows = mend.table(recording)
    write_atomically(out, rows.to_csv(index=False).encode())
    figures = {"sensor": sensor, "rows": len(rows), "columns": [*rows.columns], "recording": str(out)}
    return CommandResult(figures, recording.notes, f"{len(rows)} rows in {out}.")


def inspect(bundle: Path, plot: Path | None = None) -> CommandResult:
    """The content of a bundle; `edge-agent inspect` prints the same."""
    require_places(plot=plot, inputs=[bundle])
    model = export.read(bundle)
    if plot:
        title = f"{model.sensor}: the weight of each input over temperature"
        write_atomically(plot, png(plots.weights(model, title)))
    return CommandResult(inspection(model, bundle.stat().st_size))


def read_files(
    paths: Sequence[Path],
    sensor: str,
    layout: Layout,
    channels: Sequence[str] | None = None,
    *,
    with_reference: bool | None = True,
) -> Recording:
    """A sensor's recording, read once for all that follows, with a progress bar on a terminal."""
    with bar(f"reading {title(paths)}") as progress:
        return read(paths, sensor, layout, channels, with_reference, progress)


def _beside(model: Model, data: Sequence[Path], source: Source) -> Dataset:
    """The windows of the model's sensor, with the model's channels and unit."""
    recording = read_files(data, model.sensor, source.layout, model.measured)
    return _windows(model, recording, source.reference)


def _windows(model: Model, recording: Recording, reference: Stamp | None) -> Dataset:
    """Windows with all channels of the model, measured or not."""
    return windows(recording, model.unit, reference, model.window_ms).warmed(model.warming)


def _messages(model: Model, dataset: Dataset) -> tuple[str, ...]:
    return (*dataset.notes, *remarks_beside(model, dataset))


def _adapt_advice(figures: Mapping[str, Any], unit: str) -> str:
    """What `adapt` would correct: mostly it is a zero that has shifted with the season or the analyser."""
    if figures["bias"] ** 2 < SHIFTED * figures["rmse"] ** 2:
        return ", or try model-export adapt"
    return (
        f": most of the error is a shift of {figures['bias']:+.2g} {unit}, which model-export adapt corrects"
    )


def _noted(model: Model, **facts: str) -> Model:
    return replace(model, provenance={**model.provenance, **facts})


def _agreement(score: Score) -> dict[str, Any]:
    return {name: value for name, value in asdict(score).items() if name != "n"}


def _written(written: export.Exported) -> dict[str, Any]:
    return {"bytes": written.size_bytes, "bundle": str(written.path), "id": written.model.id}
