"""Where the agent is: fixed by the settings, or from fixes over MQTT; every fix is counted."""

import json
from collections import Counter
from typing import Any

from edge_agent.clock import Timekeeper
from edge_agent.core.errors import BadReading
from edge_agent.core.messages import UNSTAMPED, format_time
from edge_agent.core.places import Place, Position, Site, site_at
from edge_agent.core.positions import MOST, Fix, Positions, decode_fix
from edge_agent.core.windows import Outcome
from edge_agent.inbox import Message
from edge_agent.settings import Settings

COUNTED = (Outcome.ACCEPTED, Outcome.DUPLICATE, Outcome.FUTURE, "rejected", "unstampable")


class Locator:
    """The agent's position, its counts, and what is published about it."""

    def __init__(self, settings: Settings, most: int = MOST) -> None:
        self._agent, self._settings = settings.agent, settings.position
        self._counts: Counter[str] = Counter()
        self.topic = self._settings.topic  # None: no fixes come
        self.positions = _positions(settings, most)
        self.known = self.topic is not None or self._settings.latitude is not None

    def take(self, message: Message, time: Timekeeper) -> Fix | None:
        """The fix of a message, if it is one to keep; BadReading if it is none."""
        try:
            fix = decode_fix(message.payload)
        except BadReading:
            self._counts["rejected"] += 1
            raise
        if fix.at_ms == UNSTAMPED:
            # When a repeated or retained message was sent is not known.
            if message.dup or message.retain or not time.wall_time_known:
                self._counts["unstampable"] += 1
                return None
            fix = fix._replace(at_ms=message.arrived_ms + time.offset_ms)
        outcome = self.positions.add(fix, time.now_ms, time.trusted)
        self._counts[outcome] += 1
        return fix if outcome is Outcome.ACCEPTED else None

    def restore(self, fixes: list[Fix]) -> None:
        """Continue after a restart with the fixes of the journal."""
        for fix in fixes:
            self.positions.add(fix, now_ms=0, trusted=False)

    def message(self) -> bytes:
        """The newest position as it is published; empty if there is none."""
        place, fix = self._here(), self.positions.newest
        if place.position is None:
            return b""
        record = {
            "v": 1,
            "agent": self._agent,
            "lat": place.position.lat,
            "lon": place.position.lon,
            "speed_kmh": place.position.speed_kmh,
            "elevation_m": self._settings.elevation_m,
            "site": place.site,
            "at": format_time(fix.at_ms) if fix else None,
        }
        return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()

    def describe(self, now_ms: int) -> dict[str, Any] | None:
        """The part of the health record; None without a [position] in the settings."""
        if not self.known:
            return None
        fix = self.positions.newest
        return {
            "source": self.topic or "fixed",
            "at": format_time(fix.at_ms) if fix else None,
            "age_s": max(0, now_ms - fix.at_ms) // 1000 if fix else None,
            "site": self._here().site,
            "fixes": {str(kind): self._counts[kind] for kind in COUNTED} if self.topic else None,
        }

    def _here(self) -> Place:
        """The newest position, whatever its age."""
        fix = self.positions.newest
        if fix is None or self.topic is None:
            return self.positions.place(0, 1)
        site = site_at(fix.lat, fix.lon, self.positions.sites)
        kmh = None if fix.speed_kmh is None else round(fix.speed_kmh, 1)
        return Place(Position(round(fix.lat, 7), round(fix.lon, 7), None, kmh, None), site)


def _positions(settings: Settings, most: int) -> Positions:
    position = settings.position
    fixed = None
    if position.latitude is not None and position.longitude is not None:
        fixed = Place(Position(position.latitude, position.longitude, 0.0, 0.0, None), position.site)
    return Positions(
        [Site(site.name, site.latitude, site.longitude, site.radius_m) for site in settings.sites],
        fixed,
        position.moving_kmh,
        position.moving_m,
        int(position.hold_s * 1000),
        int(settings.windows.future_s * 1000),
        most,
    )
