"""The task of a sensor without a reference: the bundle of a sensor beside it, by transfer."""

from dataclasses import dataclass, replace

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from edge_agent.core import bundle
from edge_agent.core.card import valid_until
from edge_agent.core.errors import BadRecording, RespireError
from edge_agent.core.messages import format_time
from edge_agent.core.model import Model
from model_export.calibration import export
from model_export.calibration.transfer import transfer
from model_export.doctor.case import Case
from model_export.doctor.diagnose import ALONE, findings_of
from model_export.doctor.prepare import case_without_reference
from model_export.fleet.ledger import Ledger, Row, digest_of_file
from model_export.fleet.task import NOT_COMPARED, Task, in_use, known, refused
from model_export.recordings.catalogue import load
from model_export.recordings.dataset import Dataset
from model_export.recordings.manifest import Entry
from model_export.recordings.tables import Layout, read

ALONE_ADVICE = "Put it beside a sensor with a bundle for a week, or beside a reference; list the recording."


@dataclass(frozen=True, slots=True)
class Sister:
    """A sensor with a bundle in this run, and its recording of the same site and season."""

    sensor: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class Move:
    """A sensor to move a bundle to, and the sensors beside it, the best first."""

    task: Task
    sisters: tuple[Sister, ...]


def move(given: Move) -> Row:
    """The row of a sensor with a bundle by transfer, or the reason why it has none."""
    task = given.task
    ledger, near = (
        Ledger(task.out),
        [digest_of_file(Ledger(task.out).bundle(one.sensor)) for one in given.sisters],
    )
    digest = task.digest("transfer", *near)
    done = ledger.row(task.sensor, digest)
    if done:
        return done
    row = {**known(task), "digest": digest}
    made, data = refused("no reference, and no sensor with a bundle beside it", ALONE_ADVICE), None
    for sister in given.sisters:
        try:
            with threadpool_limits(1):
                made, data = _moved(task, sister, ledger)
            break
        except RespireError as error:
            made = refused(str(error), ALONE_ADVICE)
    return ledger.save({**row, **made}, data)


def _moved(task: Task, sister: Sister, ledger: Ledger) -> tuple[Row, bytes]:
    own = next(one for one in task.entries if one.place.dataset == sister.entry.place.dataset)
    model = export.read(ledger.bundle(sister.sensor))
    findings = findings_of([_case(own)], ALONE)
    grave = next((one for one in findings if one.severity == "error"), None)
    if grave:
        raise BadRecording(f"{grave.summary}. {grave.advice}")
    there, here = (_alone(entry, model).warmed(model.warming) for entry in (sister.entry, own))
    moved, fitted = transfer(model, there, here)
    moved = replace(moved, provenance={**model.provenance, "transferred_from": model.sensor})
    data = bundle.encode(moved)
    new = bundle.decode(data, task.sensor)
    old, fault = in_use(task)
    return {
        "state": "new" if old is None else "improved",
        "reason": fault if old is None else "there is no reference to compare it with the bundle in use",
        "advice": NOT_COMPARED if fault else "",
        "gas": new.gas,
        "unit": new.unit,
        "n_train": fitted.n,
        "level": new.interval.level if new.interval else None,
        "transferred_from": model.sensor,
        "current": old.id if old else None,
        "bundle": new.id,
        "until": format_time(int(here.start_ms[-1])),
        "valid_until": valid_until(new),
        "findings": [finding.code for finding in findings],
        "notes": [*here.notes],
    }, data


def _case(entry: Entry) -> Case:
    layout = Layout(entry.columns, entry.timezone)
    recording = read(entry.paths, entry.place.sensor, layout, with_reference=False)
    return case_without_reference(recording, entry.place.dataset, entry.kind[1])


def _alone(entry: Entry, model: Model) -> Dataset:
    layout, how = Layout(entry.columns, entry.timezone), (entry.place.sensor, entry.unit)
    return load(entry.paths, *how, layout, channels=model.measured, reference=None, window_ms=model.window_ms)
