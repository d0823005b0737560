"""The agent's position over the last day, from the settings or from fixes; time comes in as an argument."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from edge_agent.core.errors import BadReading
from edge_agent.core.messages import UNSTAMPED, parse_at, parse_number, parse_payload
from edge_agent.core.places import Place, Position, Site, distance_m, site_at
from edge_agent.core.windows import Outcome, average

SLOT_MS = 10_000  # one fix for each: a GPS receiver sends every second, and an SD card is the disk
REACH_MS = 86_400_000  # a sensor may deliver a day late
MOST = REACH_MS // SLOT_MS  # the last to arrive, which may be a backlog of any age
MOST_PLACES = 100  # a day of windows
MAX_BYTES = 8_192
MAX_KMH = 2_000.0
TOPIC = "position"  # for error texts
_time = itemgetter(0)  # of a fix; its speed may be None, which cannot be compared


class Fix(NamedTuple):
    """One position at one time."""

    at_ms: int
    lat: float
    lon: float
    speed_kmh: float | None


def decode_fix(payload: bytes) -> Fix:
    """The fix of a message, our own or OwnTracks'; BadReading and no other error if it is none.

    >>> decode_fix(b'{"lat": 52.5, "lon": 13.4, "at": "2024-02-01T10:15:30Z"}')
    Fix(at_ms=1706782530000, lat=52.5, lon=13.4, speed_kmh=None)
    >>> decode_fix(b'{"_type": "location", "lat": 52.5, "lon": 13.4, "tst": 1706782530, "vel": 30}')
    Fix(at_ms=1706782530000, lat=52.5, lon=13.4, speed_kmh=30.0)
    """
    if len(payload) > MAX_BYTES:
        raise BadReading(f"{TOPIC}: expected at most {MAX_BYTES} bytes, got {len(payload)}", "size")
    record = parse_payload(TOPIC, payload)
    if not isinstance(record, dict):
        raise BadReading(f"{TOPIC}: expected a map with lat and lon, got a number", "map")
    if record.get("_type", "location") != "location":
        raise BadReading(f"{TOPIC}: expected OwnTracks' _type location, got another", "type")
    at, speed = ("tst", "vel") if "_type" in record else ("at", "speed_kmh")
    lat, lon = _between(record, "lat", -90.0, 90.0), _between(record, "lon", -180.0, 180.0)
    if lat == lon == 0.0:
        raise BadReading(f"{TOPIC}: expected a position, got 0, 0: the receiver has no fix", "position")
    # A phone that does not know its speed says -1.
    slow = record.get(speed) is None or record.get(speed) == -1
    kmh = None if slow else _between(record, speed, 0.0, MAX_KMH)
    return Fix(parse_at(TOPIC, record.get(at), UNSTAMPED), lat, lon, kmh)


def _between(record: dict[Any, Any], name: str, low: float, high: float) -> float:
    value = parse_number(TOPIC, record.get(name), record.get(name))
    if not low <= value <= high:
        raise BadReading(f"{TOPIC}: expected {name} from {low:g} to {high:g}, got {value:g}", "range")
    return value + 0.0  # SQLite stores -0.0 as 0.0, which has another checksum


class Positions:
    """Where the agent was in each window of the last day.

    >>> positions = Positions(sites=[Site("T", 52.0, 13.0, 100.0)])
    >>> positions.add(Fix(60_000, 52.0, 13.0, 0.0), now_ms=61_000)
    <Outcome.ACCEPTED: 'accepted'>
    >>> positions.place(0, 900_000)
    Place(position=Position(lat=52.0, lon=13.0, spread_m=0.0, speed_kmh=0.0, fixes=1), site='T', moving=False)
    """

    def __init__(
        self,
        sites: Iterable[Site] = (),
        fixed: Place | None = None,
        moving_kmh: float = 5.0,
        moving_m: float = 100.0,
        hold_ms: int = 3_600_000,
        future_ms: int = 300_000,
        most: int = MOST,
    ) -> None:
        """A `fixed` place needs no fixes; its site may come from `sites`. The last `most` fixes are kept.

        The last fix holds for `hold_ms` if no other comes, because a parked phone sends nothing.
        """
        self.newest: Fix | None = None
        self.sites = tuple(sites)
        self._fixed = fixed and self._named(fixed)
        self._moving_kmh, self._moving_m = moving_kmh, moving_m
        self._hold_ms, self._future_ms, self._most = hold_ms, future_ms, most
        self._fixes: dict[int, Fix] = {}  # by at_ms // SLOT_MS
        self._places: dict[tuple[int, int], Place] = {}  # since the last fix: many sensors ask at once

    def add(self, fix: Fix, now_ms: int, trusted: bool = True) -> Outcome:
        """Keep a fix, the first of its ten seconds; `trusted` says whether now_ms may reject it."""
        if trusted:
            if fix.at_ms > now_ms + self._future_ms:
                return Outcome.FUTURE
            if self.newest and self.newest.at_ms > now_ms + self._future_ms:
                self._forget_after(now_ms + self._future_ms)
        slot = fix.at_ms // SLOT_MS
        if slot in self._fixes:
            return Outcome.DUPLICATE
        self._fixes[slot] = fix
        self._places.clear()
        if len(self._fixes) > self._most:
            del self._fixes[next(iter(self._fixes))]
        self.newest = max(self.newest or fix, fix, key=_time)
        return Outcome.ACCEPTED

    def _forget_after(self, last_ms: int) -> None:
        """Fixes from the future, accepted without a clock."""
        self._fixes = {slot: fix for slot, fix in self._fixes.items() if fix.at_ms <= last_ms}
        self.newest = max(self._fixes.values(), key=_time, default=None)

    def place(self, start_ms: int, end_ms: int) -> Place:
        """The place of the window [start, end)."""
        if self._fixed:
            return self._fixed
        if (start_ms, end_ms) not in self._places:
            if len(self._places) >= MOST_PLACES:
                self._places.clear()
            self._places[start_ms, end_ms] = self._placed(start_ms, end_ms)
        return self._places[start_ms, end_ms]

    def _placed(self, start_ms: int, end_ms: int) -> Place:
        slots = range(start_ms // SLOT_MS, -(-end_ms // SLOT_MS))
        found = [self._fixes[slot] for slot in slots if slot in self._fixes]
        fixes = [fix for fix in found if start_ms <= fix.at_ms < end_ms]
        position = _mean(fixes) if fixes else self._held(start_ms)
        if position is None:
            return Place()
        moving = (position.spread_m or 0.0) > self._moving_m or (position.speed_kmh or 0.0) > self._moving_kmh
        return self._named(Place(position, None, moving))

    def _held(self, start_ms: int) -> Position | None:
        """The last fix before a window, unless it is too old or was on the way."""
        first = (start_ms - self._hold_ms) // SLOT_MS
        for slot in range((start_ms - 1) // SLOT_MS, first, -1):
            if fix := self._fixes.get(slot):
                parked = (fix.speed_kmh or 0.0) <= self._moving_kmh
                return Position(round(fix.lat, 7), round(fix.lon, 7), None, None, 0) if parked else None
        return None

    def _named(self, place: Place) -> Place:
        if place.site or not place.position:
            return place
        return place._replace(site=site_at(place.position.lat, place.position.lon, self.sites))


def _mean(fixes: Sequence[Fix]) -> Position:
    """The mean of the minutes' means, as for readings: many fixes in one minute count as one."""
    lons = {fix.at_ms: fix.lon for fix in fixes}
    if max(lons.values()) - min(lons.values()) > 180.0:  # on both sides of the date line
        lons = {at_ms: lon % 360.0 for at_ms, lon in lons.items()}
    lat = average({fix.at_ms: fix.lat for fix in fixes}).mean
    lon = (average(lons).mean + 180.0) % 360.0 - 180.0
    spread_m = max(distance_m(lat, lon, fix.lat, fix.lon) for fix in fixes)
    fastest = max((fix.speed_kmh for fix in fixes if fix.speed_kmh is not None), default=None)
    kmh = None if fastest is None else round(fastest, 1)
    return Position(round(lat, 7), round(lon, 7), round(spread_m, 1), kmh, len(fixes))
