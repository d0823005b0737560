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


class Judged(NamedTuple):
    """A window in which both the reference and the sensor have a value, in the unit of the estimate."""

    reference: float
    minutes: int  # of the reference
    value: float
    low: float | None
    high: float | None
    level: float | None
    unit: str
    model: str


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
        self._estimates: dict[str, dict[int, Estimate]] = {}  # sensor -> start -> newest revision
        self._judged: dict[str, dict[int, Judged]] = {}  # sensor -> start -> both
        self._ends: dict[str, tuple[str, int]] = {}  # sensor -> gas, length of a window

    def add_reference(self, gas: str, start_ms: int, mean: ChannelMean) -> None:
        """A window of the reference has closed."""
        _keep_a_day(self._references.setdefault(gas, {}), start_ms, mean)
        for estimates in self._estimates.values():
            if estimate := estimates.get(start_ms):
                self._judge(estimate)

    def add_estimate(self, estimate: Estimate) -> None:
        """A window of a sensor has closed or was revised."""
        _keep_a_day(self._estimates.setdefault(estimate.sensor, {}), estimate.start_ms, estimate)
        self._judge(estimate)

    def _judge(self, estimate: Estimate) -> None:
        judged = self._judged.setdefault(estimate.sensor, {})
        judged.pop(estimate.start_ms, None)
        mean = self._references.get((estimate.gas or "").lower(), {}).get(estimate.start_ms)
        if mean is None or (found := self._both(estimate, mean)) is None:
            return
        self._ends[estimate.sensor] = estimate.gas or "", estimate.end_ms - estimate.start_ms
        _keep_a_day(judged, estimate.start_ms, found)

    def _both(self, estimate: Estimate, mean: ChannelMean) -> Judged | None:
        gas, unit = estimate.gas or "", estimate.unit or ""
        factor = PublishUnit(unit, self._conditions).factor(gas, self._unit)
        if estimate.value is None or factor is None or estimate.quality not in USED:
            return None
        if estimate.clock != "synchronised":
            return None
        interval = estimate.low, estimate.high, estimate.level
        return Judged(mean.mean * factor, mean.minutes, estimate.value, *interval, unit, estimate.model or "")

    def scores(self) -> list[Score]:
        """The scores of all sensors with enough windows, by name."""
        found = ((sensor, self._used(judged)) for sensor, judged in sorted(self._judged.items()))
        return [self._score(sensor, used) for sensor, used in found if len(used) >= FEWEST]

    def _used(self, judged: dict[int, Judged]) -> dict[int, Judged]:
        """The windows of the newest model with enough minutes of the reference.

        How often it sends is not known, so its fullest window shows how many minutes to expect.
        """
        if not judged:
            return {}
        newest, needed = judged[max(judged)], COVERAGE * max(each.minutes for each in judged.values())
        return {
            start_ms: each
            for start_ms, each in judged.items()
            if each.minutes >= needed and (each.model, each.unit) == (newest.model, newest.unit)
        }

    def _score(self, sensor: str, used: dict[int, Judged]) -> Score:
        gas, length_ms = self._ends[sensor]
        newest = used[max(used)]
        figures = _figures(used.values())
        return Score(
            sensor,
            gas,
            min(used),
            max(used) + length_ms,
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
    errors = [each.value - each.reference for each in used]
    centre = fsum(each.reference for each in used) / count
    squares = fsum(error * error for error in errors)
    spread = fsum((each.reference - centre) ** 2 for each in used)
    within = [
        each.low <= each.reference <= each.high
        for each in used
        if each.low is not None and each.high is not None
    ]
    r2 = 1.0 - squares / spread if spread > 1e-18 * (count * centre * centre) else None
    return fsum(errors) / count, sqrt(squares / count), r2, sum(within) / len(within) if within else None


def _keep_a_day(windows: dict[int, Any], start_ms: int, value: Any) -> None:
    """Add a window, and drop those that start a day before the newest."""
    windows[start_ms] = value
    oldest_ms = max(windows) - DAY_MS
    for old in [each for each in windows if each <= oldest_ms]:
        del windows[old]
