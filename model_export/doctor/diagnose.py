"""All checks on all recordings."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from edge_agent.core.errors import BadRecording
from edge_agent.core.windows import WINDOW_MS
from model_export.doctor import (
    clipped,
    clock,
    coverage,
    dead,
    drift,
    electrodes,
    erratic,
    outliers,
    sentinel,
    sisters,
    stuck,
    units,
    zero_shift,
)
from model_export.doctor.case import Case, Diagnosis
from model_export.doctor.finding import Finding, by_severity
from model_export.doctor.prepare import open_case
from model_export.recordings.dataset import Stamp
from model_export.recordings.recording import CELL
from model_export.recordings.tables import Layout

Check = Callable[[Sequence[Case]], Iterator[Finding]]
Progress = Callable[[int, int], None]

# The order of the findings of one recording and severity.
CHECKS: tuple[Check, ...] = (
    clock.check,
    electrodes.check,
    sentinel.check,
    dead.check,
    stuck.check,
    clipped.check,
    units.check,
    coverage.check,
    outliers.check,
    drift.check,
    erratic.check,
    sisters.check,
    zero_shift.check,
)

# The checks of a sensor alone, without a reference.
ALONE: tuple[Check, ...] = (sentinel.check, dead.check, stuck.check, clipped.check, units.check)


def diagnose(
    paths: Sequence[Path],
    sensor: str | None = None,
    layout: Layout | None = None,
    stamp: Stamp = "auto",
    window_ms: int = WINDOW_MS,
    sensor_type: str = CELL,
    progress: Progress | None = None,
) -> Diagnosis:
    """All findings in these files; a file that cannot be read is skipped."""
    cases: list[Case] = []
    skipped: dict[str, str] = {}
    for done, path in enumerate(paths):
        try:
            cases.append(open_case(path, sensor, layout, stamp, window_ms, sensor_type))
        except BadRecording as error:
            skipped[str(path)] = str(error)
        if progress:
            progress(done + 1, len(paths))
    return Diagnosis(tuple(findings_of(cases)), tuple(cases), skipped)


def findings_of(cases: Sequence[Case], checks: Sequence[Check] = CHECKS) -> list[Finding]:
    """The findings of every check, by severity, then by recording; comparisons of recordings come last."""
    places = {(case.sensor, case.dataset): place for place, case in enumerate(cases)}
    found = [finding for check in checks for finding in check(cases)]
    found.sort(key=lambda one: places.get((one.sensor, one.dataset or ""), len(cases)))
    return by_severity(found)
