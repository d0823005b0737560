"""A whole fleet: the sensors of a manifest as tasks, then those without a reference, then table and page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edge_agent.core.errors import BadRecording, BadSettings
from model_export.engine.run import Open, Progress, Results, Say, run_all
from model_export.files import alone_in
from model_export.fleet import page
from model_export.fleet.calibrate import calibrate
from model_export.fleet.ledger import COLUMNS, STATES, Ledger, Row
from model_export.fleet.moved import Move, Sister, move
from model_export.fleet.task import Settings, Task, refused
from model_export.recordings.manifest import Entry, find

FAILED = (
    "Run fleet again with --resume. If it stays, run fit --debug with its recordings and report the error."
)


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asks for."""

    manifest: Path
    out: Path
    current: Path | None = None  # the bundles in use
    resume: bool = False
    settings: Settings = field(default_factory=Settings)


def run(request: Request, open_executor: Open, say: Say, progress: Progress | None = None) -> dict[str, Any]:
    """Fit, adapt or transfer every sensor; failures are named, and the rest is done."""
    _require_apart(request)
    with alone_in(request.out):
        return _run(request, open_executor, say, progress)


def _run(request: Request, open_executor: Open, say: Say, progress: Progress | None) -> dict[str, Any]:
    ledger = Ledger(request.out)
    ledger.begin(request.resume)
    entries, skipped = find(request.manifest)
    tasks = {task.sensor: task for task in _tasks(entries, request)}
    if not tasks:
        why = f": {skipped[0].reason}" if skipped else ""
        raise BadRecording(f"{request.manifest}: expected recordings, got none to use{why}")
    fitted = run_all(calibrate, tasks, open_executor, say, progress)
    rows = {name: row for name, row in fitted.items() if row}
    bare = moves(tasks, rows, sorted(fitted.keys() - rows))
    moved = run_all(move, bare, open_executor, say, progress) if bare else Results[Row]()
    failed = fitted.failed | moved.failed
    all_rows = [_row(name, {**rows, **moved}, failed) for name in tasks]
    left_out = [(one.name, one.reason) for one in skipped]
    ledger.finish(all_rows, page.page(all_rows, left_out))
    return _figures(all_rows, left_out, request.out)


def _require_apart(request: Request) -> None:
    """The bundles in use must stay as they are while others are compared with them."""
    made = request.out / "bundles"
    if request.current and request.current.resolve() == made.resolve():
        raise BadSettings(f"--current: expected another folder than {made} of --out; copy the bundles")


def _tasks(entries: Iterable[Entry], request: Request) -> list[Task]:
    owned: dict[str, list[Entry]] = {}
    for entry in entries:
        owned.setdefault(entry.place.sensor, []).append(entry)
    return [
        Task(sensor, tuple(own), _current(request.current, sensor), request.out, request.settings)
        for sensor, own in sorted(owned.items())
    ]


def _current(folder: Path | None, sensor: str) -> Path | None:
    path = folder / f"{sensor}.bundle" if folder else None
    return path if path and path.is_file() else None


def moves(tasks: Mapping[str, Task], rows: Mapping[str, Row], bare: Iterable[str]) -> dict[str, Move]:
    """For each sensor without a reference: the sensors of its kind that were at the same site in the same
    season and have a bundle now, the best first.
    """
    beside: dict[Any, list[Sister]] = {}
    for name, row in rows.items():
        for entry in tasks[name].entries if row["bundle"] else ():
            beside.setdefault((entry.place.dataset, entry.kind), []).append(Sister(name, entry))
    found = {}
    for name in bare:
        places = [(entry.place.dataset, entry.kind) for entry in tasks[name].entries]
        near = [sister for place in places for sister in beside.get(place, ())]
        near.sort(key=lambda one: (-float(rows[one.sensor]["r2"] or 0.0), one.sensor))
        found[name] = Move(tasks[name], tuple(near))
    return found


def _row(name: str, rows: Mapping[str, Row], failed: Mapping[str, str]) -> Row:
    if name in rows:
        return rows[name]
    made = refused(failed[name], FAILED)
    return {**dict.fromkeys(COLUMNS), "sensor": name, **made, "recordings": []}


def _figures(rows: Sequence[Row], skipped: Sequence[tuple[str, str]], out: Path) -> dict[str, Any]:
    counts = Counter(row["state"] for row in rows)
    return {
        "sensors": len(rows),
        **{state: counts[state] for state in STATES},
        "refusals": [
            {"sensor": row["sensor"], "reason": row["reason"]} for row in rows if row["state"] == "refused"
        ],
        "skipped": [{"name": name, "reason": reason} for name, reason in skipped],
        "bundles": str(out / "bundles"),
        "results": str(out / "results.parquet"),
        "page": str(out / "index.html"),
    }
