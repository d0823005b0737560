"""The commands: files in, a result to print out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from edge_agent.core.card import description, inspection, valid_until
from edge_agent.core.errors import BadBundle
from model_export import library
from model_export.bundle import Bundle
from model_export.calibration import export, size_curve
from model_export.calibration.adapt import Adapting
from model_export.calibration.contributions import contributions, in_words
from model_export.calibration.fit import (
    Progress,
    Recipe,
    Source,
    require_options,
    require_sensor,
)
from model_export.cli.console import (
    CommandResult,
    adapt_sentence,
    bar,
    evaluate_sentence,
    fit_sentence,
    transfer_sentence,
)
from model_export.doctor import agreement, mend, words
from model_export.doctor.examination import judged, warnings
from model_export.files import require_places, write_atomically
from model_export.recordings.dataset import require_trainable, split
from model_export.recordings.journal import journal_file, load_journal
from model_export.recordings.names import files_of_other_sensors
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
    done = library.fit(
        read_files(data, sensor, source.layout, because=NAMED),
        unit=unit,
        window=source.window_ms,
        reference=source.reference,
        test_share=source.test_share,
        recipe=recipe,
        strict=strict,
        out=out,
        progress=progress,
    )
    added = contributions(data, done.result, source, recipe) if len(data) > 1 else []
    if added:
        done = replace(done, figures={**done.figures, "recordings": [asdict(each) for each in added]})
    if report:
        done.report(report)
    sentence = fit_sentence(done.figures, source.test_share, report, done.verdict)
    messages = (*done.notes, *map(in_words, added), *warnings(done.findings))
    return CommandResult({**done.figures, **judged(done.findings)}, messages, sentence)


def evaluate(
    bundle: Path,
    data: Sequence[Path],
    *,
    source: Source,
    unit: str | None = None,
    report: Path | None = None,
    table: Path | None = None,
) -> CommandResult:
    """The agreement of a bundle with a reference."""
    require_places(page=report, table=table, inputs=data)
    known = library.load_bundle(bundle)
    model = known.model
    recording = read_files(data, model.sensor, source.layout, model.measured)
    done = library.evaluate(known, recording, reference=source.reference, unit=unit)
    if report:
        done.report(report)
    if table:
        write_atomically(table, done.windows.to_csv(index=False, float_format="%.6g").encode())
    level = None if model.interval is None else model.interval.level
    about = {"sensor": model.sensor, "unit": model.unit, "id": model.id}
    figures = {**about, **asdict(done.score), "level": level}
    messages = [*done.notes]
    if level is not None and done.score.coverage < level - agreement.SHORT:
        elsewhere = files_of_other_sensors(data, model.sensor, ITS_SENSOR)
        advice = "" if elsewhere else _adapt_advice(figures, model.unit)
        messages.append(
            f"the {agreement.covers(done.score.coverage, done.score.promised, level)}; "
            f"do not use the bundle here{advice}"
        )
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
    known = library.load_bundle(bundle)
    recording = read_files(data, known.model.sensor, source.layout, known.model.measured)
    stamp, share = source.reference, source.test_share
    return _adapted(
        library.adapt(known, recording, reference=stamp, test_share=share, how=how, strict=strict), out
    )


def adapt_from_journal(
    bundle: Path, journal: Path, out: Path, *, how: Adapting, test_share: float, unit: str | None
) -> CommandResult:
    """The same from a van's own windows beside a reference; the journal does not name the site."""
    require_places(bundle=out, inputs=[bundle, journal_file(journal)])
    known = library.load_bundle(bundle)
    dataset = load_journal(journal, known.model, unit)
    done = library.adapt_windows(known, dataset, "journal", test_share, how)
    more = {"dropped": dict(dataset.dropped_windows), "valid_until": valid_until(done.bundle.model)}
    return _adapted(done, out, **more)


def _adapted(done: library.Adapted, out: Path, **more: Any) -> CommandResult:
    """Write an adapted bundle; `more` goes into the figures."""
    written = _written(done.bundle, out)
    model = done.bundle.model
    gain, offset = model.adapter
    figures = {
        "sensor": model.sensor,
        "unit": model.unit,
        "n_train": done.n_train,
        "n_test": done.after.n,
        "gain": gain,
        "offset": offset,
        "before": _agreement(done.before),
        "after": _agreement(done.after),
        **more,
    }
    sentence = adapt_sentence(figures, written, words.verdict(done.findings))
    messages = (*done.notes, *warnings(done.findings))
    return CommandResult(figures | _facts(written) | judged(done.findings), messages, sentence)


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
    known = library.load_bundle(bundle)
    model = known.model
    there, here = (
        read_files(paths, owner, source.layout, model.measured, with_reference=False, because=because)
        for paths, owner, because in (
            (source_data, model.sensor, ITS_SENSOR),
            (target_data, require_sensor(sensor), NAMED),
        )
    )
    done = library.transfer(known, there, here, strict=strict)
    written = _written(done.bundle, out)
    figures = {
        "sensor": sensor,
        "source": model.sensor,
        "n": done.map.n,
        "r2": dict(zip(model.channels, done.map.r2, strict=True)),
        "matrix": done.map.matrix.tolist(),
    }
    sentence = transfer_sentence(figures, written, words.verdict(done.findings))
    messages = (*done.notes, NO_INTERVAL, *warnings(done.findings))
    return CommandResult(figures | _facts(written) | judged(done.findings), messages, sentence)


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
    recording = read_files(data, model.sensor, source.layout, model.measured)
    dataset = library.beside(model, recording, source.reference)
    require_trainable(dataset)
    train, test = split(dataset, source.test_share)
    fit_again = export.refit(model)
    export.require_fitted_to(model, train)
    fitted = fit_again(train)
    curves = size_curve.size_curves(model, fitted, train, test, sizes)
    full, chosen = r2(train.target, fitted.predict(train.inputs, train.auxiliary)), len(model.support)
    if plot:
        from model_export.calibration import plots  # noqa: PLC0415 - matplotlib takes a second
        from model_export.figures.axes import png  # noqa: PLC0415 - as above

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
        from model_export.calibration import plots  # noqa: PLC0415 - matplotlib takes a second
        from model_export.figures.axes import png  # noqa: PLC0415 - as above

        title = f"{model.sensor}: the weight of each input over temperature"
        write_atomically(plot, png(plots.weights(model, title)))
    size_bytes = bundle.stat().st_size
    table = "\n".join(f"{name:12}{text}" for name, text in description(model, size_bytes))
    return CommandResult(inspection(model, size_bytes), sentence=table)


def read_files(
    paths: Sequence[Path],
    sensor: str,
    layout: Layout,
    channels: Sequence[str] | None = None,
    *,
    with_reference: bool | None = True,
    because: str = ITS_SENSOR,
) -> Recording:
    """A sensor's recording, read once for all that follows, with a progress bar on a terminal."""
    with bar(f"reading {title(paths)}") as progress:
        recording = read(paths, sensor, layout, channels, with_reference, progress)
    others = files_of_other_sensors(paths, sensor, because)
    return replace(recording, notes=(*others, *recording.notes))


def _adapt_advice(figures: Mapping[str, Any], unit: str) -> str:
    """What `adapt` would correct: mostly it is a zero that has shifted with the season or the analyser."""
    if figures["bias"] ** 2 < SHIFTED * figures["rmse"] ** 2:
        return ", or try model-export adapt"
    return (
        f": most of the error is a shift of {figures['bias']:+.2g} {unit}, which model-export adapt corrects"
    )


def _agreement(score: Score) -> dict[str, Any]:
    return {name: value for name, value in asdict(score).items() if name != "n"}


def _written(bundle: Bundle, out: Path) -> export.Exported:
    return export.Exported(bundle.save(out), bundle.model, out.stat().st_size)


def _facts(written: export.Exported) -> dict[str, Any]:
    return {"bytes": written.size_bytes, "bundle": str(written.path), "id": written.model.id}
