"""The adapter: a gain and an offset on the estimates, for a site or season with another scale."""

from dataclasses import replace

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from model_export.calibration.interval import LEVEL, forward_conformal
from model_export.recordings.dataset import Dataset, require_windows
from model_export.regression.metrics import varies

MIN_WINDOWS = 20  # for two parameters, and residuals for the interval


def fit_adapter(estimate: Array, reference: Array) -> tuple[float, float]:
    """The gain and offset of least squares: reference ≈ gain·estimate + offset.

    Estimates that never change, such as those of a tree far from its training data, give a gain of 0.

    >>> import numpy as np
    >>> fit_adapter(np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, 7.0]))
    (2.0, 1.0)
    >>> fit_adapter(np.full(997, 0.1), np.full(997, 2.0))
    (0.0, 2.0)
    """
    if not varies(estimate):
        return 0.0, float(reference.mean())
    centred = estimate - estimate.mean()
    gain = float(centred @ reference) / float(centred @ centred)
    return gain, float(reference.mean() - gain * estimate.mean())


def adapt(model: Model, dataset: Dataset) -> Model:
    """The model with an adapter fitted to the dataset, applied after the one it may have already.

    The old interval does not hold at the new place, so a new one is measured on the same windows.
    """
    require_windows(dataset, MIN_WINDOWS)
    estimate = model.predict(dataset.inputs, dataset.auxiliary)
    if not varies(estimate):
        raise BadRecording(f"{dataset.name}: expected estimates that vary, got {estimate[0]:g} throughout")
    gain, offset = fit_adapter(estimate, dataset.target)
    old_gain, old_offset = model.adapter
    return replace(
        model,
        adapter=(gain * old_gain, gain * old_offset + offset),
        interval=forward_conformal(
            dataset,
            lambda before, after: _adapted(model, before, after),
            level=model.interval.level if model.interval else LEVEL,
        ),
        id="",
    )


def _adapted(model: Model, before: Dataset, after: Dataset) -> Array:
    gain, offset = fit_adapter(model.predict(before.inputs, before.auxiliary), before.target)
    return gain * model.predict(after.inputs, after.auxiliary) + offset
