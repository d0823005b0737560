"""The adapter: a gain and an offset on the estimates, for a site or season with another scale."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from model_export.calibration import export
from model_export.calibration.interval import DAY_MS, LEVEL, coverage, leave_out, measured
from model_export.recordings.dataset import Dataset, require_windows
from model_export.regression.metrics import varies

MIN_WINDOWS = 20  # for two parameters, and residuals for the interval
TEMPER = 10.0  # windows that say as much as one: neighbours repeat each other


@dataclass(frozen=True, slots=True)
class Adapting:
    """How an adapter is fitted; both None is plain least squares, as in the paper."""

    half_life_days: float | None = 7.0  # a window counts half as much as one that is so many days younger
    gain_spread: float | None = 0.5  # the gain is expected at 1 ± this; None: anywhere


PLAIN = Adapting(None, None)


def fit_adapter(
    estimate: Array, reference: Array, start_ms: NDArray[np.int64] | None = None, how: Adapting = PLAIN
) -> tuple[float, float]:
    """The gain and offset of weighted least squares: reference ≈ gain·estimate + offset.

    The gain is the mean of its posterior: with S the weighted sums of squares around the means and s² the
    residual variance, gain = (S_ey + k) / (S_ee + k) with k = TEMPER·s² / gain_spread². Estimates that never
    change, such as those of a tree far from its training data, give a gain of 0.

    >>> fit_adapter(np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, 7.0]))
    (2.0, 1.0)
    >>> gain, offset = fit_adapter(np.full(997, 0.1), np.full(997, 2.0))
    >>> gain, round(offset, 12)
    (0.0, 2.0)
    """
    weight = _weights(estimate, start_ms, how)
    centre, level = float(weight @ estimate), float(weight @ reference)
    if not varies(estimate):
        return 0.0, level
    there, here = estimate - centre, reference - level
    squares, products = float(weight @ there**2), float(weight @ (there * here))
    gain = products / squares
    if how.gain_spread is not None:
        left = float(weight @ (here - gain * there) ** 2)
        pull = TEMPER * left / how.gain_spread**2 * float(weight @ weight)
        gain = (products + pull) / (squares + pull)
    return gain, level - gain * centre


def adapt(model: Model, dataset: Dataset, how: Adapting | None = None) -> Model:
    """The model with an adapter fitted to the dataset, applied after the one it may have already.

    The old interval does not hold at the new place, so a new one is measured on the same windows.
    """
    how = how or Adapting()
    require_windows(dataset, MIN_WINDOWS)
    estimate = model.predict(dataset.inputs, dataset.auxiliary)
    if not varies(estimate):
        raise BadRecording(f"{dataset.name}: expected estimates that vary, got {estimate[0]:g} throughout")
    gain, offset = fit_adapter(estimate, dataset.target, dataset.start_ms, how)
    old_gain, old_offset = model.adapter
    held = leave_out(dataset, lambda kept, left: _adapted(model, kept, left, how))
    interval = measured(held, model.interval.level if model.interval else LEVEL)
    shares = {name: coverage(part, interval) for name, part in held.items()}
    return replace(
        model,
        adapter=(gain * old_gain, gain * old_offset + offset),
        interval=interval,
        provenance=export.without_interval(model.provenance) | export.covered(shares),
        id="",
    )


def _adapted(model: Model, kept: Dataset, left: Dataset, how: Adapting) -> Array:
    known = model.predict(kept.inputs, kept.auxiliary)
    gain, offset = fit_adapter(known, kept.target, kept.start_ms, how)
    return np.asarray(gain * model.predict(left.inputs, left.auxiliary) + offset)


def _weights(estimate: Array, start_ms: NDArray[np.int64] | None, how: Adapting) -> Array:
    """They fall with age, and add up to 1."""
    if start_ms is None or how.half_life_days is None:
        return np.full(len(estimate), 1.0 / len(estimate))
    weight = 0.5 ** ((start_ms[-1] - start_ms) / (how.half_life_days * DAY_MS))
    return np.asarray(weight / weight.sum())
