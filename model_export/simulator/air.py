"""The air at the van's inlet, one value a minute: CO and NOx over a city, under the weather.

The gases come from a box model of the city. Emissions mix up to a height, and the wind removes them:

    dC/dt = emission/height - removal·wind·C        (C above the background)

The mixing height is low in the morning and in the evening, so traffic gives two peaks, at 8 and 21 o'clock.
The afternoon has as much traffic and clean air. Agra has the same two peaks, and 0.77 ± 0.47 ppm in winter,
at a semi-urban site (March 2015 to February 2016). The emissions of the sites are our choice; they give such
figures, and higher ones where there is more traffic.
"""

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from edge_agent.core.kernel import Array
from model_export.simulator.rng import Stream, wander
from model_export.simulator.weather import DAY_MS, IST_MS, Times, Weather, daily, draw_weather

REMOVAL_PER_MINUTE = 0.8 / 60  # a few km of city at 1 to 2 m/s: an hour or so
BACKGROUND_CO = 0.18  # ppm in the Ganges plain, about twice that of clean air
BACKGROUND_NOX = 0.004
NOX_OF_TRAFFIC = 0.045  # ppm of NOx for each ppm of CO from petrol traffic
PLUME_MINUTES = 3.5  # duration of the plume of a passing exhaust or a fire


@dataclass(frozen=True, slots=True)
class Site:
    """The constants of one site: emissions in ppm/h into a box of height 1, plumes, warmth in °C."""

    traffic: float
    fires: float
    diesel: float
    plumes_a_day: float
    warmth: float


# A campus at the edge of town, an institute among fields, shops and flats, industry with its lorries.
SITES = {
    "B": Site(traffic=0.30, fires=0.16, diesel=0.007, plumes_a_day=2.0, warmth=-0.6),
    "C": Site(traffic=0.36, fires=0.22, diesel=0.008, plumes_a_day=3.0, warmth=-0.4),
    "G": Site(traffic=0.58, fires=0.16, diesel=0.012, plumes_a_day=7.0, warmth=0.4),
    "T": Site(traffic=0.72, fires=0.30, diesel=0.022, plumes_a_day=9.0, warmth=0.8),
}

_TRAFFIC = daily(
    (0.25, 0.16, 0.11, 0.10, 0.12, 0.20, 0.38, 0.66, 0.96, 1.10, 1.04, 0.90),
    (0.82, 0.80, 0.80, 0.84, 0.92, 1.06, 1.16, 1.14, 0.98, 0.76, 0.55, 0.38),
)
# Heavy lorries may enter an Indian city only at night.
_LORRIES = daily(
    (0.95, 0.85, 0.75, 0.70, 0.70, 0.70, 0.50, 0.45, 0.50, 0.50, 0.50, 0.50),
    (0.50, 0.50, 0.50, 0.50, 0.50, 0.50, 0.50, 0.50, 0.55, 0.75, 1.00, 1.05),
)
# Stoves and burning leaves, in the cool morning and evening.
_FIRES = daily(
    (0.10, 0.05, 0.05, 0.05, 0.10, 0.30, 0.70, 1.00, 0.80, 0.40, 0.10, 0.00),
    (0.00, 0.00, 0.00, 0.00, 0.05, 0.25, 0.75, 1.00, 0.90, 0.65, 0.35, 0.20),
)


@dataclass(frozen=True, slots=True)
class Air:
    """The air at the inlet, all (n,): gases in ppm, temperature in °C, sun from 0 to 1."""

    at_ms: Times
    temperature: Array
    sun: Array
    co: Array
    nox: Array


def draw_air(rng: Stream, site: Site, start_ms: int, minutes: int, liveliness: float = 1.0) -> Air:
    """Some minutes of air at a site; `liveliness` scales the random variation."""
    weather = draw_weather(rng, start_ms, minutes, liveliness)
    temperature = weather.temperature + site.warmth
    busy = _TRAFFIC(weather.hour) * _days_off(weather.at_ms) * _swing(rng, minutes, 0.15 * liveliness, 90)
    cold = np.clip((24.0 - temperature) / 10.0, 0.0, 1.5)
    fires = cold * _FIRES(weather.hour) * _swing(rng, minutes, 0.4 * liveliness, 500)
    lorries = _LORRIES(weather.hour) * _swing(rng, minutes, 0.45 * liveliness, 240)
    co = _box(site.traffic * busy + site.fires * fires, weather)
    nox = _box(NOX_OF_TRAFFIC * site.traffic * busy + site.diesel * lorries, weather)
    co = (co + BACKGROUND_CO) * _swing(rng, minutes, 0.12 * liveliness, 5)
    nox = (nox + BACKGROUND_NOX) * _swing(rng, minutes, 0.15 * liveliness, 5)
    crowd = site.plumes_a_day * busy / np.mean(_TRAFFIC(np.arange(24)))
    return Air(
        at_ms=weather.at_ms,
        temperature=temperature,
        sun=weather.sun,
        co=co + _plumes(rng, crowd, 0.8 * liveliness),
        nox=nox + _plumes(rng, crowd, 0.06 * liveliness),
    )


def _box(emission: Array, weather: Weather) -> Array:
    """The concentration in the box (n,), in steps of a minute from equilibrium at the first."""
    sources = (emission / 60.0 / weather.height).tolist()
    removals = (REMOVAL_PER_MINUTE * weather.wind).tolist()
    level = sources[0] / removals[0]
    levels = []
    for source, removal in zip(sources, removals, strict=True):
        level += source - removal * level
        levels.append(level)
    return np.array(levels)


def _swing(rng: Stream, minutes: int, sigma: float, memory_minutes: float) -> Array:
    """A log-normal factor that varies around 1."""
    return np.exp(sigma * wander(rng, minutes, memory_minutes) - sigma * sigma / 2.0)


def _days_off(at_ms: Times) -> Array:
    """Less traffic on Sundays; 1 January 1970 was a Thursday."""
    return np.where((at_ms + IST_MS) // DAY_MS % 7 == 3, 0.8, 1.0)


def _plumes(rng: Stream, crowd_a_day: Array, median: float) -> Array:
    """Short spikes: random arrivals of log-normal height that fade within minutes."""
    arrivals = rng.poisson(crowd_a_day / 1_440)
    heights = median * np.exp(0.7 * rng.standard_normal(len(arrivals)))
    return np.asarray(lfilter([1.0], [1.0, -np.exp(-1.0 / PLUME_MINUTES)], arrivals * heights))
