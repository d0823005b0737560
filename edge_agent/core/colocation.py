"""A reference beside the van: how well the estimates agree with it, over its last day."""

from collections.abc import Collection
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any, NamedTuple

from edge_agent.core.messages import Estimate, format_time
from edge_agent.core.units import Conditions, PublishUnit
from edge_agent.core.windows import COVERAGE, ChannelMean

DAY_MS = 86_400_000
FEWEST = 4  # windows; the figures of fewer say nothing
USED = (1, 3)  # qualities


class Shared(NamedTuple):
    """What most estimates of a sensor have in common."""

    gas: str
    unit: str
    model: str
    level: float | None
    length_ms: int


class Kept(NamedTuple):
    """What is compared of an estimate; a day of whole ones would need several times the memory."""

    value: float
    low: float | None
    high: float | None
    shared: Shared


class Judged(NamedTuple):
    """A window in which both the reference and the sensor have a value."""

    reference: float  # in the unit of the estimate
    minutes: int  # of the reference
    estimate: Kept


@dataclass(frozen=True, slots=True)
class Score:
    """The agreement of one sensor with the reference; `bias` is the mean of estimate - reference."""

    sensor: str
    gas: str
    from_ms: int
    to_ms: int
    windows: int
    unit: str
    bias: float
    rmse: float
    r2: float | None  # None where the reference does not change
    coverage: float | None  # share of references in the interval; None without intervals
    level: float | None
    model: str


class Colocation:
    """Windows of the reference and estimates of the same windows; each day ends with its newest.

    >>> colocation = Colocation("ppm")
    >>> colocation.add_reference("co", 0, ChannelMean(0.8, 15, 15, 0.7, 0.9))
    >>> colocation.scores()
    []
    """

    def __init__(self, unit: str, conditions: Conditions | None = None) -> None:
        """`unit` is that of the reference."""
        self._unit, self._conditions = unit, conditions or Conditions()
        self._references: dict[str, dict[int, ChannelMean]] = {}  # gas -> start -> mean
        self._estimates: dict[str, dict[int, Kept]] = {}  # sensor -> start -> newest revision
        self._judged: dict[str, dict[int, Judged]] = {}  # sensor -> start -> both
        self._scores: dict[str, Score | None] = {}  # those whose windows have not changed since

    def add_reference(self, gas: str, start_ms: int, mean: ChannelMean) -> None:
        """A window of the reference has closed."""
        _keep_a_day(self._references.setdefault(gas, {}), start_ms, mean)
        for sensor, estimates in self._estimates.items():
            if kept := estimates.get(start_ms):
                self._judge(sensor, start_ms, kept)

    def add_estimate(self, estimate: Estimate) -> None:
        """A window of a sensor has closed or was revised."""
        sensor, start_ms = estimate.sensor, estimate.start_ms
        estimates = self._estimates.setdefault(sensor, {})
        kept = _kept(estimate, next(reversed(estimates.values()), None))
        if kept is None:
            estimates.pop(start_ms, None)
        else:
            _keep_a_day(estimates, start_ms, kept)
        self._judge(sensor, start_ms, kept)

    def _judge(self, sensor: str, start_ms: int, kept: Kept | None) -> None:
        judged = self._judged.setdefault(sensor, {})
        judged.pop(start_ms, None)
        self._scores.pop(sensor, None)
        if kept is None:
            return
        gas, unit, *_ = kept.shared
        mean = self._references.get(gas.lower(), {}).get(start_ms)
        factor = PublishUnit(unit, self._conditions).factor(gas, self._unit)
        if mean is not None and factor is not None:
            _keep_a_day(judged, start_ms, Judged(mean.mean * factor, mean.minutes, kept))

    def scores(self) -> list[Score]:
        """The scores of all sensors with enough windows, by name."""
        for sensor in self._judged.keys() - self._scores.keys():
            used = self._used(self._judged[sensor])
            self._scores[sensor] = self._score(sensor, used) if len(used) >= FEWEST else None
        return [score for _, score in sorted(self._scores.items()) if score]

    def _used(self, judged: dict[int, Judged]) -> dict[int, Judged]:
        """The windows of the newest model with enough minutes of the reference.

        How often it sends is not known, so its fullest window shows how many minutes to expect.
        """
        if not judged:
            return {}
        newest = judged[max(judged)].estimate.shared
        needed = COVERAGE * max(each.minutes for each in judged.values())
        return {
            start_ms: each
            for start_ms, each in judged.items()
            if each.minutes >= needed
            and (each.estimate.shared.model, each.estimate.shared.unit) == (newest.model, newest.unit)
        }

    def _score(self, sensor: str, used: dict[int, Judged]) -> Score:
        newest = used[max(used)].estimate.shared
        figures = _figures(used.values())
        return Score(
            sensor,
            newest.gas,
            min(used),
            max(used) + newest.length_ms,
            len(used),
            newest.unit,
            *figures,
            newest.level,
            newest.model,
        )


def score_record(score: Score, agent: str) -> dict[str, Any]:
    """A score as the map of the wire contract."""
    return {
        "v": 1,
        "agent": agent,
        "sensor": score.sensor,
        "gas": score.gas,
        "from": format_time(score.from_ms),
        "to": format_time(score.to_ms),
        "windows": score.windows,
        "bias": round(score.bias, 9),
        "rmse": round(score.rmse, 9),
        "unit": score.unit,
        "r2": None if score.r2 is None else round(score.r2, 6),
        "coverage": None if score.coverage is None else round(score.coverage, 6),
        "level": score.level,
        "model": score.model,
    }


def _figures(used: Collection[Judged]) -> tuple[float, float, float | None, float | None]:
    """Bias, RMSE, R² = 1 - Σ(y - ŷ)² / Σ(y - ȳ)², and coverage."""
    count = len(used)
    errors = [each.estimate.value - each.reference for each in used]
    centre = fsum(each.reference for each in used) / count
    squares = fsum(error * error for error in errors)
    spread = fsum((each.reference - centre) ** 2 for each in used)
    within = [
        kept.low <= reference <= kept.high
        for reference, _, kept in used
        if kept.low is not None and kept.high is not None
    ]
    r2 = 1.0 - squares / spread if spread > 1e-18 * (count * centre * centre) else None
    return fsum(errors) / count, sqrt(squares / count), r2, sum(within) / len(within) if within else None


def _kept(estimate: Estimate, before: Kept | None) -> Kept | None:
    """What is compared of an estimate, None for one that says nothing; `before` is another of the sensor."""
    if estimate.value is None or estimate.quality not in USED or estimate.clock != "synchronised":
        return None
    names = estimate.gas or "", estimate.unit or "", estimate.model or ""
    shared = Shared(*names, estimate.level, estimate.end_ms - estimate.start_ms)
    if before and before.shared == shared:
        shared = before.shared
    return Kept(estimate.value, estimate.low, estimate.high, shared)


def _keep_a_day(windows: dict[int, Any], start_ms: int, value: Any) -> None:
    """Add a window, and drop those that start a day before the newest."""
    windows[start_ms] = value
    oldest_ms = max(windows) - DAY_MS
    for old in [each for each in windows if each <= oldest_ms]:
        del windows[old]
