"""The estimates of one sensor's windows: what `edge_agent.core.pipeline` gives, for all windows at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.coverage import expected_minutes, needed_minutes
from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from edge_agent.core.quality import OUTSIDE, Flag
from edge_agent.core.warming import REACH_MS
from edge_agent.core.windows import COVERAGE
from model_export.archive.past import Temperatures, warmings
from model_export.archive.windows import Mask, Times, Windows

NOT_COVERED, NOT_FINITE, NO_PAST = (
    "insufficient_coverage",
    "value_not_finite",
    "temperature_history_incomplete",
)
STUCK, CLOCK, OLD = "stuck_value", "clock_unsynchronised", "calibration_old"


@dataclass(frozen=True, slots=True)
class Estimates:
    """One estimate a window; arrays are (n,), and NaN where there is no value."""

    model: Model
    start_ms: Times
    length_ms: int
    value: Array
    low: Array
    high: Array
    quality: NDArray[np.int8]
    reasons: Mapping[str, Mask]  # every reason that occurs, in the order of an estimate's reasons
    inputs: Mapping[str, Array]
    minutes: Mapping[str, NDArray[np.int64]]
    temperatures: Temperatures  # of the last day, for the windows after these

    def __len__(self) -> int:
        return len(self.start_ms)

    @property
    def expected(self) -> int:
        """The minutes of a full window, of the channel that comes most often."""
        return expected_minutes(self.length_ms, min(map(self._cadence, self.minutes)))

    def _cadence(self, name: str) -> int:
        return self.model.cadence_minutes.get(name, 1)


def estimate(
    windows: Windows,
    model: Model,
    before: Temperatures | None = None,
    unsynchronised: Mask | None = None,
) -> Estimates:
    """The estimates of a sensor's windows.

    `before` are the temperatures of the day before, `unsynchronised` the windows whose clock was not set.
    """
    channels, names = windows.channels, tuple(sorted({*model.measured, model.auxiliary}))
    covered = {name: _covered(windows, name, model) for name in names}
    heat, noted = channels[model.auxiliary], covered[model.auxiliary]  # the temperature, if warming counts
    past = Temperatures(windows.start_ms[noted], heat.mean[noted]).after(before or Temperatures.none())
    warming, enough = warmings(windows.start_ms, heat.mean, past, model.warming, windows.length_ms)
    means = {name: channels[name].mean for name in names} | warming
    missing = ~np.logical_and.reduce(list(covered.values()))
    seen = {name: values[~missing] for name, values in means.items()}
    departures = dict(_departures(model, seen))
    outside = [distance > 0.0 for distance in departures.values()]
    value, low, high = _calibrated(model, seen, np.any(outside, axis=0) if outside else False)
    stuck = np.logical_or.reduce([channels[name].stuck for name in model.measured])[~missing]
    late = np.zeros(len(windows), dtype=bool) if unsynchronised is None else unsynchronised
    found = {f"{name}{OUTSIDE}": distance > 0.0 for name, distance in departures.items()}
    found |= {STUCK: stuck, NO_PAST: ~enough[~missing], CLOCK: late[~missing]}
    found |= {OLD: _old(windows, model)[~missing], NOT_FINITE: np.isnan(value)}
    far = np.logical_or.reduce([np.isnan(value), *(distance > 1.0 for distance in departures.values())])
    suspect = np.logical_or.reduce(list(found.values()))
    flags = np.where(far, Flag.FAIL, np.where(suspect, Flag.SUSPECT, Flag.PASS))
    return Estimates(
        model=model,
        start_ms=windows.start_ms,
        length_ms=windows.length_ms,
        value=_among(~missing, value, np.nan),
        low=_among(~missing, low, np.nan),
        high=_among(~missing, high, np.nan),
        quality=_among(~missing, flags.astype(np.int8), Flag.MISSING),
        reasons={NOT_COVERED: missing}
        | {name: _among(~missing, mask, False) for name, mask in found.items()},
        inputs=means,
        minutes={name: channels[name].minutes for name in names},
        temperatures=past.since(int(windows.start_ms[-1]) - REACH_MS) if len(windows) else past,
    )


def _old(windows: Windows, model: Model) -> Mask:
    """The windows that end after the model is valid."""
    if model.valid_until_ms is None:
        return np.zeros(len(windows), dtype=bool)
    return np.asarray(windows.start_ms + windows.length_ms > model.valid_until_ms)


def _covered(windows: Windows, name: str, model: Model) -> Mask:
    needed = needed_minutes(windows.length_ms, model.cadence_minutes.get(name, 1), COVERAGE)
    return np.asarray(windows.channels[name].minutes >= needed)


def _calibrated(model: Model, seen: Mapping[str, Array], outside: Mask | bool) -> tuple[Array, Array, Array]:
    """The value and its interval; NaN where the value is not finite or no interval is promised."""
    inputs = np.column_stack([seen[name] for name in model.channels])
    with np.errstate(all="ignore"):
        value = model.predict(inputs, seen[model.auxiliary])
    value = np.where(np.isfinite(value), value, np.nan)
    half_width = np.nan if model.interval is None else model.interval.half_widths(value)
    half_width = np.where(outside, np.nan, half_width)
    return value, value - half_width, value + half_width


def _departures(model: Model, seen: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    """`Model.departures` for all windows: how far each input is outside training, in widths."""
    after = dict(seen)
    if model.transfer is not None:
        raw = np.column_stack([seen[name] for name in model.channels])
        mapped = raw @ model.transfer[:, :-1].T + model.transfer[:, -1]
        after.update(zip(model.channels, mapped.T, strict=True))
    for name, (low, high) in model.domain.items():
        if name in after:
            outside = np.maximum(np.maximum(low - after[name], after[name] - high), 0.0)
            yield name, outside / ((high - low) or 1.0)


def _among(where: Mask, values: NDArray, default: float) -> NDArray:  # type: ignore[type-arg]
    """The values in the places of a mask, and a default elsewhere."""
    whole = np.full(len(where), default, dtype=values.dtype)
    whole[where] = values
    return whole
