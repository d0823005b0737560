"""Sensor-to-sensor transfer: a linear map from the target's channels to the source's, without a reference.

Two sensors side by side measure the same air. So the source's channels can be estimated from the target's,
and the source's calibration then serves the target. (Paper, section Empirical Results, "Sensor-to-Sensor
Transfer Experiments".)
"""

from dataclasses import dataclass, replace

import numpy as np

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.messages import format_time
from edge_agent.core.model import Model
from model_export.calibration import export
from model_export.recordings.dataset import MIN_WINDOWS, Dataset
from model_export.regression.metrics import r2


@dataclass(frozen=True, slots=True)
class Transfer:
    """source ≈ matrix @ (target, 1), and the R² of each source channel."""

    matrix: Array  # (d, d + 1), raw units, the last column is the offset
    n: int
    r2: tuple[float, ...]


def overlap(source: Dataset, target: Dataset) -> tuple[Dataset, Dataset]:
    """The windows that both have; refused if they are too few for a map."""
    _, in_source, in_target = np.intersect1d(source.start_ms, target.start_ms, return_indices=True)
    if len(in_source) < MIN_WINDOWS:
        raise BadRecording(
            f"{target.name}: expected at least {MIN_WINDOWS} windows in common with {source.name}, "
            f"got {len(in_source)}; {_span(source)}, {_span(target)}"
        )
    return source.part(in_source), target.part(in_target)


def fit_map(source: Dataset, target: Dataset) -> Transfer:
    """The map of least squares over the windows in common."""
    source, target = overlap(source, target)
    centre, spread = target.inputs.mean(axis=0), target.inputs.std(axis=0)
    still = [name for name, each in zip(target.channels, spread, strict=True) if each == 0.0]
    if measured := [name for name in still if name not in target.warming]:
        value = centre[target.channels.index(measured[0])]
        raise BadRecording(f"{target.name}: {measured[0]}: expected values that vary, got {value:g}")
    # A constant temperature makes a constant warming, which adds nothing and does no harm.
    spread[spread == 0.0] = 1.0
    standard = np.column_stack([(target.inputs - centre) / spread, np.ones(len(target))])
    solution = np.linalg.lstsq(standard, source.inputs, rcond=None)[0].T
    slopes = solution[:, :-1] / spread
    matrix = np.column_stack([slopes, solution[:, -1] - slopes @ centre])
    mapped = apply(matrix, target.inputs)
    explained = tuple(r2(truth, guess) for truth, guess in zip(source.inputs.T, mapped.T, strict=True))
    return Transfer(matrix, len(target), explained)


def apply(matrix: Array, inputs: Array) -> Array:
    """The source's channels as estimated from the target's: (n, d)."""
    return np.asarray(inputs @ matrix[:, :-1].T + matrix[:, -1])


def transfer(model: Model, source: Dataset, target: Dataset) -> tuple[Model, Transfer]:
    """The source's model for the target sensor; a transfer it has already comes after the new one.

    The map adds errors of its own, and without a reference nobody knows how large they are. So the model has
    no interval; `adapt` measures one.
    """
    fitted = fit_map(source, target)
    matrix = fitted.matrix if model.transfer is None else _after(model.transfer, fitted.matrix)
    moved = replace(
        model,
        sensor=target.sensor,
        transfer=matrix,
        interval=None,
        provenance=export.without_interval(model.provenance),
        cadence_minutes=target.cadence_minutes,
        id="",
    )
    return moved, fitted


def _after(second: Array, first: Array) -> Array:
    """One map for two in a row: second(first(x))."""
    composed = second[:, :-1] @ first
    composed[:, -1] += second[:, -1]
    return np.asarray(composed)


def _span(dataset: Dataset) -> str:
    if not len(dataset):
        return f"{dataset.name} has none"
    first, last = format_time(int(dataset.start_ms[0])), format_time(int(dataset.start_ms[-1]))
    return f"{dataset.name} is from {first} to {last}"
