"""How well a model fitted to one sensor serves its sisters: the paper's S5 - S2."""

from collections.abc import Sequence
from math import nan

import numpy as np

from edge_agent.core.kernel import Array
from model_export.calibration import transfer
from model_export.calibration.adapt import fit_adapter
from model_export.recordings.dataset import MIN_WINDOWS, Dataset, split
from model_export.regression.form import Fitted, Hyperparameters
from model_export.regression.metrics import r2
from model_export.regression.respire import fit


def s5_minus_s2(source: Dataset, targets: Sequence[Dataset]) -> float:
    """The median of S5 - S2 over the targets, NaN where none shares enough windows.

    S2 is R² on the source's own last windows, with an adapter. S5 is R² on a target's last windows, with a
    transfer of its channels and an adapter. A model that responds to the gas has nearly the same R² in both.
    """
    train, test = split(source)
    if len(train) < MIN_WINDOWS:
        return nan
    fitted = fit(*train.arrays, Hyperparameters())
    own = _adapted(fitted, train.inputs, train, test.inputs, test)
    moved = [score for target in targets if (score := _moved(fitted, train, target)) is not None]
    return float(np.median(moved)) - own if moved else nan


def _moved(fitted: Fitted, source: Dataset, target: Dataset) -> float | None:
    """S5 for one target: the transfer is fitted to common windows, the adapter to the target's first."""
    train, test = split(target)
    if len(np.intersect1d(source.start_ms, train.start_ms)) < MIN_WINDOWS or not len(test):
        return None
    matrix = transfer.fit_map(source, train).matrix
    first, last = transfer.apply(matrix, train.inputs), transfer.apply(matrix, test.inputs)
    return _adapted(fitted, first, train, last, test)


def _adapted(fitted: Fitted, first: Array, train: Dataset, last: Array, test: Dataset) -> float:
    gain, offset = fit_adapter(fitted.predict(first, train.auxiliary), train.target)
    return r2(test.target, gain * fitted.predict(last, test.auxiliary) + offset)
