"""The rows on positions."""

from math import radians
from typing import Any

from edge_agent.core.messages import format_time
from tests.docs.laws import Law, Pair, Record, each
from tests.support.contract import Session
from tests.support.contract_sent import FIXES, MINUTE_MS

EARTH_M = 6_371_008.8
HOLD = 60  # minutes
COUNTS = {"accepted": len(FIXES), "duplicate": 1, "future": 1, "rejected": 2, "unstampable": 1}
NEWEST = FIXES[-1]


def expected_position(number: int) -> dict[str, Any] | None:
    """The position of a window, from the fixes that were sent; all of one window have the same longitude."""
    inside = [fix for fix in FIXES if number * 15 <= fix[0] < number * 15 + 15]
    before = [fix for fix in FIXES if number * 15 - HOLD < fix[0] < number * 15]
    if inside:
        lat = round(sum(lat for _, lat, _, _ in inside) / len(inside), 7)
        spread_m = max(EARTH_M * radians(abs(fix[1] - lat)) for fix in inside)
        kmh = max((speed for *_, speed in inside if speed is not None), default=None)
        return _position(lat, inside[0][2], round(spread_m, 1), kmh, len(inside))
    if before and (before[-1][3] or 0.0) <= 5.0:
        return _position(before[-1][1], before[-1][2], None, None, 0)
    return None


def _position(
    lat: float, lon: float, spread_m: float | None, kmh: float | None, fixes: int
) -> dict[str, Any]:
    return {"lat": lat, "lon": lon, "spread_m": spread_m, "speed_kmh": kmh, "fixes": fixes}


def expected_site(number: int) -> str | None:
    """T is at 52.5, 13.4, with a radius of 100 m, which is 0.0009 degrees of latitude."""
    position = expected_position(number)
    here = position and abs(position["lat"] - 52.5) < 0.0009 and position["lon"] == 13.4
    return "T" if here else None


def _placed(told: Session) -> list[Record]:
    return [e for e in told.estimates("5A2D") if e["position"]]


def _field(name: str) -> Law:
    def pair(told: Session, record: Record) -> Pair:
        expected = expected_position(told.number(record["start"]))
        return record["position"][name], expected and expected[name]

    return each(_placed, pair)


def _published(name: str, expected: Any) -> Law:
    return lambda told: (told.of("position")[-1][name], expected)


def newest_at(told: Session) -> str:
    return format_time(told.base_ms + NEWEST[0] * MINUTE_MS)


def _count(outcome: str) -> Law:
    return lambda told: (told.health["position"]["fixes"][outcome], COUNTS[outcome])


OUTCOMES = {outcome: _count(outcome) for outcome in COUNTS}
POSITION = {name: _field(name) for name in ("lat", "lon", "spread_m", "speed_kmh", "fixes")}
PUBLISHED: dict[str, Law] = {
    "v": _published("v", 1),
    "agent": _published("agent", "van-1"),
    "lat": _published("lat", NEWEST[1]),
    "lon": _published("lon", NEWEST[2]),
    "speed_kmh": _published("speed_kmh", NEWEST[3]),
    "elevation_m": _published("elevation_m", None),
    "site": _published("site", "T"),
    "at": lambda told: (told.of("position")[-1]["at"], newest_at(told)),
}
