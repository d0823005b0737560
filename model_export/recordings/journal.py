"""The journal of an agent as a dataset: inputs from its estimates, the target from a reference beside it.

The file is opened read-only, while the agent runs or not.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgpack  # type: ignore[import-untyped]
import numpy as np

from edge_agent.core.errors import BadEstimate, BadRecording
from edge_agent.core.messages import Estimate, Reading, decode_estimate
from edge_agent.core.model import Model
from edge_agent.core.quality import Flag
from edge_agent.core.reference import FACT, REFERENCE
from edge_agent.core.tables import checksum, sound
from edge_agent.core.units import Conditions, PublishUnit, decode_conditions
from edge_agent.core.windows import COVERAGE, ChannelMean, average
from model_export.recordings.dataset import Dataset

FILE = "journal.db"
DOUBTED = ("clock_unsynchronised", "stuck_value", "insufficient_coverage", "value_not_finite", "moving")
ESTIMATES = f"SELECT start_ms, payload FROM estimate WHERE sensor = ? AND {sound('estimate')} ORDER BY id"  # noqa: S608
REFERENCES = f"SELECT readings FROM late WHERE sensor = '{REFERENCE}' AND {sound('late')} ORDER BY id"  # noqa: S608
SETTINGS = f"SELECT value FROM fact WHERE name = '{FACT}' AND {sound('fact')}"  # noqa: S608


class _Content(NamedTuple):
    """What the journal has; by start of a window: the means of the reference, and the newest estimates."""

    references: dict[int, ChannelMean]
    estimates: dict[int, Estimate]
    unit: str | None  # of the reference, as in the agent's settings
    conditions: Conditions


def journal_file(path: Path) -> Path:
    """The journal in a state directory, or the file itself."""
    return path / FILE if path.is_dir() else path


def load_journal(path: Path, model: Model, unit: str | None = None) -> Dataset:
    """The windows of the model's sensor that have a reference.

    The reference is in `unit`; by default in that of the agent's settings, or else in the model's.
    """
    file = journal_file(path)
    references, estimates, its_unit, conditions = _read(file, model)
    unit = unit or its_unit or model.unit
    factor = PublishUnit(model.unit, conditions).factor(model.gas, unit)
    if factor is None:
        raise BadRecording(f"--unit: expected one that becomes {model.unit} of {model.gas}, got {unit}")
    if not references:
        raise BadRecording(
            f"{file}: expected values of a reference for {model.gas}, got none; see [reference]"
        )
    # As usual, not at most: a test with a value a minute does not make the other windows too thin.
    needed = COVERAGE * median(mean.minutes for mean in references.values())
    dropped: Counter[str] = Counter()
    used = {}
    for start_ms, mean in sorted(references.items()):
        reason = _useless(estimates.get(start_ms), model, mean.minutes < needed)
        if reason:
            dropped[reason] += 1
        else:
            used[start_ms] = [estimates[start_ms].inputs[name] for name in (*model.channels, model.auxiliary)]
    rows = np.array(list(used.values())).reshape(len(used), len(model.channels) + 1)
    return Dataset(
        name=f"{file.name} of {model.sensor}",
        sensor=model.sensor,
        channels=model.channels,
        unit=model.unit,
        start_ms=np.array(list(used), dtype=np.int64),
        inputs=rows[:, :-1],
        auxiliary=rows[:, -1],
        target=np.array([references[start_ms].mean * factor for start_ms in used]),
        window_ms=model.window_ms,
        warming=model.warming,
        cadence_minutes=model.cadence_minutes,
        dropped_windows=dropped,
    )


def _useless(estimate: Estimate | None, model: Model, thin: bool) -> str:
    """Why a window is left out; empty if it is not."""
    if estimate is None:
        return "no estimate"
    if estimate.end_ms - estimate.start_ms != model.window_ms:
        return "the agent's windows have another length than the bundle's"
    if thin:
        return "too few values of the reference"
    if not {*model.channels, model.auxiliary} <= {*estimate.inputs}:
        return "an input of the bundle is missing"
    if estimate.quality == Flag.FAIL:
        return "an input is far outside the training data"
    return next((reason for reason in DOUBTED if reason in estimate.reasons), "")


def _read(file: Path, model: Model) -> _Content:
    if not file.is_file():
        raise BadRecording(f"{file}: expected the journal of an agent, got no such file")
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0)) as db:
            db.create_function("crc", -1, checksum, deterministic=True)
            payloads: Mapping[int, bytes] = dict(db.execute(ESTIMATES, (model.sensor,)))
            values = _by_window((blob for (blob,) in db.execute(REFERENCES)), model)
            said = _settings(db.execute(SETTINGS).fetchone())
    except sqlite3.DatabaseError as error:
        raise BadRecording(f"{file}: expected the journal of an agent, got {error}") from error
    means = {start_ms: average(each) for start_ms, each in values.items()}
    return _Content(means, dict(_estimates(payloads)), *said)


def _settings(row: tuple[str] | None) -> tuple[str | None, Conditions]:
    """The unit of the reference, and the conditions of a cubic metre, as the agent had them last."""
    with suppress(ValueError, TypeError, KeyError):
        record = json.loads(row[0] if row else "")
        return str(record["unit"]), decode_conditions(record) or Conditions()
    return None, Conditions()


def _by_window(blobs: Iterator[bytes], model: Model) -> dict[int, dict[int, float]]:
    """start -> at_ms -> value; of two values of the same time the first counts."""
    windows: dict[int, dict[int, float]] = {}
    for blob in blobs:
        for _, gas, at_ms, value in (Reading(*each) for each in msgpack.unpackb(blob)[0]):
            if gas == model.gas.lower():
                windows.setdefault(at_ms - at_ms % model.window_ms, {}).setdefault(at_ms, value)
    return windows


def _estimates(payloads: Mapping[int, bytes]) -> Iterator[tuple[int, Estimate]]:
    for start_ms, payload in payloads.items():
        try:
            yield start_ms, decode_estimate(payload)
        except BadEstimate:
            continue
