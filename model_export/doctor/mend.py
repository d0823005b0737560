"""A recording written again with its faults corrected, and a note of what was done."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from edge_agent.core.messages import TIMESTAMP
from model_export.doctor.finding import Finding
from model_export.files import write_atomically
from model_export.recordings.mending import Mending, mended
from model_export.recordings.recording import Recording, side_by_side


@dataclass(frozen=True, slots=True)
class Mended:
    """A corrected recording on disk: what was done, as notes and as options of `fit`."""

    path: Path
    note: Path
    recording: Recording
    done: tuple[str, ...]
    options: tuple[str, ...]


def mending(findings: Iterable[Finding]) -> Mending:
    """The corrections that findings ask for; other findings need a person."""
    shift, swap = 0, ()
    below: dict[str, float] = {}
    above: dict[str, float] = {}
    for finding in findings:
        evidence = finding.evidence
        if finding.code == "reference_clock_offset":
            shift = evidence["minutes"]
        elif finding.code == "channels_swapped":
            swap = evidence["columns"]
        elif finding.code == "sentinel_values":
            limits, inner = (below, max) if evidence["side"] == "below" else (above, min)
            column, limit = evidence["column"], evidence["limit"]
            limits[column] = inner(limit, limits.get(column, limit))
    return Mending(shift, tuple(swap), below, above)


def write(recording: Recording, findings: Sequence[Finding], path: Path) -> Mended | None:
    """Correct a recording as its findings say, and write it as CSV, with a note beside it.

    Nothing is written where there is nothing to correct.
    """
    asked = mending(findings)
    if not asked:
        return None
    right = mended(recording, asked)
    note = path.with_name(f"{path.name}.txt")
    done = right.notes[len(recording.notes) :]
    write_atomically(path, table(right).to_csv(index=False).encode())
    write_atomically(note, "\n".join([*done, "", *_same_with(asked)]).encode())
    return Mended(path, note, right, done, asked.options())


def table(recording: Recording) -> pd.DataFrame:
    """One row for each time in any column, with empty cells where a column has no value then."""
    times, columns = side_by_side(recording.series)
    stamps = np.datetime_as_string(times.astype("datetime64[ms]"), "ms" if (times % 1000).any() else "s")
    return pd.DataFrame({TIMESTAMP: np.char.add(stamps, "Z"), **columns})


def _same_with(asked: Mending) -> list[str]:
    return ["The same without this file: add to fit, evaluate or adapt", f"  {' '.join(asked.options())}", ""]
