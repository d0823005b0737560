"""The command `diagnose`: recordings in, findings and a corrected recording out."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edge_agent.core.errors import BadRecording, RespireError
from model_export.calibration.fit import Progress, Source, require_sensor
from model_export.cli.console import CommandResult, diagnose_sentence
from model_export.doctor import mend as mends
from model_export.doctor import picture, words
from model_export.doctor.case import Diagnosis
from model_export.doctor.diagnose import diagnose as diagnosed
from model_export.doctor.diagnose import findings_of
from model_export.doctor.examination import warnings
from model_export.doctor.prepare import case_of
from model_export.figures.axes import png
from model_export.files import require_places, write_atomically
from model_export.recordings.recording import CELL
from model_export.recordings.tables import read


def diagnose(
    data: Sequence[Path],
    sensor: str | None,
    *,
    source: Source,
    sensor_type: str = CELL,
    plot: Path | None = None,
    mend: Path | None = None,
    progress: Progress | None = None,
) -> CommandResult:
    """The faults of recordings; a file that cannot be read is reported, and is fatal only if all are."""
    require_places(plot=plot, table=mend, inputs=data)
    _require_one(data, mend)
    owner = None if sensor is None else require_sensor(sensor)
    how = source.reference, source.window_ms, sensor_type
    found = diagnosed(data, owner, source.layout, *how, progress)
    if not found.cases:
        raise BadRecording(next(iter(found.skipped.values())))
    if plot:
        write_atomically(plot, png(picture.picture(found)))
    figures, lines = _mended(data[0], found, source, mend, sensor_type) if mend else ({}, ())
    return CommandResult(words.data(found) | figures, (*words.lines(found), *lines), diagnose_sentence(found))


def _require_one(data: Sequence[Path], mend: Path | None) -> None:
    if mend and len(data) != 1:
        raise RespireError(f"--mend: expected one recording, got {len(data)}; correct them one by one")
    if mend and mend.suffix != ".csv":
        raise RespireError(f"--mend: expected a name that ends in .csv, got {mend.name}")


def _mended(
    path: Path, found: Diagnosis, source: Source, out: Path, sensor_type: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Write the corrected recording, and examine it again."""
    (case,) = found.cases
    done = mends.write(read([path], case.sensor, source.layout), found.findings, out)
    if done is None:
        return {"mended": None}, (f"nothing to correct; {out} was not written",)
    how = source.reference, source.window_ms, sensor_type
    left = findings_of([case_of(done.recording, case.dataset, *how)])
    figures = {
        "recording": str(done.path),
        "note": str(done.note),
        "done": done.done,
        "options": done.options,
        "findings": [asdict(finding) for finding in left],
    }
    lines = (f"wrote {done.path}, with a note in {done.note}", *done.done, *warnings(left))
    return {"mended": figures}, lines
