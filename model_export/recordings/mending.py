"""Corrections of a recording: the reference's clock, swapped columns, and values that are no measurements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from edge_agent.core.errors import BadRecording
from edge_agent.core.windows import MINUTE_MS
from model_export.recordings.recording import REFERENCE, Recording, Series


@dataclass(frozen=True, slots=True)
class Mending:
    """What to correct; the options of the command line are made of the same parts."""

    shift_minutes: int = 0  # added to the reference's stamps
    swap: tuple[str, ...] = ()  # two columns that are in each other's place
    below: Mapping[str, float] = field(default_factory=dict)  # column -> lower values are dropped
    above: Mapping[str, float] = field(default_factory=dict)  # column -> higher values are dropped

    def __bool__(self) -> bool:
        return bool(self.shift_minutes or self.swap or self.below or self.above)

    def options(self) -> tuple[str, ...]:
        """The options that ask for this.

        >>> Mending(60, ("op1", "op2"), {"op1": -100.0}).options()
        ('--drop-below op1=-100', '--swap op1,op2', '--shift-reference 60min')
        """
        limits = (("below", self.below), ("above", self.above))
        return (
            *(f"--drop-{side} {written(values)}" for side, values in limits if values),
            *([f"--swap {','.join(self.swap)}"] if self.swap else []),
            *([f"--shift-reference {self.shift_minutes}min"] if self.shift_minutes else []),
        )


def mended(recording: Recording, mending: Mending) -> Recording:
    """The corrected recording, with one note for each correction.

    Limits apply to columns as they are named in the file, that is before two are swapped.
    """
    for column in (*mending.swap, *mending.below, *mending.above):
        _require_column(recording, column)
    for column in {**mending.below, **mending.above}:
        low, high = mending.below.get(column, -np.inf), mending.above.get(column, np.inf)
        recording = _within(recording, column, low, high)
    return shifted(_swapped(recording, mending.swap), mending.shift_minutes)


def shifted(recording: Recording, minutes: int) -> Recording:
    """The recording with minutes added to the reference's stamps."""
    if not minutes or REFERENCE not in recording.series:
        return recording
    series = recording.series[REFERENCE]
    moved = Series(series.at_ms + minutes * MINUTE_MS, series.values)
    return _with(recording, {REFERENCE: moved}, f"the reference's stamps were moved by {minutes:+d} minutes")


def written(limits: Mapping[str, float]) -> str:
    """Limits as the options have them."""
    return ",".join(f"{column}={limit:g}" for column, limit in limits.items())


def parse_swap(text: str) -> tuple[str, ...]:
    """The two columns of op1,op2."""
    names = tuple(name.strip() for name in text.split(","))
    if len({*names}) != 2 or len(names) != 2 or not all(names):
        raise ValueError(f"expected two columns such as op1,op2, got {text!r:.80}")
    return names


def parse_limits(text: str) -> dict[str, float]:
    """{column: limit} from op1=-100,op2=0.

    >>> parse_limits("op1=-100, op2=0")
    {'op1': -100.0, 'op2': 0.0}
    """
    pairs = [pair.partition("=") for pair in text.split(",")]
    try:
        limits = {name.strip(): float(limit) for name, _, limit in pairs}
    except ValueError:
        limits = {}
    if not all(limits) or not np.isfinite([*limits.values(), 0.0]).all() or len(limits) < len(pairs):
        raise ValueError(f"expected a limit for a column such as op1=-100, got {text!r:.80}")
    return limits


def _within(recording: Recording, column: str, low: float, high: float) -> Recording:
    series = recording.series[column]
    kept = (series.values >= low) & (series.values <= high)
    sides = ((low, "below"), (high, "above"))
    limits = " or ".join(f"{side} {limit:g}" for limit, side in sides if np.isfinite(limit))
    if not kept.any():
        raise BadRecording(f"{recording.name}: {column}: expected values, got none: all are {limits}")
    note = f"{column}: {int((~kept).sum())} values {limits} were dropped"
    return _with(recording, {column: Series(series.at_ms[kept], series.values[kept])}, note)


def _swapped(recording: Recording, pair: Sequence[str]) -> Recording:
    if not pair:
        return recording
    first, second = pair
    series = {first: recording.series[second], second: recording.series[first]}
    return _with(recording, series, f"{first} and {second} were swapped")


def _with(recording: Recording, series: Mapping[str, Series], note: str) -> Recording:
    notes = (*recording.notes, f"{recording.name}: {note}")
    return replace(recording, series={**recording.series, **series}, notes=notes)


def _require_column(recording: Recording, column: str) -> None:
    if column not in recording.series:
        raise BadRecording(
            f"{recording.name}: expected one of {', '.join(recording.series)} to correct, got {column}"
        )
