"""The Parquet files of one part as arrays: raw readings, or estimates as they were published."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.messages import EPOCH_SECONDS_BELOW, SENSOR, TIMESTAMP
from model_export.archive.layout import Part
from model_export.archive.windows import Times

ZONE = r"(Z|[+-]\d{2}:?\d{2})$"
PAST_MS = r"(\.\d{3})\d+"  # microseconds, as Python writes them
START, INPUTS, MINUTES, UNIT = "start", "inputs", "minutes", "unit"
END, VALUE, REASONS, MODEL = "end", "value", "reasons", "model"
PUBLISHED = (SENSOR, START, END, INPUTS, MINUTES, VALUE, UNIT, REASONS, MODEL, "revision")
NEEDED = {  # of published estimates, and whether a type is right
    INPUTS: pa.types.is_struct,
    MINUTES: pa.types.is_struct,
    REASONS: lambda kind: pa.types.is_list(kind) or pa.types.is_large_list(kind),
    VALUE: lambda kind: pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind),
    MODEL: lambda _: True,
}


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one sensor, sorted by time, as they came at equal times; `table` has them in the same order."""

    at_ms: Times
    channels: Mapping[str, Array]
    minutes: Mapping[str, Array] = field(default_factory=dict)  # of estimates: minutes of each channel
    table: Any = None  # of estimates: the rest of their columns, their end in ms


def read(part: Part, channels: Iterable[str], from_ms: int = 0) -> tuple[dict[str, Rows], dict[str, int]]:
    """The rows of each sensor of a part from a time on, and how many rows were left out for which reason."""
    wanted = tuple(dict.fromkeys(channels))
    with ExitStack() as stack:
        paths = part.files()
        files = [stack.enter_context(_open(path)) for path in paths]
        if not files:
            raise BadRecording(f"{part.folder}: expected Parquet files, got none; remove the empty folder")
        _require_one_unit(part, files)
        published = INPUTS in files[0].schema_arrow.names
        time = START if published else TIMESTAMP
        names = PUBLISHED if published else (SENSOR, TIMESTAMP, *wanted)
        tables = [_table(file, names, time, path) for file, path in zip(files, paths, strict=True)]
        for each, path in zip(tables if published else (), paths, strict=False):
            _require_needed(each.schema, path)
    table = pa.concat_tables(tables, promote_options="permissive") if tables[1:] else tables[0]
    if not table.num_rows:
        raise BadRecording(f"{part.folder}: expected rows, got none; remove the empty files")
    at_ms = _times(table[time], part)
    first_ms, next_ms = part.span_ms
    inside = (at_ms >= max(first_ms, from_ms)) & (at_ms < next_ms)
    left_out = {"outside the month": int(((at_ms < first_ms) | (at_ms >= next_ms)).sum())}
    if left_out["outside the month"] == len(at_ms):
        raise BadRecording(f"{part.folder}: expected rows of {part.month}, got none; check the times")
    if not inside.all():
        table, at_ms = table.filter(pa.array(inside)), at_ms[inside]
    if published and END in table.column_names:
        table = table.set_column(table.column_names.index(END), END, pa.array(_times(table[END], part)))
    columns = _inputs(table, wanted) if published else _columns(table, wanted)
    minutes = _struct(table, MINUTES, wanted) if published else {}
    rows = {
        sensor: Rows(
            at_ms[where],
            {name: values[where] for name, values in columns.items()},
            {name: values[where] for name, values in minutes.items()},
            _taken(table, where) if published else None,
        )
        for sensor, where in _owners(table, at_ms, part)
    }
    if len(at_ms) and not rows:
        raise BadRecording(f"{part.folder}: expected names in the column {SENSOR}, got none")
    return rows, left_out | {"without a sensor": len(at_ms) - sum(len(own.at_ms) for own in rows.values())}


def _owners(table: Any, at_ms: Times, part: Part) -> Iterator[tuple[str, Any]]:
    """Each sensor, and the places of its rows in the order of time."""
    if part.sensor:
        _require_own(table, part)
        yield part.sensor, _in_time(at_ms, slice(None))
        return
    if SENSOR not in table.column_names:
        raise BadRecording(f"{part.folder}: expected a column sensor in a part of many, got none")
    coded = table[SENSOR].cast(pa.string()).combine_chunks().dictionary_encode()
    coded = coded if isinstance(coded, pa.DictionaryArray) else coded.combine_chunks()
    names, codes = coded.dictionary.to_pylist(), coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    # Sorting 16-bit numbers is a radix sort, many times as fast.
    narrow = codes.astype(np.int16) if len(names) < 1 << 15 else codes
    order = np.argsort(narrow, kind="stable")
    ends = np.searchsorted(narrow[order], np.arange(len(names) + 1))
    for code in sorted(range(len(names)), key=lambda code: str(names[code])):
        where = order[ends[code] : ends[code + 1]]
        yield str(names[code]), _in_time(at_ms[where], where)


def _require_own(table: Any, part: Part) -> None:
    """Refuse rows that say they are another sensor's than their folder."""
    there = table[SENSOR].cast(pa.string()).unique().to_pylist() if SENSOR in table.column_names else []
    if others := sorted({*there} - {part.sensor, None}):
        found = ", ".join(others[:8])
        raise BadRecording(
            f"{part.folder}: expected rows of {part.sensor} in the column {SENSOR}, got {found}"
        )


def _in_time(at_ms: Times, where: Any) -> Any:
    if bool((at_ms[1:] >= at_ms[:-1]).all()):
        return where
    order = np.argsort(at_ms, kind="stable")
    return order if isinstance(where, slice) else where[order]


def _taken(table: Any, where: Any) -> Any:
    return table if isinstance(where, slice) else table.take(pa.array(where))


def _open(path: Path) -> Any:
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path) from error


def _table(file: Any, names: Iterable[str], time: str, path: Path) -> Any:
    there = file.schema_arrow.names
    if time not in there:
        raise BadRecording(f"{path}: expected a column {time}, got {', '.join(there[:12])}")
    try:
        return file.read([name for name in names if name in there], use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path) from error


def _require_needed(schema: Any, path: Path) -> None:
    """Refuse estimates without the columns that are used, or with texts instead of structs."""
    for name, is_right in NEEDED.items():
        if name not in schema.names or not is_right(schema.field(name).type):
            words = "inputs and minutes (structs), reasons (a list), value (a number) and model"
            got = f"{name} as {schema.field(name).type}" if name in schema.names else f"no {name}"
            raise BadRecording(f"{path}: expected estimates with {words}, got {got}")


def _damaged(path: Path) -> BadRecording:
    return BadRecording(f"{path}: expected Parquet, got a damaged or incomplete file; copy or make it again")


def _times(column: Any, part: Part) -> Times:
    """Milliseconds UTC, from a Parquet time, epoch seconds or milliseconds, or ISO 8601; -1 where none is."""
    try:
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            numbers = _numbers(column)  # milliseconds do not fit into 32 bits
            scaled = np.where(np.abs(numbers) < EPOCH_SECONDS_BELOW, numbers * 1000, numbers)
            return np.where(np.isfinite(scaled), np.rint(scaled), -1).astype(np.int64)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = pc.replace_substring_regex(column.cast(pa.string()), PAST_MS, r"\1")
            utc = pc.binary_join_element_wise(column, "Z", "")
            column = pc.if_else(pc.match_substring_regex(column, ZONE), column, utc)
        if not pa.types.is_timestamp(column.type):
            column = pc.cast(column, pa.timestamp("ms", "UTC"))
        at_ms = column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
        return np.asarray(at_ms.fill_null(-1).to_numpy() if at_ms.null_count else at_ms.to_numpy())
    except pa.ArrowException as error:
        raise BadRecording(
            f"{part.folder}: expected times as Parquet times or ISO 8601, got {error}"
        ) from error


def _columns(table: Any, wanted: Iterable[str]) -> dict[str, Array]:
    return {name: _readings(name, table[name]) for name in wanted if name in table.column_names}


def _readings(name: str, column: Any) -> Array:
    try:
        return _numbers(column)
    except (TypeError, ValueError) as error:
        raise BadRecording(f"{name}: expected numbers, got {column.type} ({error}); convert it") from error


def _inputs(table: Any, wanted: Iterable[str]) -> dict[str, Array]:
    return _struct(table, INPUTS, wanted)


def _struct(table: Any, column: str, wanted: Iterable[str]) -> dict[str, Array]:
    there = {field.name for field in table.schema.field(column).type}
    return {name: _numbers(pc.struct_field(table[column], name)) for name in wanted if name in there}


def _numbers(column: Any) -> Array:
    return np.asarray(column.to_numpy(), dtype=float)


def _require_one_unit(part: Part, files: Iterable[Any]) -> None:
    """Columns may name their unit in their metadata; files of one part must agree."""
    units: dict[str, str] = {}
    for file in files:
        for column in file.schema_arrow:
            unit = (column.metadata or {}).get(b"unit", b"").decode()
            if unit and units.setdefault(column.name, unit) != unit:
                both = f"{units[column.name]} and {unit}"
                raise BadRecording(
                    f"{part.folder}: {column.name}: expected one unit, got {both}; convert one"
                )
