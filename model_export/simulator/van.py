"""The six packages on a van without a reference, minute by minute, without end.

The packages are those of a co-location with the same seed. The weather is that of T-W, a little milder; the
gases are new. So the inputs are inside the range of a model fitted to T-W and B-W, and the true CO is not in
its data.
"""

from collections.abc import Collection, Iterator
from itertools import count
from math import isnan
from typing import NamedTuple

import numpy as np

from model_export.simulator.air import SITES, Air, draw_air
from model_export.simulator.campaign import DEPLOYMENTS, SENSORS, SERVICED, SWAPPED, known
from model_export.simulator.faults import Fault, sense_faulty
from model_export.simulator.network import NEW_MS, colocate
from model_export.simulator.package import Signals, draw_package
from model_export.simulator.rng import stream
from model_export.simulator.weather import DAY_MS, MINUTE_MS

SETTLED_DAYS = 3  # after the start of T-W
STRETCH_DAYS = 14  # within the first four fifths of T-W, the train part
# A factor on T-W's deviations from its mean temperature. With 0.85 the agent flags the noon of a van that
# sets out at eight: nothing is known of the cold night before, so that the air seems to warm faster.
MILDNESS = 0.75
LIVELINESS = 0.3
CHANNELS = ("op1", "op2", "temperature")
DIGITS = 3


class Minute(NamedTuple):
    """One minute of the van: the true CO in ppm, and the readings of every package that is in it."""

    at_ms: int
    co: float
    readings: dict[str, dict[str, float]]  # sensor -> channel -> value


def drive(
    seed: int, start_ms: int, swapped: Collection[str] = SWAPPED, faults: Collection[Fault] = ()
) -> Iterator[Minute]:
    """Minutes from `start_ms` on, with the weather of T-W at the same time of day.

    Every 14 days the same weather starts again, with new gases.
    """
    known("swapped", swapped, SENSORS)
    known("fault", [fault.sensor for fault in faults], SENSORS)
    start_ms -= start_ms % MINUTE_MS
    for number in count():
        first_ms = start_ms + number * STRETCH_DAYS * DAY_MS
        air = stretch_air(seed, number, first_ms % DAY_MS)
        columns = [
            _columns(stretch_signals(seed, number, sensor, air, sensor in swapped, faults))
            for sensor in SENSORS
        ]
        for place, (co, *rows) in enumerate(zip(air.co.tolist(), *columns, strict=True)):
            readings = {
                sensor: dict(zip(CHANNELS, row, strict=True))
                for sensor, row in zip(SENSORS, rows, strict=True)
                if not isnan(row[0])
            }
            yield Minute(first_ms + place * MINUTE_MS, co, readings)


def stretch_air(seed: int, number: int, of_day_ms: int = 0) -> Air:
    """Two weeks of T-W's temperature and sun from a time of day on, with new gases."""
    rng = stream(seed, "van", str(number))
    (deployment,) = (place for place in DEPLOYMENTS if place.dataset == SERVICED)
    first_ms = deployment.start_ms - deployment.start_ms % DAY_MS + SETTLED_DAYS * DAY_MS + of_day_ms
    minutes = STRETCH_DAYS * DAY_MS // MINUTE_MS
    past = colocate(seed, deployment, outliers=0.0).air
    again = slice((first_ms - deployment.start_ms) // MINUTE_MS, None)
    warmth, sun = past.temperature[again][:minutes], past.sun[again][:minutes]
    gases = draw_air(rng, SITES[deployment.site], first_ms, minutes, LIVELINESS)
    mild = past.temperature.mean() + MILDNESS * (warmth - past.temperature.mean())
    return Air(gases.at_ms, mild, sun, gases.co, gases.nox)


def stretch_signals(
    seed: int, number: int, sensor: str, air: Air, swapped: bool, faults: Collection[Fault] = ()
) -> Signals:
    """The readings of one package in a stretch; NaN while it is out of the van."""
    elapsed_ms = number * STRETCH_DAYS * DAY_MS + np.arange(len(air.co)) * MINUTE_MS
    return sense_faulty(
        lambda: stream(seed, "van", str(number), sensor),
        draw_package(seed, sensor),
        air,
        elapsed_ms,
        faults,
        new_ms=NEW_MS,
        swapped=swapped,
        liveliness=LIVELINESS,
    )


def _columns(signals: Signals) -> Iterator[tuple[float, ...]]:
    """(op1, op2, temperature) minute by minute."""
    return zip(*(getattr(signals, channel).round(DIGITS).tolist() for channel in CHANNELS), strict=True)
