"""A calibration in Python: estimates of a table, as the agent makes them. Imports archive and recordings."""

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from edge_agent.core import bundle as bundles
from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import SENSOR, TIMESTAMP
from edge_agent.core.model import Model
from model_export.archive.estimates import estimate
from model_export.archive.windows import windows_of
from model_export.files import write_atomically
from model_export.recordings.recording import Recording, Series, side_by_side
from model_export.recordings.stamps import UNREADABLE, parse_stamps
from model_export.recordings.tables import cadence_minutes, require_columns

Paths = str | PathLike[str]


@dataclass(frozen=True, slots=True)
class Bundle:
    """A sensor's calibration, with the numbers of the agent."""

    model: Model

    def predict(self, data: "pd.DataFrame | Recording") -> pd.DataFrame:
        """One row for each window: value, low, high, quality, reasons, and the weights behind the value.

        `data` has the channels of the model, the temperature, and a column `timestamp` or an index of times;
        times without a zone are UTC. If it has a column `sensor`, the rows of the bundle's sensor are taken.
        Rows shorter than a window are averaged; the cadence of the rows decides how many of them a window
        needs. Warming is derived from the temperatures.
        """
        recording = data if isinstance(data, Recording) else _recording(data, self.model)
        names = (*self.model.measured, self.model.auxiliary)
        require_columns(recording, names)
        at_ms, every = side_by_side(recording.series)
        columns = {name: every[name] for name in names}
        cadence = {name: cadence_minutes(recording.series[name].at_ms) for name in names}
        found = estimate(
            windows_of(at_ms, columns, self.model.window_ms), replace(self.model, cadence_minutes=cadence)
        )
        reasons = [
            [name for name, there in found.reasons.items() if there[place]] for place in range(len(found))
        ]
        weights = self.model.weights(found.inputs[self.model.auxiliary])
        weights[~np.isfinite(found.value)] = np.nan
        return pd.DataFrame(
            {
                "value": found.value,
                "low": found.low,
                "high": found.high,
                "quality": found.quality,
                "reasons": reasons,
                **{f"w_{name}": each for name, each in zip(self.model.channels, weights.T, strict=False)},
                "bias": weights[:, -1],
            },
            index=pd.to_datetime(found.start_ms, unit="ms", utc=True).rename("start"),
        )

    def save(self, path: Paths) -> Path:
        """Write the bundle for an agent."""
        write_atomically(Path(path), bundles.encode(self.model))
        return Path(path)


def _recording(frame: pd.DataFrame, model: Model) -> Recording:
    frame, names = _of_sensor(frame, model.sensor), (*model.measured, model.auxiliary)
    stamps = frame[TIMESTAMP] if TIMESTAMP in frame else pd.Series(frame.index, index=frame.index)
    if missing := [name for name in names if name not in frame]:
        raise BadRecording(
            f"predict: expected columns {', '.join(names)}, got no {', '.join(missing)}; "
            f"the columns are {', '.join(map(str, frame.columns))}"
        )
    if TIMESTAMP not in frame and not isinstance(frame.index, pd.DatetimeIndex):
        raise BadRecording(f"predict: expected a column {TIMESTAMP} or an index of times, got neither")
    at_ms = parse_stamps(stamps).at_ms
    if len(at_ms) and (at_ms == UNREADABLE).all():
        raise BadRecording(f"predict: expected times as ISO 8601 or epoch, got {str(stamps.iloc[0])!r:.40}")
    series = {}
    for name in names:
        values = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        # Of several rows with one time, some may have only other columns.
        kept = np.isfinite(values) & (at_ms != UNREADABLE)
        times, first = np.unique(at_ms[kept], return_index=True)
        series[name] = Series(times, values[kept][first])
    return Recording("data", model.sensor, model.measured, series, {}, ())


def _of_sensor(frame: pd.DataFrame, sensor: str) -> pd.DataFrame:
    """The rows of this sensor, if the table says whose each is."""
    if SENSOR not in frame:
        return frame
    owners = frame[SENSOR].astype(str).str.strip()
    if len(frame) and not (owners == sensor).any():
        there = ", ".join(sorted(owners.unique())[:8])
        raise BadRecording(
            f"predict: expected rows of sensor {sensor} as the bundle's, got {there}; "
            f"leave out the column {SENSOR} to use them all the same"
        )
    return frame[(owners == sensor).to_numpy()]
