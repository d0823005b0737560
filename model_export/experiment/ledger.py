"""An experiment on disk: one file a fit, written atomically, so that an interrupted run can be resumed.

OUT/experiment.json            the settings, and a digest of the data
OUT/fits/RR/5A2D_T-W.json      one method's fit to one train part, and its results
OUT/results.parquet, .csv      every case of every fit, one row each
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from edge_agent.core.errors import BadSettings, RespireError
from model_export.files import write_atomically
from model_export.recordings.catalogue import Member
from model_export.recordings.names import Place
from model_export.recordings.recording import CELL

Fit = Mapping[str, Any]  # see evaluation.fit_one
_FIT = (("parameters", dict), ("details", dict), ("seconds", float), ("rows", list), ("own", dict))


@dataclass(frozen=True, slots=True)
class Task:
    """One method and the train part to fit it to."""

    method: str
    place: Place

    def __str__(self) -> str:
        return f"{self.method} on {self.place}"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The files of one experiment."""

    folder: Path

    def begin(self, settings: Mapping[str, Any], members: Iterable[Member]) -> None:
        """Store the settings and the data's digests, or refuse a folder that has others."""
        now = {**settings, **{f"data {member.place}": digest(member) for member in members}}
        path = self.folder / "experiment.json"
        if not path.exists():
            write_atomically(path, json.dumps(now, indent=1).encode())
            return
        then = _read(path)
        if not isinstance(then, dict):
            raise RespireError(f"{path}: expected settings and data as JSON, got neither; name another --out")
        _require_same(self.folder, then, now)

    def path(self, task: Task) -> Path:
        """The file of a task's fit."""
        return self.folder / "fits" / task.method / f"{task.place}.json"

    def has(self, task: Task) -> bool:
        """Whether the task is done; a damaged or incomplete file does not count."""
        fit = _read(self.path(task))
        if not isinstance(fit, dict) or any(not isinstance(fit.get(name), kind) for name, kind in _FIT):
            return False
        return bool(fit["rows"]) and all(isinstance(row, dict) and "r2" in row for row in fit["rows"])

    def damaged(self, task: Task) -> bool:
        """Whether there is a file without a whole fit."""
        return self.path(task).exists() and not self.has(task)

    def save(self, task: Task, fit: Fit) -> None:
        """Store a fit."""
        write_atomically(self.path(task), json.dumps(fit).encode())

    def load(self, task: Task) -> Fit:
        """A stored fit."""
        found: Fit = json.loads(self.path(task).read_text())
        return found

    def save_table(self, table: pd.DataFrame) -> None:
        """Store the results as Parquet and as CSV."""
        columns = BytesIO()
        table.to_parquet(columns, index=False)
        write_atomically(self.folder / "results.parquet", columns.getvalue())
        write_atomically(self.folder / "results.csv", table.to_csv(index=False, float_format="%.6g").encode())


def _read(path: Path) -> Any:
    """The content of a JSON file, None if there is none."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def digest(member: Member) -> str:
    """A digest of a recording's windows, and of what decides how they are fitted."""
    kind = "" if member.sensor_type == CELL else f" {member.sensor_type}"
    data = sha256(
        f"{member.gas} {member.train.unit} {member.train.channels} {member.train.window_ms}{kind}".encode()
    )
    for part in (member.train, member.test):
        for values in (part.start_ms, *part.arrays):
            data.update(values.tobytes())
    data.update(repr(sorted(member.train.temperatures.items())).encode())
    return data.hexdigest()[:16]


def _require_same(folder: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    different = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    if different:
        name = different[0]
        more = f" (and {len(different) - 1} more)" if different[1:] else ""
        raise BadSettings(
            f"{folder}: expected what it was begun with, {name} = {then.get(name, 'none')}, "
            f"got {now.get(name, 'none')}{more}; name another --out"
        )
