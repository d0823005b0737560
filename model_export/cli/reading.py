"""The files of a command as a recording, read once, with a progress bar on a terminal."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edge_agent.core.model import Model
from model_export.calibration.fit import Source
from model_export.cli.console import bar
from model_export.recordings.dataset import Dataset, Stamp, windows
from model_export.recordings.names import files_of_other_sensors
from model_export.recordings.recording import Recording
from model_export.recordings.tables import Layout, read, title

ITS_SENSOR, NAMED = "the bundle is for", "--sensor is"


def read_files(
    paths: Sequence[Path],
    sensor: str,
    layout: Layout,
    channels: Sequence[str] | None = None,
    *,
    with_reference: bool | None = True,
    because: str = ITS_SENSOR,
) -> Recording:
    """A sensor's recording, read once for all that follows, with a progress bar on a terminal."""
    with bar(f"reading {title(paths)}") as progress:
        recording = read(paths, sensor, layout, channels, with_reference, progress)
    others = files_of_other_sensors(paths, sensor, because)
    return replace(recording, notes=(*others, *recording.notes))


def beside(model: Model, data: Sequence[Path], source: Source) -> Dataset:
    """The windows of the model's sensor, with the model's channels and unit."""
    recording = read_files(data, model.sensor, source.layout, model.measured)
    return _windows(model, recording, source.reference)


def _windows(model: Model, recording: Recording, reference: Stamp | None) -> Dataset:
    """Windows with all channels of the model, measured or not."""
    return windows(recording, model.unit, reference, model.window_ms).warmed(model.warming)
