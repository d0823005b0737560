"""The consensus of a van as a message: which sensors took part in a window, which did not, and why."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edge_agent.core.consensus import FEWEST, combine
from edge_agent.core.derived import Derived
from edge_agent.core.messages import FINAL, LIMIT, PRELIMINARY, Estimate
from edge_agent.core.places import Position
from edge_agent.core.quality import Flag
from edge_agent.core.robust import robust_spread
from edge_agent.core.suspicions import CODES
from edge_agent.core.topics import CONSENSUS
from edge_agent.core.units import Conditions

LATE_SENSOR = "late_sensor"  # the cause of a revision, beside late readings
GAS = "CO"  # in the name of the topic
FEW = 3  # with fewer sensors nobody can say which one is wrong

Kind = tuple[str | None, str | None]  # gas and unit: only values of one kind are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusEstimate(Derived):
    """One estimate of the van for one window, with what is needed to judge it."""

    unit: str | None
    unit_at: Conditions | None
    value: float | None
    low: float | None
    high: float | None
    level: float | None
    spread: float | None
    quality: int
    reasons: tuple[str, ...]
    sensors: Mapping[str, float]  # sensor -> its share
    left_out: Mapping[str, str]  # sensor -> why
    position: Position | None
    site: str | None

    @property
    def series(self) -> str:
        """The name under which the journal has it."""
        return CONSENSUS

    def record(self) -> dict[str, Any]:
        """The map of the wire contract."""
        return {
            "v": 1,
            "gas": self.gas,
            "value": _rounded(self.value),
            "unit": self.unit,
            "unit_at": self.unit_at and self.unit_at._asdict(),
            "low": _rounded(self.low),
            "high": _rounded(self.high),
            "level": self.level,
            "spread": _rounded(self.spread),
            **self.version(),
            "quality": int(self.quality),
            "reasons": list(self.reasons),
            "sensors": {sensor: round(share, 4) for sensor, share in self.sensors.items()},
            "left_out": dict(self.left_out),
            "position": self.position and self.position._asdict(),
            "site": self.site,
            "agent": self.agent,
        }


def consensus_of(estimates: Sequence[Estimate]) -> ConsensusEstimate | None:
    """The consensus of the estimates of one window, of different sensors; None of fewer than two."""
    if len(estimates) < FEWEST:
        return None
    kind = _kind(estimates)
    used, left_out = _admitted(estimates, kind)
    first = next(each for each in used or estimates if (each.gas, each.unit) == kind)
    values = np.array([[each.value for each in used] or [np.nan]], dtype=float)
    levels = [each.level for each in used if each.level is not None]
    combined = combine(values, _half_widths(used), min(levels, default=0.9))
    weights = combined.weights[0, : len(used)].tolist()
    left_out |= {e.sensor: "far_from_others" for e, w in zip(used, weights, strict=True) if w == 0.0}
    shares = {e.sensor: w for e, w in zip(used, weights, strict=True) if w > 0.0}
    value, half = (float(each[0]) if shares else None for each in (combined.value, combined.half_width))
    taking = [each for each in used if each.sensor in shares]
    # With fewer, nobody knows how wrong they may be.
    bounded = sum(each.level is not None for each in taking) >= FEWEST
    quality, reasons = _judged(taking)
    return ConsensusEstimate(
        start_ms=first.start_ms,
        end_ms=first.end_ms,
        agent=first.agent,
        gas=first.gas,
        unit=first.unit,
        unit_at=first.unit_at,
        value=value,
        low=value - half if bounded else None,  # type: ignore[operator]
        high=value + half if bounded else None,  # type: ignore[operator]
        level=min(levels) if bounded else None,
        spread=float(combined.spread[0]) if shares else None,
        quality=quality,
        reasons=reasons,
        sensors=shares,
        left_out=left_out,
        position=first.position,
        site=first.site,
        status=FINAL if all(each.status == FINAL for each in estimates) else PRELIMINARY,
    )


def _admitted(estimates: Sequence[Estimate], kind: Kind) -> tuple[list[Estimate], dict[str, str]]:
    """The estimates to combine, and why the others are left out; none are combined if only one is left."""
    left_out = {each.sensor: why for each in estimates if (why := _unusable(each, kind))}
    used = [each for each in estimates if each.sensor not in left_out]
    doubted = {each.sensor: why for each in used if (why := _suspicion(each))}
    # If too many are doubted, the doubt says more about the rule than about a sensor.
    if len(used) - len(doubted) >= FEWEST:
        left_out |= doubted
        used = [each for each in used if each.sensor not in doubted]
    if len(used) < FEWEST:
        return [], {**left_out, **{each.sensor: "alone" for each in used}}
    return used, left_out


def _kind(estimates: Sequence[Estimate]) -> Kind:
    """The gas and the unit: the gas of the topic if a sensor measures it, or else that of most sensors.

    Estimates without a value count, too: a missing value must not change the gas.
    """
    kinds = Counter((each.gas, each.unit) for each in estimates)
    return max(kinds, key=lambda kind: (kind[0] == GAS, kind[0] is not None, kinds[kind]))


def _unusable(estimate: Estimate, kind: Kind) -> str | None:
    if estimate.value is None:
        return "no_value"
    if estimate.quality == Flag.FAIL or not comparable(estimate):
        return "failed"
    if (estimate.gas, estimate.unit) != kind:
        return "other_unit"
    return "stuck_value" if "stuck_value" in estimate.reasons else None


def comparable(estimate: Estimate) -> bool:
    """Whether it has a value, and its numbers are so small that their squares are finite."""
    ends = (each for each in (estimate.low, estimate.high) if each is not None)
    return estimate.value is not None and all(abs(each) < LIMIT for each in (estimate.value, *ends))


def _suspicion(estimate: Estimate) -> str | None:
    return next((reason for reason in CODES if reason in estimate.reasons), None)


def _half_widths(used: Sequence[Estimate]) -> Any:
    """(1, n), NaN without an interval; if fewer than FEWEST have one, all have the same, as they differ."""
    if not used:
        return np.array([[np.nan]])
    halves = [np.nan if e.low is None or e.high is None else (e.high - e.low) / 2.0 for e in used]
    if np.sum(~np.isnan(halves)) < FEWEST:
        return np.full((1, len(used)), robust_spread(np.array([each.value for each in used], dtype=float)))
    return np.array([halves])


def _judged(used: Sequence[Estimate]) -> tuple[int, tuple[str, ...]]:
    """The quality of a consensus: what more than half of its sensors say, and whether they are enough."""
    if not used:
        return Flag.MISSING, ("too_few_sensors",)
    said = Counter(reason for each in used for reason in each.reasons)
    reasons = [reason for reason, count in said.items() if 2 * count > len(used)]
    reasons += ["few_sensors"] if len(used) < FEW else []
    return Flag.SUSPECT if reasons else Flag.PASS, tuple(reasons)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 9)
