"""Where an estimate was made: the position of its window, and the site with that position."""

from collections.abc import Iterable
from math import asin, cos, radians, sin, sqrt
from typing import Any, NamedTuple

EARTH_M = 6_371_008.8  # mean radius


class Position(NamedTuple):
    """The position during one window, in degrees of WGS 84."""

    lat: float
    lon: float
    spread_m: float | None  # the largest distance of a fix from this position
    speed_kmh: float | None  # the fastest
    fixes: int | None  # None: fixed by the settings; 0: the last fix before the window


class Site(NamedTuple):
    """A place with a name."""

    name: str
    lat: float
    lon: float
    radius_m: float


class Place(NamedTuple):
    """What an estimate says about where it was made; all empty if that is unknown."""

    position: Position | None = None
    site: str | None = None
    moving: bool = False


def distance_m(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """The length of the shortest way on a sphere (haversine formula).

    >>> round(distance_m(52.0, 13.0, 52.0, 13.001), 1)
    68.5
    """
    a, b = radians(lat), radians(other_lat)
    across = sin((b - a) / 2) ** 2 + cos(a) * cos(b) * sin(radians(other_lon - lon) / 2) ** 2
    return 2 * EARTH_M * asin(min(1.0, sqrt(across)))


def site_at(lat: float, lon: float, sites: Iterable[Site]) -> str | None:
    """The name of the nearest site whose radius reaches this position.

    >>> sites = [Site("T", 52.0, 13.0, 100.0), Site("C", 52.0, 13.002, 100.0)]
    >>> site_at(52.0, 13.0008, sites), site_at(52.0, 13.0012, sites), site_at(53.0, 13.0, sites)
    ('T', 'C', None)
    """
    near = ((distance_m(lat, lon, site.lat, site.lon), site) for site in sites)
    within = [(away_m, site.name) for away_m, site in near if away_m <= site.radius_m]
    return min(within)[1] if within else None


def decode_position(record: Any) -> Position | None:
    """The position in an estimate's map; ValueError, TypeError or KeyError if it is none."""
    if record is None:
        return None
    lat, lon, spread_m, speed_kmh, fixes = (record[name] for name in Position._fields)
    return Position(
        float(lat),
        float(lon),
        None if spread_m is None else float(spread_m),
        None if speed_kmh is None else float(speed_kmh),
        None if fixes is None else int(fixes),
    )
