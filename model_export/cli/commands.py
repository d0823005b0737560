"""The commands but `fit`: files in, a result to print out."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from edge_agent.core.card import inspection
from edge_agent.core.errors import BadBundle, BadRecording
from edge_agent.core.model import Model
from model_export.calibration import export, plots, size_curve
from model_export.calibration import transfer as transfers
from model_export.calibration.adapt import adapt as adapted
from model_export.calibration.fit import Progress, Source, require_sensor
from model_export.calibration.fit import evaluate as evaluated
from model_export.cli.console import CommandResult
from model_export.doctor import diagnose as doctors
from model_export.doctor import picture, words
from model_export.figures.axes import png
from model_export.files import require_places, write_atomically
from model_export.recordings.catalogue import files_of_other_sensors
from model_export.recordings.dataset import Dataset, Stamp, load, require_trainable, require_windows, split
from model_export.recordings.tables import Layout
from model_export.recordings.units import remarks_beside
from model_export.regression import respire
from model_export.regression.metrics import Score, r2

ITS_SENSOR, NAMED = "the bundle is for", "--sensor is"
SHORT = 0.15  # how far coverage may fall below its level without a message


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
    if level is not None and figures["coverage"] < level - SHORT:
        advice = "" if others else ", or try model-export adapt"
        messages.append(
            f"only {figures['coverage']:.0%} of the values fall in the {level:.0%} interval; "
            f"do not use the bundle here{advice}"
        )
    return CommandResult(figures | {"level": level}, tuple(messages))


def adapt(bundle: Path, data: Sequence[Path], out: Path, *, source: Source) -> CommandResult:
    """A gain and an offset for another site or season, evaluated on the last windows."""
    require_places(bundle=out, inputs=data)
    model = export.read(bundle)
    dataset = _beside(model, data, source)
    part, test = split(dataset, source.test_share)
    moved = adapted(model, part)
    written = export.write(_noted(moved, adapted_on=dataset.name), out, dataset)
    before, after = evaluated(model, test), evaluated(written.model, test)
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
    return CommandResult(figures | _written(written), (*others, *_messages(model, dataset)))


def transfer(
    bundle: Path,
    source_data: Sequence[Path],
    target_data: Sequence[Path],
    sensor: str,
    out: Path,
    *,
    source: Source,
) -> CommandResult:
    """One sensor's bundle for another that was beside it; no reference is read."""
    require_places(bundle=out, inputs=(*source_data, *target_data))
    model = export.read(bundle)
    there = _read(model, source_data, model.sensor, source.layout, None)
    here = _read(model, target_data, require_sensor(sensor), source.layout, None)
    moved, fitted = transfers.transfer(model, there, here)
    written = export.write(_noted(moved, transferred_from=model.sensor), out, here)
    figures = {
        "sensor": sensor,
        "source": model.sensor,
        "n": fitted.n,
        "r2": dict(zip(model.channels, fitted.r2, strict=True)),
        "matrix": fitted.matrix.tolist(),
        "half_width": moved.interval and moved.interval.half_width,
    }
    others = (
        *files_of_other_sensors(source_data, model.sensor, ITS_SENSOR),
        *files_of_other_sensors(target_data, sensor, NAMED),
    )
    return CommandResult(figures | _written(written), (*others, *there.notes, *here.notes))


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
    hyper = export.hyperparameters(model)
    export.require_fitted_to(model, train)
    fitted = respire.fit(train.inputs, train.auxiliary, train.target, hyper)
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


def inspect(bundle: Path, plot: Path | None = None) -> CommandResult:
    """The content of a bundle; `edge-agent inspect` prints the same."""
    require_places(plot=plot, inputs=[bundle])
    model = export.read(bundle)
    if plot:
        title = f"{model.sensor}: the weight of each input over temperature"
        write_atomically(plot, png(plots.weights(model, title)))
    return CommandResult(inspection(model, bundle.stat().st_size))


def diagnose(
    data: Sequence[Path],
    sensor: str | None,
    *,
    source: Source,
    plot: Path | None = None,
    progress: Progress | None = None,
) -> CommandResult:
    """The faults of recordings; a file that cannot be read is reported, and is fatal only if all are."""
    require_places(plot=plot, inputs=data)
    owner = None if sensor is None else require_sensor(sensor)
    found = doctors.diagnose(data, owner, source.layout, source.reference, progress)
    if not found.cases:
        raise BadRecording(next(iter(found.skipped.values())))
    if plot:
        write_atomically(plot, png(picture.picture(found)))
    return CommandResult(words.data(found), words.lines(found))


def _beside(model: Model, data: Sequence[Path], source: Source) -> Dataset:
    """The recording of the model's sensor, with the model's channels and unit."""
    return _read(model, data, model.sensor, source.layout, source.reference)


def _read(
    model: Model, data: Sequence[Path], sensor: str, layout: Layout, reference: Stamp | None
) -> Dataset:
    """A recording with all channels of the model, measured or not."""
    dataset = load(data, sensor, model.unit, layout, channels=model.measured, reference=reference)
    return dataset.warmed(model.warming)


def _messages(model: Model, dataset: Dataset) -> tuple[str, ...]:
    return (*dataset.notes, *remarks_beside(model, dataset))


def _noted(model: Model, **facts: str) -> Model:
    return replace(model, provenance={**model.provenance, **facts})


def _agreement(score: Score) -> dict[str, Any]:
    return {name: value for name, value in asdict(score).items() if name != "n"}


def _written(written: export.Exported) -> dict[str, Any]:
    return {"bytes": written.size_bytes, "bundle": str(written.path), "id": written.model.id}
