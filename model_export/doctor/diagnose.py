"""All examinations of all recordings, in the order in which one fault can look like another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from edge_agent.core.errors import BadRecording
from model_export.doctor import (
    clipped,
    clock,
    coverage,
    dead,
    electrodes,
    erratic,
    outliers,
    sisters,
    stuck,
    trend,
    zero_shift,
)
from model_export.doctor.case import Case, by_sensor, open_case
from model_export.doctor.finding import Finding, by_severity
from model_export.doctor.smooth import smooth
from model_export.recordings.dataset import MIN_WINDOWS, Stamp, require_trainable
from model_export.recordings.tables import Layout

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found, in which recordings it was sought, and what could not be examined and why."""

    findings: tuple[Finding, ...]
    cases: tuple[Case, ...]
    skipped: dict[str, str]  # file -> reason


def diagnose(
    paths: Sequence[Path],
    sensor: str | None = None,
    layout: Layout | None = None,
    stamp: Stamp = "auto",
    progress: Progress | None = None,
) -> Diagnosis:
    """All the doctor has to say about these files; one that cannot be read does not hide the others."""
    cases: list[Case] = []
    skipped: dict[str, str] = {}
    for done, path in enumerate(paths):
        try:
            cases.append(open_case(path, sensor, layout, stamp))
        except BadRecording as error:
            skipped[str(path)] = str(error)
        if progress:
            progress(done + 1, len(paths))
    return Diagnosis(tuple(findings_of(cases)), tuple(cases), skipped)


def findings_of(cases: Sequence[Case]) -> list[Finding]:
    """What the cases show, each by itself and beside the others, the gravest first."""
    alone = [finding for case in cases for finding in examine(case)]
    return by_severity([*alone, *compare(cases)])


def examine(case: Case) -> list[Finding]:
    """What one recording shows by itself."""
    names, windows = (case.sensor, case.dataset), case.windows
    silent = dead.examine(windows, *names)
    findings = [
        *(clock.examine_halves(case.halves, *names) or clock.examine(case.scan, *names)),
        *([] if silent else electrodes.examine(case.scan, case.minutes, windows.channels, *names)),
        *silent,
        *stuck.examine(case.recording, *names),
        *clipped.examine(case.recording, *names),
        *coverage.examine(windows, *names),
    ]
    if trainable(case):
        law = smooth(windows)
        findings += outliers.examine(windows, law, *names)
        findings += trend.examine(windows, law, *names)
        findings += erratic.examine(windows, erratic.curves(law), *names)
    return findings


def compare(cases: Sequence[Case]) -> list[Finding]:
    """What shows only beside other recordings.

    Noise is nobody's electrode, so a dead channel is not compared; a swapped sensor says nothing about the
    reference.
    """
    swapped = sisters.examine([case for case in cases if not dead.dead(case.windows)])
    strangers = {finding.sensor for finding in swapped}
    findings = list(swapped)
    for sensor, mine in by_sensor([case for case in cases if trainable(case)]).items():
        if len(mine) > 1 and sensor not in strangers and len({case.windows.channels for case in mine}) == 1:
            shifts = zero_shift.shifts([case.dataset for case in mine], [case.windows for case in mine])
            findings += zero_shift.examine(shifts, sensor)
    return findings


def trainable(case: Case) -> bool:
    """Whether there is enough, and enough variety, to fit anything."""
    try:
        require_trainable(case.windows)
    except BadRecording:
        return False
    return len(case.windows) >= MIN_WINDOWS
