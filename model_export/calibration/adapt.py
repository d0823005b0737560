"""The 1D adapter: a gain and an offset on the estimates, for a site or season whose scale has shifted."""

from dataclasses import replace

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from model_export.calibration.interval import LEVEL, forward_conformal
from model_export.recordings.dataset import Dataset, require_windows
from model_export.regression.metrics import varies

MIN_WINDOWS = 20  # two numbers are learnt, and the interval needs some residuals


def learn(estimate: Array, reference: Array) -> tuple[float, float]:
    """The gain and offset of least squares: reference ≈ gain·estimate + offset.

    Estimates that never change, as those of a tree far from what it has seen, have no gain to learn.

    >>> import numpy as np
    >>> learn(np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, 7.0]))
    (2.0, 1.0)
    >>> learn(np.full(997, 0.1), np.full(997, 2.0))
    (0.0, 2.0)
    """
    if not varies(estimate):
        return 0.0, float(reference.mean())
    centred = estimate - estimate.mean()
    gain = float(centred @ reference) / float(centred @ centred)
    return gain, float(reference.mean() - gain * estimate.mean())


def adapt(model: Model, dataset: Dataset) -> Model:
    """The model with an adapter learnt from the dataset, on top of the one it may have already.

    The old interval says nothing about the new place, so it is learnt again from the same windows.
    """
    require_windows(dataset, MIN_WINDOWS)
    estimate = model.predict(dataset.inputs, dataset.auxiliary)
    if not varies(estimate):
        raise BadRecording(f"{dataset.name}: expected estimates that vary, got {estimate[0]:g} throughout")
    gain, offset = learn(estimate, dataset.target)
    old_gain, old_offset = model.adapter
    return replace(
        model,
        adapter=(gain * old_gain, gain * old_offset + offset),
        interval=forward_conformal(
            dataset,
            lambda before, held: _adapted(model, before, held),
            level=model.interval.level if model.interval else LEVEL,
        ),
        id="",
    )


def _adapted(model: Model, before: Dataset, held: Dataset) -> Array:
    gain, offset = learn(model.predict(before.inputs, before.auxiliary), before.target)
    return gain * model.predict(held.inputs, held.auxiliary) + offset
