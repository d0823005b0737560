"""A whole archive: its series as tasks, then one table and one page about what has changed.

OUT/sensor=5A2D/month=2024-02/9f3c01ab23cd4567.parquet     estimates; every run that changes them has a file
OUT/_changes/77aa01ab23cd4567.parquet, .html               what has changed, by sensor and month
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from edge_agent.core import bundle
from edge_agent.core.errors import BadBundle, BadSettings
from model_export.archive import changes, layout
from model_export.archive.layout import Series
from model_export.archive.recalibrate import Fact, Task, recalibrate
from model_export.engine.run import Open, Progress, Results, Say, run_all
from model_export.files import alone_in, remove_leftovers, write_atomically

NAMED = ("sensor", "month", "model", "revision", "windows")
FOLDER = "_changes"  # readers of Parquet folders pass over names that begin so


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asks for."""

    archive: Path
    bundles: Path
    out: Path
    first_revision: int = 1


def run(request: Request, open_executor: Open, say: Say, progress: Progress | None = None) -> dict[str, Any]:
    """Recalibrate all that can be, and sum up; what cannot be is named and counted."""
    if request.out.resolve() == request.archive.resolve():
        raise BadSettings(f"--out: expected another folder than the archive's, got {request.out}")
    series, refused = layout.find(request.archive)
    models, bad = bundles_in(request.bundles)
    tasks = {one.name: _task(one, models, request) for one in series}
    with alone_in(request.out):
        results = run_all(recalibrate, tasks, open_executor, say, progress)
        return _summed_up(request, series, results, bad | refused)


def _summed_up(
    request: Request, series: Sequence[Series], results: Results[list[Fact]], refused: Mapping[str, str]
) -> dict[str, Any]:
    places = (request.out / part.name for one in series for part in one.parts)
    remove_leftovers([*places, request.out / FOLDER])
    facts = [fact for one in series for fact in results.get(one.name, ())]
    skipped = [{"name": name, "reason": reason} for name, reason in {**refused, **results.failed}.items()]
    skipped += [{"name": name_of(fact), "reason": fact["skipped"]} for fact in facts if "skipped" in fact]
    done = [fact for fact in facts if "skipped" not in fact]
    return {
        "sensors": len({fact["sensor"] for fact in done}),
        "parts": len(done),
        **{
            name: sum(fact[name] for fact in done)
            for name in ("readings", "windows", "with_value", "changed")
        },
        "skipped": skipped,
        "out": str(request.out),
        "changes": str(_write(done, skipped, request.out)) if done else None,
    }


def bundles_in(folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """The bundle of each sensor, and why some files cannot be used."""
    if not folder.is_dir():
        raise BadBundle(f"{folder}: expected a folder of .bundle files, got no folder")
    found, bad = dict[str, Path](), dict[str, str]()
    for path in sorted(folder.glob("*.bundle")):
        try:
            model = bundle.decode(path.read_bytes(), path.name)
        except BadBundle as error:
            bad[path.name] = str(error)
            continue
        if model.sensor in found:
            both = f"{found[model.sensor].name} and {path.name}"
            bad[path.name] = f"{folder}: expected one bundle for {model.sensor}, got {both}; remove one"
            continue
        found[model.sensor] = path
    if not found and not bad:
        raise BadBundle(f"{folder}: expected .bundle files, got none; name the folder that has them")
    return found, bad


def name_of(fact: Fact) -> str:
    """5A2D in 2024-02; the month alone, where all of it could not be read."""
    return f"{fact['sensor']} in {fact['month']}" if fact["sensor"] else f"month={fact['month']}"


def _task(series: Series, models: Mapping[str, Path], request: Request) -> Task:
    """A series of one sensor needs only its own bundle."""
    sensor = series.parts[0].sensor
    own = {sensor: models[sensor]} if sensor in models else {}
    return Task(series, own if sensor else models, request.out, request.first_revision)


def _write(facts: Sequence[Fact], skipped: Sequence[Mapping[str, str]], out: Path) -> Path:
    """The table and the page; their name depends on the models, the parts and their revisions."""
    names = Counter(" ".join(str(fact[name]) for name in NAMED) for fact in facts)
    stem = sha256("\n".join(sorted(names)).encode()).hexdigest()[:16]
    table = BytesIO()
    pq.write_table(pa.Table.from_pylist(list(facts)), table)
    write_atomically(out / FOLDER / f"{stem}.parquet", table.getvalue())
    page = out / FOLDER / f"{stem}.html"
    write_atomically(page, changes.page(facts, skipped).encode())
    return page
