"""One series of an archive to estimates: the task of `recalibrate`. It gets paths and returns small rows."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edge_agent.core import bundle
from edge_agent.core.errors import BadRecording, RespireError
from edge_agent.core.messages import format_time
from edge_agent.core.model import Model
from edge_agent.core.warming import REACH_MS
from model_export.archive import written
from model_export.archive.estimates import Estimates, estimate
from model_export.archive.layout import Part, Series
from model_export.archive.past import Temperatures
from model_export.archive.published import newest, require_length, require_unit, windows_again
from model_export.archive.rows import Rows, read
from model_export.archive.windows import windows_of
from model_export.archive.written import Before

SAME = 1e-6  # in any unit less than a sensor can tell; published inputs are rounded, so values may differ

Fact = dict[str, Any]  # one sensor in one month: what was made, or why nothing was
Past = dict[str, Temperatures]  # the last day of each sensor


@dataclass(frozen=True, slots=True)
class Task:
    """A series, the bundles of its sensors, and the folder of all output."""

    series: Series
    bundles: Mapping[str, Path]  # by sensor
    out: Path
    first_revision: int = 1  # where the old estimate is not known: the van has published revision 0


def recalibrate(task: Task) -> list[Fact]:
    """Write every part that is not written yet; a part that fails is named, and the next one is done."""
    models = {sensor: bundle.decode(path.read_bytes(), path.name) for sensor, path in task.bundles.items()}
    facts, before, past = list[Fact](), task.series.before, None
    for part in task.series.parts:
        try:
            done, past = _one(task, part, before, past, models)
            facts += done
        except RespireError as error:
            facts.append({"sensor": part.sensor, "month": part.month, "skipped": str(error)})
            past = None
        before = part
    return facts


def _made_from(part: Part, models: Mapping[str, Model]) -> str:
    """The models and the files of a part: with others its estimates are others."""
    return " ".join([*sorted(model.id for model in models.values()), *_sizes(part)])


def _made_after(earlier: Part | None, part: Part, models: Mapping[str, Model]) -> str:
    """The files of the month before, if its last day counts: `warming` looks back."""
    warmed = any(model.warming for model in models.values())
    return " ".join(_sizes(earlier)) if warmed and earlier and _follows(earlier, part) else ""


def _sizes(part: Part) -> list[str]:
    return [f"{path.name}:{path.stat().st_size}" for path in part.files()]


def _follows(earlier: Part, part: Part) -> bool:
    return earlier.span_ms[1] == part.span_ms[0]


def _one(
    task: Task, part: Part, earlier: Part | None, past: Past | None, models: Mapping[str, Model]
) -> tuple[list[Fact], Past | None]:
    there = Part(part.sensor, part.month, task.out / part.name)
    made = _made_from(part, models), _made_after(earlier, part, models)
    last = written.newest(there.files())
    if last and last.is_of(*made):
        return last.facts, None
    if part.sensor and part.sensor not in models:
        raise BadRecording(f"{part.sensor}: expected a bundle, got none; make one with model-export fit")
    past = _last_day(earlier, part, models) if past is None else past
    rows, left_out = read(part, _channels(models))
    old = _superseded(there, models)
    tables, facts, after = [], list[Fact](), Past()
    for sensor, own in rows.items():
        try:
            new, published = _estimated(sensor, own, models, past.get(sensor))
            _require_alike(there, old.get(sensor), new.model)
            if not len(new):
                raise BadRecording(f"{sensor}: expected readings, got none")
        except RespireError as error:
            facts.append({"sensor": sensor, "month": part.month, "skipped": str(error)})
            continue
        # A window may be new in the archive since the last run, or the van may have revised it since.
        recalibrated, van = (
            Before.of(new.start_ms, each, task.first_revision) for each in (old.get(sensor), published)
        )
        before = recalibrated.or_newer(van)
        after[sensor] = new.temperatures
        tables.append(written.table(new, before))
        facts.append(_fact(part, new, before, own, left_out))
    if tables:
        written.write(there.folder, tables, facts, *made, last)
    return facts, after


def _estimated(
    sensor: str, rows: Rows, models: Mapping[str, Model], past: Temperatures | None
) -> tuple[Estimates, Rows | None]:
    """The new estimates of a sensor, and the published ones that they were made from."""
    if sensor not in models:
        raise BadRecording(f"{sensor}: expected a bundle, got none; make one with model-export fit")
    model = models[sensor]
    needed = {*model.measured, model.auxiliary}
    if missing := sorted(needed - rows.channels.keys()):
        raise BadRecording(f"{sensor}: expected columns {', '.join(sorted(needed))}, got no {missing[0]}")
    channels = {name: rows.channels[name] for name in needed}
    if rows.table is None:
        return estimate(windows_of(rows.at_ms, channels, model.window_ms), model, past), None
    rows = newest(Rows(rows.at_ms, channels, rows.minutes, rows.table))
    windows, unsynchronised = windows_again(rows, model, model.window_ms)
    return estimate(windows, model, past, unsynchronised), rows


def _channels(models: Mapping[str, Model]) -> Iterator[str]:
    for model in models.values():
        yield from (*model.measured, model.auxiliary)


def _last_day(earlier: Part | None, part: Part, models: Mapping[str, Model]) -> Past:
    """The temperatures of the day before a part, from the part before it; none if that cannot be read."""
    if earlier is None or not _follows(earlier, part):
        return {}
    past = Past()
    with suppress(RespireError):  # the fault is named where that part itself is done
        rows, _ = read(earlier, _channels(models), from_ms=part.span_ms[0] - REACH_MS)
        for sensor, own in rows.items():
            with suppress(RespireError):  # of this sensor; the others have a past
                past[sensor] = _estimated(sensor, own, models, None)[0].temperatures
    return past


def _superseded(there: Part, models: Mapping[str, Model]) -> dict[str, Rows]:
    """The estimates of earlier recalibrations of a part into the same folder."""
    if not there.files():
        return {}
    return {sensor: newest(rows) for sensor, rows in read(there, _channels(models))[0].items()}


def _require_alike(there: Part, old: Rows | None, model: Model) -> None:
    """Refuse to supersede estimates that cannot be compared with those of the model."""
    try:
        if old is not None:
            require_unit(old.table, model)
            require_length(old, model.window_ms)
    except BadRecording as error:
        found = str(error).partition(";")[0]
        raise BadRecording(f"{there.folder}: {found}; name another --out") from error


def _fact(part: Part, made: Estimates, before: Before, rows: Rows, left_out: Mapping[str, int]) -> Fact:
    """What a person wants to know about one month of one sensor."""
    new, old = made.value, before.value
    both, known = ~np.isnan(new) & ~np.isnan(old), before.revision >= 0
    change = (new - old)[both]
    spread = np.percentile(change, [5, 50, 95]) if both.any() else [None] * 3
    return {
        "sensor": made.model.sensor,
        "month": part.month,
        "from": format_time(int(made.start_ms[0])),
        "to": format_time(int(made.start_ms[-1]) + made.length_ms),
        "unit": made.model.unit,
        "readings": _readings(rows),
        "rows_outside_month": left_out["outside the month"],
        "rows_without_sensor": left_out["without a sensor"],
        "windows": len(made),
        "with_value": int((~np.isnan(new)).sum()),
        "had_value": int((~np.isnan(old)).sum()),
        "known": int(known.sum()),  # windows whose old estimate is known
        "changed": int((np.abs(change) > SAME).sum() + (np.isnan(new) != np.isnan(old))[known].sum()),
        "mean_before": _mean(old[both]),
        "mean_after": _mean(new[both]),
        **dict(zip(("change_p5", "change_p50", "change_p95"), map(_rounded, spread), strict=True)),
        "model": made.model.id,
        "superseded_models": sorted({name for name in set(before.model.tolist()) if name}),
        "revision": int(before.next_revision.max(initial=0)),
    }


def _readings(rows: Rows) -> int:
    return (
        0 if rows.table is not None else int(sum((~np.isnan(each)).sum() for each in rows.channels.values()))
    )


def _mean(values: Any) -> float | None:
    return _rounded(values.mean()) if len(values) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), written.DIGITS)
