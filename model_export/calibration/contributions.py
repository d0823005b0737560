"""What each of several recordings of one sensor adds to its calibration.

The fit is repeated without each of them. Recordings of other sites and seasons, with other temperatures and
other air, mostly help as much as an adapter does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.errors import RespireError
from edge_agent.core.kernel import Array
from model_export.calibration.fit import Fit, FitResult, Recipe, Source, chosen
from model_export.recordings.dataset import MIN_WINDOWS, Dataset, windows
from model_export.recordings.tables import read
from model_export.regression.metrics import r2


@dataclass(frozen=True, slots=True)
class Contribution:
    """One recording; R² is NaN where there is nothing to judge, or too little to fit."""

    name: str
    n_train: int
    coldest: float
    warmest: float
    r2_by_others: float  # on its train windows, of a fit to the other recordings
    r2_test: float
    r2_test_without: float


def contributions(
    paths: Sequence[Path], result: FitResult, source: Source, recipe: Recipe
) -> list[Contribution]:
    """One for each recording; none for a single one, and none with the paper's tuning, which takes long."""
    if len(paths) < 2 or recipe.tuning == "folds":
        return []
    fit_to, train = chosen(result.train, recipe), result.train
    starts = [(path.name, _starts_ms(path, train, source)) for path in paths]
    return [
        _contribution(name, np.isin(train.start_ms, own), result, fit_to)
        for name, own in starts
        if np.isin(train.start_ms, own).any()
    ]


def in_words(one: Contribution) -> str:
    """One line for a terminal."""
    return (
        f"{one.name}: {one.n_train} train windows, {one.coldest:.0f} to {one.warmest:.0f} °C; "
        f"R² of the other recordings on it {one.r2_by_others:.2f}; "
        f"R² on the test part {one.r2_test:.2f}, without it {one.r2_test_without:.2f}"
    )


def _starts_ms(path: Path, like: Dataset, source: Source) -> NDArray[np.int64]:
    """The windows of one file; none if it is no recording by itself."""
    channels = [name for name in like.channels if name not in like.warming]
    try:
        alone = read([path], like.sensor, source.layout, channels)
        return windows(alone, like.unit, source.reference, source.window_ms).start_ms
    except RespireError:
        return np.empty(0, dtype=np.int64)


def _contribution(name: str, own: NDArray[np.bool_], result: FitResult, fit_to: Fit) -> Contribution:
    train, test, fitted = result.train, result.test, result.calibration.fitted
    mine, others = train.part(own), train.part(~own)
    by_others = without = np.nan
    if len(others) >= MIN_WINDOWS:
        rest = fit_to(others)
        by_others = r2(mine.target, rest.predict(mine.inputs, mine.auxiliary))
        without = _test_r2(test, rest.predict(test.inputs, test.auxiliary))
    return Contribution(
        name,
        len(mine),
        float(mine.auxiliary.min()),
        float(mine.auxiliary.max()),
        float(by_others),
        _test_r2(test, fitted.predict(test.inputs, test.auxiliary)),
        without,
    )


def _test_r2(test: Dataset, estimate: Array) -> float:
    return r2(test.target, estimate) if len(test) else float("nan")
