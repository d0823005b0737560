"""Estimates as a Parquet file: the fields of the wire contract, and what each estimate supersedes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from numpy.typing import NDArray

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from model_export.archive.estimates import Estimates
from model_export.archive.published import revisions
from model_export.archive.rows import Rows
from model_export.archive.windows import Times
from model_export.files import write_atomically

CAUSE, FINAL = "recalibrated", "final"
DIGITS = 9  # decimals, as published
FACTS = b"respire"  # the key of the summary in a file's metadata
MADE_FROM = b"respire_made_from"  # the key of the models and files that it was made from
MADE_AFTER = b"respire_made_after"  # the key of the files of the month before, if its last day counts
TIME = pa.timestamp("ms", "UTC")
# Looking for repeated measurements takes most of the time of writing, and finds none.
REPEATED = [
    "sensor",
    "gas",
    "unit",
    "level",
    "cause",
    "status",
    "reasons.list.element",
    "model",
    "superseded_model",
]


@dataclass(frozen=True, slots=True)
class Before:
    """The estimates that are superseded, beside the new ones; all (n,)."""

    value: Array  # NaN where there was none
    model: NDArray[np.object_]  # None where there was none
    revision: NDArray[np.int64]  # -1 where there was none
    first: int  # the revision of a window whose old estimate is not known

    @property
    def next_revision(self) -> NDArray[np.int64]:
        """The revision of each new estimate."""
        return np.where(self.revision < 0, self.first, self.revision + 1)

    @classmethod
    def of(cls, start_ms: Times, rows: Rows | None, first: int) -> "Before":
        """The old estimate of each of these windows, if there is one."""
        count = len(start_ms)
        value, model = np.full(count, np.nan), np.full(count, None, dtype=object)
        revision = np.full(count, -1, dtype=np.int64)
        if rows is not None and len(rows.at_ms):
            _, here, there = np.intersect1d(start_ms, rows.at_ms, assume_unique=True, return_indices=True)
            value[here] = np.asarray(rows.table["value"].to_numpy(), dtype=float)[there]
            model[here] = np.array(rows.table["model"].cast(pa.string()).to_pylist(), dtype=object)[there]
            revision[here] = revisions(rows.table)[there]
        return cls(value, model, revision, first)

    def or_newer(self, other: "Before") -> "Before":
        """Of each window the estimate of the higher revision; of two that are equal, this one."""
        mine = self.revision >= other.revision
        value, model, revision = (
            np.where(mine, own, theirs)
            for own, theirs in (
                (self.value, other.value),
                (self.model, other.model),
                (self.revision, other.revision),
            )
        )
        return Before(value, model, revision, self.first)


def table(estimates: Estimates, before: Before) -> Any:
    """The new estimates of one sensor, one row a window."""
    model, count = estimates.model, len(estimates)
    end_ms = estimates.start_ms + estimates.length_ms
    level = model.interval.level if model.interval else None
    minutes = {**estimates.minutes, "expected": np.full(count, estimates.expected)}
    return pa.table(
        {
            "sensor": _same(model.sensor, count),
            "gas": _same(model.gas, count),
            "value": _numbers(estimates.value),
            "unit": _same(model.unit, count),
            "low": _numbers(estimates.low),
            "high": _numbers(estimates.high),
            "level": pa.array(np.where(np.isnan(estimates.low), np.nan, level or np.nan), from_pandas=True),
            "start": pa.array(estimates.start_ms).cast(TIME),
            "end": pa.array(end_ms).cast(TIME),
            "revision": pa.array(before.next_revision, type=pa.int32()),
            "supersedes": pa.array(before.revision, type=pa.int32(), mask=before.revision < 0),
            "cause": _same(CAUSE, count),
            "status": _same(FINAL, count),
            "quality": pa.array(estimates.quality),
            "reasons": _reasons(estimates),
            "inputs": _struct({name: _numbers(values) for name, values in estimates.inputs.items()}),
            "minutes": _struct({name: pa.array(each, pa.int16()) for name, each in minutes.items()}),
            "model": _same(model.id, count),
            "superseded_model": pa.array(before.model, pa.string()).dictionary_encode(),
            "superseded_value": _numbers(before.value),
        }
    )


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written before: its name, its summary, and what it was made from."""

    name: str
    facts: list[dict[str, Any]]
    made_from: str
    made_after: str | None  # None: not known

    def is_of(self, made_from: str, made_after: str) -> bool:
        """Whether it was made from these models and files."""
        return self.made_from == made_from and self.made_after in (None, made_after)

    @property
    def revision(self) -> int:
        """The highest in it."""
        return max((fact.get("revision", 0) for fact in self.facts), default=0)


def write(
    folder: Path,
    tables: Sequence[Any],
    facts: Sequence[Mapping[str, Any]],
    made_from: str,
    made_after: str,
    last: Written | None,
) -> None:
    """One file for the tables of all sensors of a part, with its summary in its metadata; by rename.

    Its name depends on what it was made from, and on the `last` one that it supersedes: none is overwritten.
    """
    joined = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    said = {FACTS: json.dumps(list(facts)), MADE_FROM: made_from, MADE_AFTER: made_after}
    joined = joined.replace_schema_metadata({key: text.encode() for key, text in said.items()})
    data = BytesIO()
    pq.write_table(joined, data, use_dictionary=REPEATED)
    write_atomically(folder / _name(made_from, last), data.getvalue())


def newest(paths: Iterable[Path]) -> Written | None:
    """The file that was written last into the folder of a part: no other one supersedes it."""
    files = [*map(_written, paths)]
    superseded = {old.name for new in files for old in files if new.name == _name(new.made_from, old)}
    left = (one for one in files if one.name not in superseded)
    return max(left, key=lambda one: one.revision, default=None)


def _name(made_from: str, last: Written | None) -> str:
    digest = sha256(f"{made_from} {last.name if last else ''}".encode()).hexdigest()
    return f"{digest[:16]}.parquet"


def _written(path: Path) -> Written:
    try:
        said = pq.read_schema(path).metadata
        after = said[MADE_AFTER].decode() if MADE_AFTER in said else None
        return Written(path.name, json.loads(said[FACTS]), said[MADE_FROM].decode(), after)
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise BadRecording(f"{path}: expected a file written by recalibrate; name another --out") from error


def _same(text: str | None, count: int) -> Any:
    indices = pa.array(np.zeros(count, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([text], pa.string()))


def _numbers(values: Array) -> Any:
    return pa.array(np.round(values, DIGITS), from_pandas=True)


def _struct(fields: Mapping[str, Any]) -> Any:
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields))


def _reasons(estimates: Estimates) -> Any:
    """A list of words for each estimate; most are empty."""
    marks = np.column_stack(list(estimates.reasons.values()))
    offsets = np.concatenate(([0], np.cumsum(marks.sum(axis=1)))).astype(np.int32)
    words = pa.DictionaryArray.from_arrays(
        pa.array(np.nonzero(marks)[1].astype(np.int32)), pa.array(list(estimates.reasons), pa.string())
    )
    return pa.ListArray.from_arrays(pa.array(offsets), words)
