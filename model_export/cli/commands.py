"""The work behind each command: files in, files out, and a summary to print."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from edge_agent.core.errors import BadBundle, BadRecording, RespireError
from edge_agent.core.messages import is_sensor
from edge_agent.core.model import Model
from model_export.calibration import export, plots, report, size_curve
from model_export.calibration import transfer as transfers
from model_export.calibration.adapt import adapt as adapted
from model_export.calibration.calibrate import Progress, Recipe, learn
from model_export.calibration.evaluate import evaluate as evaluated
from model_export.calibration.provenance import hyperparameters, require_fitted_to
from model_export.calibration.training import summary, train, train_with
from model_export.cli.console import Done
from model_export.cli.outputs import require_places
from model_export.doctor import diagnose as doctors
from model_export.doctor import picture, words
from model_export.figures.axes import png
from model_export.files import write_atomically
from model_export.recordings.catalogue import files_of_other_sensors
from model_export.recordings.dataset import Dataset, Stamp, load, require_trainable, require_windows, split
from model_export.recordings.tables import Layout
from model_export.recordings.units import remarks, remarks_beside
from model_export.regression.compress import Method
from model_export.regression.metrics import Score, r2
from model_export.regression.respire import Fitted

WEIGHT_SAMPLES = 9
ADAPT = "air, season or the reference's zero are not those of training; adapt corrects a gain and an offset"
ITS_SENSOR, NAMED = "the bundle is for", "--sensor is"
WORDS = {"unit": "ppm", "gas": "CO"}
SHORT = 0.15  # how far coverage may fall below its level before we speak of it


@dataclass(frozen=True, slots=True)
class Source:
    """How the user's files are to be read."""

    layout: Layout = field(default_factory=Layout)
    reference: Stamp = "auto"
    test_share: float = 0.2


def fit(
    data: Sequence[Path],
    sensor: str,
    unit: str,
    out: Path,
    *,
    source: Source,
    recipe: Recipe,
    report_to: Path | None = None,
    progress: Progress | None = None,
) -> Done:
    """Tune, fit, compress, export."""
    require_places(bundle=out, page=report_to, inputs=data)
    _require_words(unit=unit, gas=recipe.gas)
    dataset = load(data, _checked(sensor), unit, source.layout, reference=source.reference)
    require_trainable(dataset)
    others = files_of_other_sensors(data, sensor, NAMED)
    dataset = replace(dataset, notes=(*others, *dataset.notes, *remarks(dataset, recipe.gas)))
    training = train(dataset, recipe, out, source.test_share, progress)
    figures = {**summary(training), "trials": recipe.trials}
    if report_to:
        fitted = training.calibration.fitted
        curves = _curves(training.exported.model, fitted, training.train, training.test)
        _report(report_to, report.page(training, curves, figures), out)
    return Done(figures, dataset.notes)


def evaluate(bundle: Path, data: Sequence[Path], *, source: Source) -> Done:
    """How a bundle agrees with a reference it may never have seen."""
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
    short = level is not None and figures["coverage"] < level - SHORT
    others = files_of_other_sensors(data, model.sensor, ITS_SENSOR)
    why = "" if others else f": {ADAPT}"
    hints = (f"the {level:.0%} interval covers {figures['coverage']:.0%} here{why}",) if short else ()
    return Done(figures | {"level": level}, (*others, *_words(model, dataset), *hints))


def adapt(bundle: Path, data: Sequence[Path], out: Path, *, source: Source) -> Done:
    """A gain and an offset for another site or season, judged on the last windows."""
    require_places(bundle=out, inputs=data)
    model = export.read(bundle)
    dataset = _beside(model, data, source)
    part, test = split(dataset, source.test_share)
    moved = adapted(model, part)
    written = export.write(_noted(moved, adapted_on=dataset.name), out, _probe(moved, dataset))
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
    return Done(figures | _written(written), (*others, *_words(model, dataset)))


def transfer(
    bundle: Path,
    source_data: Sequence[Path],
    target_data: Sequence[Path],
    sensor: str,
    out: Path,
    *,
    source: Source,
) -> Done:
    """One sensor's bundle for another that stood beside it; no reference is read."""
    require_places(bundle=out, inputs=(*source_data, *target_data))
    model = export.read(bundle)
    there = _read(model, source_data, model.sensor, source.layout, None)
    here = _read(model, target_data, _checked(sensor), source.layout, None)
    moved, learnt = transfers.transfer(model, there, here)
    written = export.write(_noted(moved, transferred_from=model.sensor), out, _probe(moved, here))
    figures = {
        "sensor": sensor,
        "source": model.sensor,
        "n": learnt.n,
        "r2": dict(zip(model.channels, learnt.r2, strict=True)),
        "matrix": learnt.matrix.tolist(),
        "half_width": moved.interval and moved.interval.half_width,
    }
    others = (
        *files_of_other_sensors(source_data, model.sensor, ITS_SENSOR),
        *files_of_other_sensors(target_data, sensor, NAMED),
    )
    return Done(figures | _written(written), (*others, *there.notes, *here.notes))


def compress(
    bundle: Path,
    data: Sequence[Path],
    *,
    source: Source,
    sizes: Sequence[int] = size_curve.SIZES,
    size: int | None = None,
    out: Path | None = None,
    plot: Path | None = None,
) -> Done:
    """What each size would cost on the recording a bundle was fitted to; `out` writes one of them."""
    require_places(bundle=out, plot=plot, inputs=data)
    model = export.read(bundle)
    if model.transfer is not None or model.adapter != (1.0, 0.0):
        raise BadBundle(f"{bundle.name}: expected a bundle as fit makes it, got one with transfer or adapter")
    dataset = _beside(model, data, source)
    require_trainable(dataset)
    part, test = split(dataset, source.test_share)
    hyper, recipe = hyperparameters(model), Recipe(size=size, gas=model.gas)
    require_fitted_to(model, part)
    full = learn(part, hyper, recipe)
    curves, best = _curves(model, full.fitted, part, test, sizes=sizes), _r2(full.fitted, part)
    if plot:
        title = f"{model.sensor}: what a smaller model costs"
        write_atomically(plot, png(plots.compression(curves, best, len(full.compressed.support), title)))
    figures = {
        "sensor": model.sensor,
        "n_train": len(part),
        "n_test": len(test),
        "r2_train_full": best,
        "chosen": len(full.compressed.support),
        "curves": {method: [asdict(point) for point in points] for method, points in curves.items()},
    }
    if out:
        figures["written"] = summary(train_with(hyper, dataset, recipe, out, source.test_share))
    return Done(figures, dataset.notes)


def inspect(bundle: Path, plot: Path | None = None) -> Done:
    """What is in a bundle."""
    require_places(plot=plot, inputs=[bundle])
    model = export.read(bundle)
    if plot:
        title = f"{model.sensor}: the weight of each input over temperature"
        write_atomically(plot, png(plots.weights(model, title)))
    low, high = model.domain.get(model.auxiliary, (0.0, 40.0))
    temperatures = np.linspace(low, high, WEIGHT_SAMPLES)
    names = (*model.channels, "bias")
    return Done(
        {
            "sensor": model.sensor,
            "gas": model.gas,
            "unit": model.unit,
            "id": model.id,
            "bytes": bundle.stat().st_size,
            "channels": list(model.channels),
            "warming": {name: memory_ms / 1000 for name, memory_ms in model.warming.items()},
            "kernel": model.kernel,
            "length_scale": model.length_scale,
            "support": len(model.support),
            "interval": asdict(model.interval) if model.interval else None,
            "adapter": {"gain": model.adapter[0], "offset": model.adapter[1]},
            "transfer": None if model.transfer is None else model.transfer.tolist(),
            "domain": {name: list(between) for name, between in model.domain.items()},
            "weights": [
                {"temperature": float(at), **dict(zip(names, map(float, row), strict=True))}
                for at, row in zip(temperatures, model.weights(temperatures), strict=True)
            ],
            "provenance": dict(model.provenance),
        }
    )


def diagnose(
    data: Sequence[Path],
    sensor: str | None,
    *,
    source: Source,
    plot: Path | None = None,
    progress: Progress | None = None,
) -> Done:
    """What is wrong with recordings; a file that cannot be read is told of, and fatal only if all are."""
    require_places(plot=plot, inputs=data)
    owner = None if sensor is None else _checked(sensor)
    found = doctors.diagnose(data, owner, source.layout, source.reference, progress)
    if not found.cases:
        raise BadRecording(next(iter(found.skipped.values())))
    if plot:
        write_atomically(plot, png(picture.picture(found)))
    return Done(words.data(found), words.lines(found))


def _checked(sensor: str) -> str:
    if not is_sensor(sensor):
        raise BadRecording(f"--sensor: expected 1-64 printable characters without / + #, got {sensor!r:.80}")
    return sensor


def _require_words(**options: str) -> None:
    for name, text in options.items():
        if not text.strip():
            raise BadRecording(f"--{name}: expected a word such as {WORDS[name]}, got {text!r}")


def _beside(model: Model, data: Sequence[Path], source: Source) -> Dataset:
    """The recording of the model's sensor in the model's own words."""
    return _read(model, data, model.sensor, source.layout, source.reference)


def _read(
    model: Model, data: Sequence[Path], sensor: str, layout: Layout, reference: Stamp | None
) -> Dataset:
    """A recording with all channels of the model, measured or not."""
    dataset = load(data, sensor, model.unit, layout, channels=model.measured, reference=reference)
    return dataset.warmed(model.warming)


def _words(model: Model, dataset: Dataset) -> tuple[str, ...]:
    return (*dataset.notes, *remarks_beside(model, dataset))


def _noted(model: Model, **facts: str) -> Model:
    return replace(model, provenance={**model.provenance, **facts})


def _probe(model: Model, dataset: Dataset) -> export.Probe:
    return export.Probe(dataset.inputs, dataset.auxiliary, model.predict(dataset.inputs, dataset.auxiliary))


def _agreement(score: Score) -> dict[str, Any]:
    return {name: value for name, value in asdict(score).items() if name != "n"}


def _written(written: export.Exported) -> dict[str, Any]:
    return {"bytes": written.size_bytes, "bundle": str(written.path), "id": written.model.id}


def _report(path: Path, page: str, bundle: Path) -> None:
    try:
        write_atomically(path, page.encode())
    except RespireError as error:
        raise RespireError(f"{error}; the bundle {bundle} was written and is whole") from error


def _curves(
    like: Model, fitted: Fitted, train: Dataset, test: Dataset, *, sizes: Sequence[int] = size_curve.SIZES
) -> report.Curves:
    """Both ways to compress, side by side."""
    methods: tuple[Method, ...] = ("landmarks", "paper")
    return {
        method: size_curve.size_curve(
            like, fitted, train, test, recipe=Recipe(method=method, gas=like.gas), sizes=sizes
        )
        for method in methods
    }


def _r2(fitted: Fitted, dataset: Dataset) -> float:
    return r2(dataset.target, fitted.predict(dataset.inputs, dataset.auxiliary))
