"""From a file or a recording to a case."""

from pathlib import Path

from edge_agent.core.errors import BadRecording
from edge_agent.core.windows import WINDOW_MS
from model_export.calibration.fit import Recipe, for_sensor
from model_export.doctor import clock, sentinel, stuck
from model_export.doctor.case import Case
from model_export.doctor.dead import dead
from model_export.doctor.lag import scan
from model_export.doctor.minutes import on_minutes
from model_export.doctor.smooth import Smooth, smooth
from model_export.recordings.dataset import Dataset, Stamp, require_trainable, windows
from model_export.recordings.mending import shifted
from model_export.recordings.names import identity
from model_export.recordings.recording import CELL, Recording
from model_export.recordings.tables import Layout, read


def open_case(
    path: Path,
    sensor: str | None = None,
    layout: Layout | None = None,
    stamp: Stamp = "auto",
    window_ms: int = WINDOW_MS,
    sensor_type: str = CELL,
) -> Case:
    """The case in a file; `sensor` replaces the sensor in the file's name."""
    owner, dataset = identity(path)
    return case_of(read([path], sensor or owner, layout), dataset, stamp, window_ms, sensor_type)


def case_of(
    recording: Recording,
    dataset: str,
    stamp: Stamp = "auto",
    window_ms: int = WINDOW_MS,
    sensor_type: str = CELL,
) -> Case:
    """The case of a recording; stuck values are left out of everything but the recording itself."""
    codes = sentinel.found_in(recording)
    recording = sentinel.without(recording, codes)
    moving = stuck.without(recording)
    whole = on_minutes(moving, stamp)
    first, second = whole.halves()
    found, halves = scan(whole), (scan(first), scan(second))
    minutes = 0 if clock.changed(halves) else clock.offset(found)
    means = windows(shifted(moving, minutes) if minutes else moving, "", stamp, window_ms)
    law, still = law_of(means, sensor_type), dead(means)
    return Case(recording.sensor, dataset, recording, found, halves, minutes, means, still, law, codes)


def case_without_reference(recording: Recording, dataset: str, window_ms: int = WINDOW_MS) -> Case:
    """The case of a sensor alone: what needs a reference is left out."""
    codes = sentinel.found_in(recording)
    recording = sentinel.without(recording, codes)
    means = windows(stuck.without(recording), "", None, window_ms)
    return Case(recording.sensor, dataset, recording, None, (None, None), 0, means, dead(means), None, codes)


def law_of(means: Dataset, sensor_type: str = CELL) -> Smooth | None:
    """The smooth law with the inputs of `fit`, or None where there is too little data to fit anything."""
    try:
        require_trainable(means)
    except BadRecording:
        return None
    recipe = for_sensor(Recipe(), sensor_type)
    return smooth(means, recipe.memories_ms(means.window_ms))
