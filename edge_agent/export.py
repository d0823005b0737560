"""`edge-agent export`: a stream of rows from the journal to a spreadsheet or a program."""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from edge_agent.aqcsv import COLUMNS, Aqcsv
from edge_agent.archive import Archive
from edge_agent.core.errors import RespireError
from edge_agent.core.means import HOUR_MS
from edge_agent.core.topics import CONSENSUS
from edge_agent.rows import Record, Row, Rows, Selection
from edge_agent.settings import Settings
from edge_agent.terminal import DONE, load_settings, say

SPANS_MS = {"15min": None, "1h": HOUR_MS, "8h": 8 * HOUR_MS}  # None: the windows as they are
AS_PUBLISHED = ("estimates", "consensus")  # in JSON lines
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run a text that begins so


def export(config: Path | None, what: str, every: str, form: str, selection: Selection, now_ms: int) -> int:
    """Write the rows of a selection to stdout; the journal is opened read-only."""
    settings = load_settings(config)
    with closing(Archive(settings.state)) as archive:
        if what == "consensus":
            selection = selection._replace(sensors=[CONSENSUS])
        elif what not in ("readings", "fixes"):
            selection = selection._replace(sensors=_known(archive, selection.sensors))
        rows = Rows(archive, selection, settings.topics.channels, as_text=form == "csv")
        if form == "aqcsv":
            return _export_aqcsv(settings, archive.sensors(), rows, rows.records(SPANS_MS[every], now_ms))
        if span_ms := SPANS_MS[every]:
            columns, chosen = rows.columns("means"), rows.means(span_ms, now_ms)
        else:
            columns, chosen = rows.columns(what), getattr(rows, what)()
        if form == "csv":
            count = _write_csv(columns, chosen)
        elif what in AS_PUBLISHED and not span_ms:
            count = _write_lines(rows.lines())
        else:
            count = _write_lines(_json(columns, row) for row in chosen)
    return _report(count, rows.damaged)


def _report(count: int, damaged: int) -> int:
    sys.stdout.flush()
    say(f"export: {count} rows")
    if damaged:
        say(f"export: {damaged} damaged rows of the journal are left out")
    return DONE


def _export_aqcsv(settings: Settings, sensors: list[str], rows: Rows, records: Iterable[Record]) -> int:
    """A row for every value with a place; the others are counted."""
    aqcsv = Aqcsv(settings, sensors)
    count = _write_csv(COLUMNS, (row for record in records if (row := aqcsv.row(record))))
    aqcsv.require(count)
    if aqcsv.unplaced:
        say(f"export: {aqcsv.unplaced} values without a position, or without a site with aqs, are left out")
    return _report(count, rows.damaged)


def _known(archive: Archive, wanted: list[str]) -> list[str]:
    """The sensors that were asked for, or all; one that is not there is a mistake."""
    known = archive.sensors()
    if missing := [name for name in wanted if name not in known]:
        there = ", ".join(known[:8]) or "none"
        raise RespireError(f"{archive.path}: expected estimates of {', '.join(missing)}, got {there}")
    return wanted or known


def _write_csv(columns: Sequence[str], rows: Iterable[Row]) -> int:
    """The header says UTC, because a spreadsheet shows times without a zone."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(f"{name}_utc" if name in ("start", "end") else name for name in columns)
    words = [(place, WORDS[name]) for place, name in enumerate(columns) if name in WORDS]
    count = 0
    for row in rows:
        for place, word in words:
            row[place] = word(row[place])
        writer.writerow(row)
        count += 1
    return count


def _write_lines(lines: Iterable[str]) -> int:
    count = 0
    for line in lines:
        sys.stdout.write(line + "\n")
        count += 1
    return count


def _json(columns: Sequence[str], row: Row) -> str:
    return json.dumps(dict(zip(columns, row, strict=True)), separators=(",", ":"))


@lru_cache(4096)
def _time(value: str) -> str:
    """A time as spreadsheets read it."""
    return f"{value[:10]} {value[11:].rstrip('Z')}"


def _text(value: Any) -> Any:
    """A text that begins like a formula gets a quote, or a spreadsheet would run it."""
    return f"'{value}" if type(value) is str and value.startswith(FORMULA) else value


def _list(value: list[Any]) -> str:
    return " ".join(map(str, value))


def _map(value: dict[str, Any] | None) -> str:
    return "" if value is None else " ".join([f"{key}={number}" for key, number in value.items()])


def _sensors(value: dict[str, Any]) -> Any:
    """A sensor may have a name that begins like a formula."""
    return _text(_map(value))


WORDS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("start", "end", "timestamp", "at"), _time),
    **dict.fromkeys(("sensor", "unit", "model", "agent", "site"), _text),
    "unit_at": _map,
    "reasons": _list,
    "other_inputs": _map,
    **dict.fromkeys(("sensors", "left_out"), _sensors),
}
