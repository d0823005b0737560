"""A recording made ready for examination: whose it is, its windows, and how the reference goes with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from model_export.doctor import clock, stuck
from model_export.doctor.lag import Scan, scan
from model_export.doctor.minutes import on_minutes
from model_export.recordings.catalogue import identity
from model_export.recordings.dataset import Dataset, Stamp, windows
from model_export.recordings.tables import Layout, Recording, read


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One sensor in one deployment; the windows are those after the reference's clock was put right."""

    sensor: str
    dataset: str
    recording: Recording  # as delivered
    scan: Scan | None
    halves: tuple[Scan | None, Scan | None]  # the same of its first and second half
    minutes: int  # by which the reference had to be moved later; 0 if no one number puts it right
    windows: Dataset


def open_case(
    path: Path, sensor: str | None = None, layout: Layout | None = None, stamp: Stamp = "auto"
) -> Case:
    """The case in a file; a sensor that is named stands above the one in the file's name."""
    owner, dataset = identity(path)
    return case_of(read([path], sensor or owner, layout), dataset, stamp)


def case_of(recording: Recording, dataset: str, stamp: Stamp = "auto") -> Case:
    """The case of a recording that is read already; what stood still does not take part in it."""
    moving = stuck.without(recording)
    whole = on_minutes(moving, stamp)
    found, halves = scan(whole), (scan(whole.halves()[0]), scan(whole.halves()[1]))
    minutes = 0 if clock.changed(halves) else clock.offset(found)
    means = windows(clock.moved(moving, minutes), "", stamp)
    return Case(recording.sensor, dataset, recording, found, halves, minutes, means)


def by_sensor(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases of each sensor, in the order of time."""
    found: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda case: int(case.windows.start_ms[0]) if len(case.windows) else 0):
        found.setdefault(case.sensor, []).append(case)
    return found
