"""Windows of one sensor beside the reference: what a calibration learns from and is judged by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.warming import PREFIX
from model_export.recordings.averaging import Stamp, average
from model_export.recordings.tables import REFERENCE, TEMPERATURE, Layout, Recording, read
from model_export.recordings.warmings import warmings
from model_export.regression.metrics import varies

MIN_WINDOWS = 50


@dataclass(frozen=True, eq=False)
class Dataset:
    """Windows where every channel (and the reference, if asked for) is valid, in the order of time."""

    name: str
    sensor: str
    channels: tuple[str, ...]
    unit: str
    start_ms: NDArray[np.int64]  # (n,)
    inputs: Array  # (n, d)
    auxiliary: Array  # (n,)
    target: Array  # (n,), NaN throughout where no reference was asked for
    temperatures: Mapping[int, float] = field(default_factory=dict)  # of all windows, also of those left out
    warming: Mapping[str, int] = field(default_factory=dict)  # channels that are not measured: memory in ms
    dropped_rows: Mapping[str, int] = field(default_factory=dict)
    dropped_windows: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.start_ms)

    def part(self, index: slice | NDArray[np.bool_] | NDArray[np.intp]) -> "Dataset":
        """Some of the windows."""
        return replace(
            self,
            start_ms=self.start_ms[index],
            inputs=self.inputs[index],
            auxiliary=self.auxiliary[index],
            target=self.target[index],
        )

    def warmed(self, memories_ms: Mapping[str, int]) -> "Dataset":
        """The same with a channel for each memory: how much warmer it is than it was, see `warmings`."""
        new = {name: memory_ms for name, memory_ms in memories_ms.items() if name not in self.warming}
        if not new:
            return self
        own = dict(zip(self.start_ms.tolist(), self.auxiliary.tolist(), strict=True))
        columns = warmings(own, {**self.temperatures, **own}, new.values())
        return replace(
            self,
            channels=(*self.channels, *new),
            inputs=np.column_stack([self.inputs, columns]),
            warming={**self.warming, **new},
        )


def load(
    paths: Sequence[Path],
    sensor: str,
    unit: str,
    layout: Layout | None = None,
    *,
    channels: Sequence[str] | None = None,
    reference: Stamp | None = "auto",
) -> Dataset:
    """The windows of a sensor from its files; `reference=None` asks for the channels only."""
    recording = read(paths, sensor, layout, channels, with_reference=reference is not None)
    if taken := [name for name in recording.channels if name.startswith(PREFIX)]:
        raise BadRecording(
            f"{recording.name}: {taken[0]}: expected another name for a channel, {PREFIX}… is derived from "
            "temperature; rename it with --columns"
        )
    return windows(recording, unit, reference)


def windows(recording: Recording, unit: str, reference: Stamp | None = "auto") -> Dataset:
    """The windows of a recording that is read already."""
    averages = average(recording, reference)
    d = len(recording.channels)
    table, n = averages.table, len(averages.starts_ms)
    return Dataset(
        name=recording.name,
        sensor=recording.sensor,
        channels=recording.channels,
        unit=unit,
        start_ms=np.array(averages.starts_ms, dtype=np.int64),
        inputs=table[:, :d],
        auxiliary=table[:, d],
        target=table[:, d + 1] if REFERENCE in averages.columns else np.full(n, np.nan),
        temperatures=averages.temperatures,
        dropped_rows=recording.dropped,
        dropped_windows=averages.dropped,
        notes=(*recording.notes, *averages.notes),
    )


def split(dataset: Dataset, test_share: float = 0.2) -> tuple[Dataset, Dataset]:
    """The first windows to train on and the last to test on: the past may not learn from the future."""
    boundary = len(dataset) - round(len(dataset) * test_share)
    return dataset.part(slice(boundary)), dataset.part(slice(boundary, None))


def require_windows(dataset: Dataset, at_least: int) -> None:
    """Refuse a dataset with too few windows, saying where the others went."""
    if len(dataset) < at_least:
        reasons = ", ".join(f"{count} {reason}" for reason, count in dataset.dropped_windows.items())
        raise BadRecording(
            f"{dataset.name}: expected at least {at_least} windows with all columns valid, "
            f"got {len(dataset)} (dropped: {reasons or 'none'}); add a longer recording"
        )


def require_trainable(dataset: Dataset) -> None:
    """Refuse what no calibration could be learnt from: too little, or something that never changes."""
    require_windows(dataset, MIN_WINDOWS)
    channels = zip(dataset.channels, dataset.inputs.T, strict=True)
    for name, values in (*channels, (TEMPERATURE, dataset.auxiliary), (REFERENCE, dataset.target)):
        if not varies(values):
            raise BadRecording(
                f"{dataset.name}: {name}: expected values that vary, got {values[0]:g} in all "
                f"{len(dataset)} windows; check the sensor or map another column with --columns"
            )
