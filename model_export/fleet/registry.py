"""The registry: which bundle is on which van, beside the newest bundle of the last run of `fleet`."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from edge_agent.core.messages import parse_time
from model_export.files import write_atomically
from model_export.fleet.ledger import Row
from model_export.fleet.vans import Heard

ORDER = ("old", "none", "unknown", "nowhere", "current")  # what to change comes first
REPORTS_MISSED = 3  # after so many missing health records a van is silent


@dataclass(frozen=True, slots=True)
class Place:
    """One sensor on one van."""

    sensor: str
    van: str | None  # None: no van reports it
    state: str  # current, old, unknown (in no run), none (no bundle on the van), nowhere (on no van)
    model: str | None  # on the van
    newest: str | None  # of the last run
    dataset: str | None  # the recording behind the model on the van
    version: str | None  # of the program that made it
    until: str | None  # the last day of its recording
    valid_until: str | None  # of the model on the van
    overdue: bool
    heard: str | None  # the last health record of the van
    silent: bool


def places(heard: Heard, rows: Iterable[Row], now_ms: int) -> list[Place]:
    """Every sensor of every van, and the sensors with a bundle that no van reports; old and overdue first."""
    newest = {row["sensor"]: row for row in rows}
    found = [
        _place(sensor, van, told, heard, newest.get(sensor), now_ms)
        for van, health in heard.health.items()
        for sensor, told in health["sensors"].items()
        if isinstance(told, dict)
    ]
    there = {place.sensor for place in found}
    for sensor, row in newest.items():
        if sensor not in there and row["bundle"]:
            found.append(_nowhere(sensor, row, now_ms))
    return sorted(found, key=lambda one: (ORDER.index(one.state), not one.overdue, one.sensor, one.van or ""))


def write(found: Iterable[Place], path: Path) -> None:
    """The registry as a table; by rename."""
    data = BytesIO()
    schema = pa.schema(
        [(each.name, pa.bool_() if each.type is bool else pa.string()) for each in fields(Place)]
    )
    pq.write_table(pa.Table.from_pylist([asdict(place) for place in found], schema), data)
    write_atomically(path, data.getvalue())


def _place(
    sensor: str,
    van: str,
    told: Mapping[str, Any],
    heard: Heard,
    row: Row | None,
    now_ms: int,
) -> Place:
    model, health = _text(told.get("model")), heard.health[van]
    card = heard.cards.get((van, sensor), {})
    facts = card.get("provenance") if card.get("id") == model else None
    known = facts if isinstance(facts, dict) else {}
    newest = row["bundle"] if row else None
    state = (
        "none" if model is None else "unknown" if newest is None else "current" if model == newest else "old"
    )
    until = _text(known.get("to")) or (row["until"] if row and state == "current" else None)
    valid_until = _text(told.get("valid_until"))
    at = _text(health.get("at"))
    interval_s = health.get("interval_s")
    limit_ms = REPORTS_MISSED * 1000 * (interval_s if isinstance(interval_s, int | float) else 60)
    return Place(
        sensor=sensor,
        van=van,
        state=state,
        model=model,
        newest=newest,
        dataset=_text(known.get("dataset")),
        version=_text(known.get("exporter")),
        until=until,
        valid_until=valid_until,
        overdue=_overdue(valid_until, now_ms),
        heard=at,
        silent=_at_ms(at) is None or now_ms - (_at_ms(at) or 0) > limit_ms,
    )


def _nowhere(sensor: str, row: Row, now_ms: int) -> Place:
    valid_until = row.get("valid_until")  # a table of before this column has none
    late = _overdue(valid_until, now_ms)
    origin = row["dataset"], row["version"], row["until"], valid_until
    return Place(sensor, None, "nowhere", None, row["bundle"], *origin, late, None, silent=False)


def _overdue(valid_until: str | None, now_ms: int) -> bool:
    at_ms = _at_ms(valid_until)
    return at_ms is not None and at_ms < now_ms


def _at_ms(text: str | None) -> int | None:
    try:
        return parse_time(text)
    except (ValueError, TypeError, OverflowError):
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
