"""One fitted method on every recording that it can be tested on: the rows of the results table.

kind      train, or site and season of source and target: SS, SX, XS, XX (S same, X other)
scenario  S1, S2: the source sensor, without and with adapter. S3, S4, S5: another sensor, as it is, with
          transfer, and with transfer and adapter (paper, "Sensor-to-Sensor Transfer Experiments").
          S3a is ours: another sensor with adapter only, for sensors that were never side by side.

Adapter and transfer are fitted to the train part of the target's dataset. Every row is about its test part,
except those of kind train.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any

import numpy as np

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from model_export.calibration import adapt, transfer
from model_export.calibration.fit import evaluate
from model_export.recordings.catalogue import Member
from model_export.recordings.dataset import Dataset
from model_export.recordings.names import Place
from model_export.regression.metrics import Score, r2, score

RESPIRE, RESPIRE_PAPER = "RESPIRE", "RESPIRE-paper"
TRANSFERS = ("SX", "XS", "XX")
KINDS = ("train", "SS", *TRANSFERS)
TRIMMED = 0.05  # share of test windows that the paper leaves out to show the cost of outliers

NONE = Score(0, nan, nan, nan, nan)  # no interval
Estimator = Callable[[Array, Array], Array]  # channels (n, d), temperatures (n,) -> estimates (n,)
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FittedMethod:
    """One method fitted to one train part; `details` are what only some methods have.

    Its input is a recording with the channels of `warming`, see Dataset.warmed.
    """

    predict: Estimator
    parameters: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)
    warming: Mapping[str, int] = field(default_factory=dict)
    model: Model | None = None
    adapting: adapt.Adapting = field(default_factory=adapt.Adapting)


@dataclass(frozen=True, slots=True)
class Judged:
    """Estimates for one target's test part, and the adapter fitted to its train part.

    `scores` are those of the intervals, without and with adapter; NaN where none is promised.
    """

    estimate: Array
    gain: float
    offset: float
    scores: tuple[Score, Score] = (NONE, NONE)

    @property
    def adapted(self) -> Array:
        """The estimates with the adapter."""
        return self.gain * self.estimate + self.offset


def kind(source: Place, target: Place) -> str:
    """S or X for the site, S or X for the season.

    >>> kind(Place("5A2D", "T", "W"), Place("5A2D", "T", "S"))
    'SX'
    """
    site = "S" if source.site == target.site else "X"
    return site + ("S" if source.season == target.season else "X")


def trimmed_r2(reference: Array, estimate: Array, share: float) -> float:
    """R² without the share of windows that have the largest errors.

    >>> trimmed_r2(np.array([1.0, 2.0, 3.0, 9.0]), np.array([1.0, 2.0, 3.0, 0.0]), 0.25)
    1.0
    """
    kept = len(reference) - round(share * len(reference))
    nearest = np.argsort(np.abs(reference - estimate), kind="stable")[:kept]
    return r2(reference[nearest], estimate[nearest])


def judge(method: FittedMethod, target: Member, matrix: Array | None = None, own: bool = False) -> Judged:
    """The estimates for a target, with a transfer if one is given; `own` if it is the sensor's own."""

    def estimates(part: Dataset) -> Array:
        inputs = part.inputs if matrix is None else transfer.apply(matrix, part.inputs)
        return method.predict(inputs, part.auxiliary)

    here = target.train
    gain, offset = adapt.fit_adapter(estimates(here), here.target, here.start_ms, method.adapting)
    return Judged(estimates(target.test), gain, offset, _interval_scores(method, target, matrix, own))


def _interval_scores(
    method: FittedMethod, target: Member, matrix: Array | None, own: bool
) -> tuple[Score, Score]:
    """Those of a model with an interval; only a sensor's own model promises one without adapter."""
    model = method.model
    if model is None or model.interval is None or len(target.train) < adapt.MIN_WINDOWS:
        return NONE, NONE
    moved = replace(model, transfer=matrix) if own else replace(model, transfer=matrix, interval=None)
    try:
        adapted = evaluate(adapt.adapt(moved, target.train, method.adapting), target.test)
    except BadRecording:  # estimates that never change
        adapted = NONE
    return evaluate(moved, target.test), adapted


def same_sensor(method: FittedMethod, source: Member, members: Sequence[Member]) -> dict[str, Judged]:
    """Estimates for all datasets of the source's own sensor, by SITE-SEASON."""
    return {
        target.place.dataset: judge(method, target, own=True)
        for target in members
        if target.place.sensor == source.place.sensor and target.comparable(source)
    }


def rows(
    method: FittedMethod, source: Member, members: Sequence[Member], own: Mapping[str, Judged]
) -> Iterator[Row]:
    """Every case of one fitted method; `own` is the result of `same_sensor`."""
    estimate = method.predict(source.train.inputs, source.train.auxiliary)
    yield _row(source, source, "train", "S1", source.train.target, estimate)
    for target in members:
        if not target.comparable(source):
            continue
        if target.place.sensor == source.place.sensor:
            yield from _both(source, target, ("S1", "S2"), own[target.place.dataset])
        else:
            yield from _both(source, target, ("S3", "S3a"), judge(method, target))
            matrix = _map(source, target, members)
            if matrix is not None:
                yield from _both(source, target, ("S4", "S5"), judge(method, target, matrix))


def _both(source: Member, target: Member, scenarios: tuple[str, str], judged: Judged) -> Iterator[Row]:
    where = kind(source.place, target.place)
    estimates = judged.estimate, judged.adapted
    for scenario, estimate, intervals in zip(scenarios, estimates, judged.scores, strict=True):
        yield _row(source, target, where, scenario, target.test.target, estimate, intervals)


def _map(source: Member, target: Member, members: Sequence[Member]) -> Array | None:
    """The transfer from the target's channels to the source sensor's, if they were side by side."""
    beside = Place(source.place.sensor, target.place.site, target.place.season)
    there = next((member for member in members if member.place == beside), None)
    if there is None or not there.comparable(target):
        return None
    try:
        return transfer.fit_map(there.train, target.train).matrix
    except BadRecording:  # too few windows in common, as the paper's 1FEA
        return None


def _row(
    source: Member,
    target: Member,
    case: str,
    scenario: str,
    reference: Array,
    estimate: Array,
    intervals: Score = NONE,
) -> Row:
    agreement = score(reference, estimate)
    return {
        "sensor": source.place.sensor,
        "dataset": source.place.dataset,
        "target_sensor": target.place.sensor,
        "target_dataset": target.place.dataset,
        "gas": source.gas,
        "kind": case,
        "scenario": scenario,
        "adapter": scenario in ("S2", "S3a", "S5"),
        "n": agreement.n,
        "r2": agreement.r2,
        "r2_trimmed": trimmed_r2(reference, estimate, TRIMMED),
        "rmse": agreement.rmse,
        "mae": agreement.mae,
        "bias": agreement.bias,
        "coverage": intervals.coverage,
        "promised": intervals.promised,
        "interval_score": intervals.interval_score,
    }
