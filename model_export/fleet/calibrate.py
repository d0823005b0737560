"""The task of one sensor: diagnose its recordings, fit, adapt to the newest, compare with its old bundle."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from edge_agent.core import bundle
from edge_agent.core.card import valid_until
from edge_agent.core.errors import BadRecording, RespireError
from edge_agent.core.messages import format_time
from edge_agent.core.model import Model
from edge_agent.core.windows import MINUTE_MS
from model_export.calibration import export
from model_export.calibration.adapt import adapt
from model_export.calibration.fit import Recipe, evaluate, fit, for_sensor
from model_export.doctor import agreement
from model_export.doctor.diagnose import findings_of
from model_export.doctor.finding import Finding, by_severity
from model_export.doctor.prepare import case_of
from model_export.doctor.units import warn_ambient
from model_export.fleet.ledger import Ledger, Row, State
from model_export.fleet.task import NOT_COMPARED, Task, in_use, known, refused
from model_export.recordings.catalogue import load
from model_export.recordings.dataset import Dataset, require_trainable, split
from model_export.recordings.manifest import Entry
from model_export.recordings.recording import REFERENCE
from model_export.recordings.tables import Layout, read
from model_export.regression.metrics import Score

UNIT = "Check the unit in the manifest."
BETTER = 0.98  # of the old bundle's RMSE; a smaller gain is no reason to change a bundle


@dataclass(frozen=True, slots=True)
class Candidate:
    """A new bundle and how well it agrees with the reference on windows that it has not seen."""

    data: bytes
    model: Model
    train: Dataset
    test: Dataset
    score: Score


def calibrate(task: Task) -> Row | None:
    """The row of a sensor; one that was made before from the same files is read. None without a reference."""
    ledger, digest = Ledger(task.out), task.digest()
    done = ledger.row(task.sensor, digest)
    if done:
        return done
    found = _tried(task)
    if found is None:
        return None
    made, bytes_ = found
    return ledger.save({**known(task), "digest": digest, **made}, bytes_)


def _tried(task: Task) -> tuple[Row, bytes | None] | None:
    """What is made of the recordings that have a reference; None if none has one."""
    try:
        with threadpool_limits(1):  # the same bits, however many tasks a machine runs
            return _made(task)
    except RespireError as error:
        judged = tuple(filter(_has_reference, task.entries))
        if judged == task.entries:
            return refused(str(error), "Correct the recording, then run fleet again with --resume."), None
    found = _tried(replace(task, entries=judged)) if judged else None
    if found:
        bare = ", ".join(entry.place.dataset for entry in task.entries if entry not in judged)
        words = (found[0]["reason"], f"left out, without a reference: {bare}")
        found[0]["reason"] = "; ".join(filter(None, words))
    return found


def compared(task: Task, candidate: Candidate, findings: Sequence[Finding]) -> tuple[Row, bytes]:
    """The better of a new bundle and the bundle in use, and what a row says about it."""
    old, fault = in_use(task)
    before = None if old is None else _agreement(old, candidate)
    state: State = "new" if before is None else "improved"
    data, model, score = candidate.data, candidate.model, candidate.score
    kept = before and score.rmse > BETTER * before.rmse and not _ended(old, candidate.test)
    if task.current is not None and old is not None and before and kept:
        state, data, model, score = "unchanged", task.current.read_bytes(), old, before
    level = model.interval.level if model.interval else None
    dataset = task.entries[0].place.dataset
    found = by_severity([*findings, *agreement.check(task.sensor, dataset, score, level)])
    worst = next((one for one in found if one.severity != "info"), None)
    doubt = warn_ambient(candidate.train, model.gas) or ""
    return {
        "state": state,
        "reason": doubt or (worst.summary if worst else fault),
        "advice": UNIT if doubt else worst.advice if worst else NOT_COMPARED if fault else "",
        "gas": model.gas,
        "unit": model.unit,
        "n_train": len(candidate.train),
        "n_test": score.n,
        "r2": score.r2,
        "rmse": score.rmse,
        "bias": score.bias,
        "coverage": score.coverage,
        "level": level,
        "rmse_current": before.rmse if before else None,
        "adapted_on": model.provenance.get("adapted_on"),
        "transferred_from": model.provenance.get("transferred_from"),
        "current": old.id if old else None,
        "bundle": model.id,
        "until": format_time(int(candidate.test.start_ms[-1])) if len(candidate.test) else None,
        "valid_until": valid_until(model),
        "findings": [finding.code for finding in found],
    }, data


def _ended(model: Model | None, test: Dataset) -> bool:
    """Whether a bundle is too old at the end of the newest recording."""
    if model is None or model.valid_until_ms is None or not len(test):
        return False
    return int(test.start_ms[-1]) + test.window_ms > model.valid_until_ms


def _made(task: Task) -> tuple[Row, bytes | None]:
    findings = _diagnosed(task)
    grave = next((one for one in findings if one.severity == "error"), None)
    if grave:
        return refused(grave.summary, grave.advice, findings), None
    datasets = [_dataset(task.sensor, entry) for entry in task.entries]
    _require_one_kind(datasets, task.entries)
    home = max(datasets, key=len)
    latest = max(datasets, key=lambda one: int(one.start_ms[-1]))
    candidate = _fitted(home, task)
    if latest is not home:
        candidate = _adapted(candidate, latest, task.settings.test_share)
    row, data = compared(task, candidate, findings)
    return {**row, "notes": [note for one in datasets for note in one.notes]}, data


def _diagnosed(task: Task) -> list[Finding]:
    """All findings in the recordings of one sensor, also of one against the other."""
    cases = []
    for entry in task.entries:
        layout = Layout(entry.columns, entry.timezone)
        recording = read(entry.paths, task.sensor, layout)
        _, window_ms, sensor_type = entry.kind
        cases.append(case_of(recording, entry.place.dataset, entry.reference, window_ms, sensor_type))
    return findings_of(cases)


def _has_reference(entry: Entry) -> bool:
    """Whether a recording has a reference, or cannot be read at all."""
    try:
        read(entry.paths, entry.place.sensor, Layout(entry.columns, entry.timezone))
    except BadRecording as error:
        return REFERENCE not in str(error).partition(", got ")[0]
    return True


def _dataset(sensor: str, entry: Entry) -> Dataset:
    layout, (_, window_ms, _) = Layout(entry.columns, entry.timezone), entry.kind
    stamp = entry.reference
    dataset = load(entry.paths, sensor, entry.unit, layout, reference=stamp, window_ms=window_ms)
    require_trainable(dataset)
    return dataset


def _require_one_kind(datasets: Sequence[Dataset], entries: Sequence[Entry]) -> None:
    kinds = {(one.unit, one.channels, *entry.kind) for one, entry in zip(datasets, entries, strict=True)}
    if len(kinds) > 1:
        words = " and ".join(
            sorted(
                f"{gas} in {unit} from {', '.join(names)} ({sensor_type}, {window_ms // MINUTE_MS} min)"
                for unit, names, gas, window_ms, sensor_type in kinds
            )
        )
        raise BadRecording(
            f"expected one gas, unit, set of channels, window and type in all recordings, got {words}"
        )


def _fitted(dataset: Dataset, task: Task) -> Candidate:
    settings, (gas, _, sensor_type) = task.settings, task.entries[0].kind
    recipe = for_sensor(Recipe(trials=settings.trials, seed=settings.seed, gas=gas), sensor_type)
    with TemporaryDirectory() as folder:
        result = fit(dataset, recipe, Path(folder) / f"{task.sensor}.bundle", settings.test_share)
        data = result.exported.path.read_bytes()
    model = result.exported.model
    return Candidate(data, model, result.train, result.test, evaluate(model, result.test))


def _adapted(candidate: Candidate, latest: Dataset, test_share: float) -> Candidate:
    """The model with an adapter for the newest recording, if that is better there than without."""
    model = candidate.model
    part, test = split(latest.warmed(model.warming), test_share)
    plain = replace(candidate, train=part, test=test, score=evaluate(model, test))
    moved = export.renewed(adapt(model, part), part)
    moved = replace(moved, provenance={**moved.provenance, "adapted_on": latest.name})
    data = bundle.encode(moved)
    moved = bundle.decode(data, latest.name)
    score = evaluate(moved, test)
    return Candidate(data, moved, part, test, score) if score.rmse < plain.score.rmse else plain


def _agreement(model: Model, new: Candidate) -> Score | None:
    """How well the bundle in use agrees; None if it is for another gas, unit, window or set of channels."""
    warmed = new.test.warmed(model.warming)
    if not {*model.channels} <= {*warmed.channels} or _purpose(model) != _purpose(new.model):
        return None
    places = [warmed.channels.index(name) for name in model.channels]
    return evaluate(model, replace(warmed, channels=model.channels, inputs=warmed.inputs[:, places]))


def _purpose(model: Model) -> tuple[str, str, int]:
    return model.gas, model.unit, model.window_ms
