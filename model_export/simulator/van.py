"""The same six packages on the road: a van without a reference, minute by minute, for ever.

Its packages are those that a co-location of the same seed calibrated. It lives through the days of T-W again,
a little milder and with other traffic and other smoke: a calibration learnt in T-W and B-W is asked
nothing that it has not seen, and nothing that it was told the answer to.
"""

from collections.abc import Collection, Iterator
from itertools import count
from typing import NamedTuple

from model_export.simulator.air import SITES, Air, draw_air
from model_export.simulator.campaign import DEPLOYMENTS, SENSORS, SERVICED, SWAPPED, known
from model_export.simulator.network import NEW_MS, colocate
from model_export.simulator.package import draw_package, sense
from model_export.simulator.rng import Stream, stream
from model_export.simulator.weather import DAY_MS, MINUTE_MS

SETTLED_DAYS = 3  # into T-W
STRETCH_DAYS = 14  # and out of its first four fifths, which trainers learn from
MILDNESS = 0.85  # of T-W's departures from its mean temperature
LIVELINESS = 0.3
CHANNELS = ("op1", "op2", "temperature")
DIGITS = 3


class Minute(NamedTuple):
    """One minute of the van: the true CO in ppm and what every package says of it."""

    at_ms: int
    co: float
    readings: dict[str, dict[str, float]]  # sensor -> channel -> value


def drive(seed: int, start_ms: int, swapped: Collection[str] = SWAPPED) -> Iterator[Minute]:
    """Minutes from `start_ms` on; the hours of the day are true, the days are those of T-W.

    Every 14 days the van sets out again into the same days, with gases of their own.
    """
    known("swapped", swapped, SENSORS)
    start_ms -= start_ms % MINUTE_MS
    for number in count():
        first_ms = start_ms + number * STRETCH_DAYS * DAY_MS
        air = _air(stream(seed, "van", str(number)), seed, first_ms % DAY_MS)
        columns = [_columns(seed, number, sensor, air, sensor in swapped) for sensor in SENSORS]
        for place, (co, *rows) in enumerate(zip(air.co.tolist(), *columns, strict=True)):
            readings = {
                sensor: dict(zip(CHANNELS, row, strict=True))
                for sensor, row in zip(SENSORS, rows, strict=True)
            }
            yield Minute(first_ms + place * MINUTE_MS, co, readings)


def _air(chance: Stream, seed: int, of_day_ms: int) -> Air:
    """Two weeks of T-W's warmth and sun from a time of day on, under gases of their own."""
    (deployment,) = (place for place in DEPLOYMENTS if place.dataset == SERVICED)
    first_ms = deployment.start_ms - deployment.start_ms % DAY_MS + SETTLED_DAYS * DAY_MS + of_day_ms
    minutes = STRETCH_DAYS * DAY_MS // MINUTE_MS
    past = colocate(seed, deployment, outliers=0.0).air
    again = slice((first_ms - deployment.start_ms) // MINUTE_MS, None)
    warmth, sun = past.temperature[again][:minutes], past.sun[again][:minutes]
    gases = draw_air(chance, SITES[deployment.site], first_ms, minutes, LIVELINESS)
    mild = past.temperature.mean() + MILDNESS * (warmth - past.temperature.mean())
    return Air(gases.at_ms, mild, sun, gases.co, gases.nox)


def _columns(seed: int, number: int, sensor: str, air: Air, swapped: bool) -> Iterator[tuple[float, ...]]:
    """(op1, op2, temperature) of one package, minute by minute."""
    chance = stream(seed, "van", str(number), sensor)
    signals = sense(
        chance, draw_package(seed, sensor), air, new_ms=NEW_MS, swapped=swapped, liveliness=LIVELINESS
    )
    return zip(*(getattr(signals, channel).round(DIGITS).tolist() for channel in CHANNELS), strict=True)
