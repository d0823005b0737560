"""A four-electrode gas cell as in its datasheet: two currents that depend on gas and temperature.

The gas reaches only the working electrode. Both electrodes have a zero current that grows with heat:

    working   = S(T)·gas + Z(T)
    auxiliary = Z(T) / A(T)

A is the ratio of the electrodes' effective areas. It is not 1 and not constant, since the pores of the
membrane widen with heat (the paper's method section, after the maker's application note). Currents are in
nA, gas in ppm, T in °C.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from edge_agent.core.kernel import Array
from model_export.simulator.rng import Range, Stream

COLD, ROOM, HOT = -20.0, 20.0, 50.0  # where datasheets give figures


@dataclass(frozen=True, slots=True)
class Datasheet:
    """The ranges of a unit's constants."""

    sensitivity: Range  # nA/ppm at 20 °C
    sensitivity_cold: Range  # at -20 °C, as a fraction of that at 20 °C
    sensitivity_hot: Range  # at 50 °C
    zero: Range  # nA at 20 °C
    zero_cold: Range  # nA at -20 °C, change from 20 °C
    zero_hot: Range  # nA at 50 °C
    noise: float  # ppm; one standard deviation, where datasheets state two
    t90_s: Range
    sensitivity_drift: Range  # fraction a year
    zero_drift: Range  # ppm a year


# Alphasense CO-B4: its noise of 4 ppb is two standard deviations, t90 is below 15 s, drift below 10 % and
# 100 ppb a year.
CO_B4 = Datasheet(
    sensitivity=(450.0, 600.0),
    sensitivity_cold=(0.45, 0.70),
    sensitivity_hot=(1.10, 1.25),
    zero=(-50.0, 0.0),
    zero_cold=(10.0, 40.0),
    zero_hot=(-400.0, -250.0),
    noise=0.002,
    t90_s=(9.0, 15.0),
    sensitivity_drift=(-0.10, 0.0),
    zero_drift=(-0.1, 0.1),
)

# A cell for NO, with typical magnitudes and no particular datasheet. It has a bias, so its zero current is
# positive and grows with heat. It is noisier, and its gas has a tenth of CO's concentration.
NO_CELL = Datasheet(
    sensitivity=(500.0, 850.0),
    sensitivity_cold=(0.70, 0.90),
    sensitivity_hot=(1.00, 1.20),
    zero=(30.0, 120.0),
    zero_cold=(-60.0, -20.0),
    zero_hot=(150.0, 400.0),
    noise=0.0075,
    t90_s=(20.0, 45.0),
    sensitivity_drift=(-0.15, 0.0),
    zero_drift=(-0.05, 0.05),
)

AREA_RATIO = (0.75, 1.25)
# Of the ratio, per °C. Chosen, not measured: so large that no straight line over temperature fits.
AREA_WIDENING = (0.02, 0.045)


@dataclass(frozen=True, slots=True)
class Cell:
    """One unit: a point within its datasheet, and its areas."""

    sensitivity: float
    sensitivity_cold: float
    sensitivity_hot: float
    zero: float
    zero_cold: float
    zero_hot: float
    noise: float
    t90_s: float
    sensitivity_drift: float
    zero_drift: float
    area_ratio: float
    area_widening: float

    def sensitivity_at(self, temperature: Array, years: Array | float = 0.0) -> Array:
        """S(T) in nA/ppm, after so many years."""
        change = rise(temperature, self.sensitivity_cold - 1.0, self.sensitivity_hot - 1.0)
        return self.sensitivity * (1.0 + change) * (1.0 + self.sensitivity_drift * years)

    def zero_at(self, temperature: Array, years: Array | float = 0.0) -> Array:
        """Z(T) in nA, after so many years."""
        return (
            self.zero
            + rise(temperature, self.zero_cold, self.zero_hot)
            + self.sensitivity * self.zero_drift * years
        )

    def area_ratio_at(self, temperature: Array) -> Array:
        """A(T), the working electrode's area over the auxiliary one's."""
        return self.area_ratio * np.exp(self.area_widening * (temperature - ROOM))


def draw_cell(rng: Stream, datasheet: Datasheet) -> Cell:
    """A random unit within a datasheet."""
    return Cell(
        sensitivity=rng.uniform(*datasheet.sensitivity),
        sensitivity_cold=rng.uniform(*datasheet.sensitivity_cold),
        sensitivity_hot=rng.uniform(*datasheet.sensitivity_hot),
        zero=rng.uniform(*datasheet.zero),
        zero_cold=rng.uniform(*datasheet.zero_cold),
        zero_hot=rng.uniform(*datasheet.zero_hot),
        noise=datasheet.noise,
        t90_s=rng.uniform(*datasheet.t90_s),
        sensitivity_drift=rng.uniform(*datasheet.sensitivity_drift),
        zero_drift=rng.uniform(*datasheet.zero_drift),
        area_ratio=rng.uniform(*AREA_RATIO),
        area_widening=rng.uniform(*AREA_WIDENING),
    )


def rise(temperature: Array, cold: float, hot: float) -> Array:
    """The change from 20 °C as an exponential in temperature, through `cold` at -20 °C and `hot` at 50 °C.

    h·(exp(k(T - 20)) - 1)/k is monotone through any three such points. k > 0 for a zero current, which grows
    faster with heat; k < 0 for a sensitivity, which levels off where diffusion is the limit.

    >>> rise(np.array([-20.0, 20.0, 50.0]), 25.0, -325.0).round(9).tolist()
    [25.0, -0.0, -325.0]
    """
    bend = brentq(lambda k: float(_bent(COLD, k) / _bent(HOT, k)) - cold / hot, -0.5, 0.5)
    return np.asarray(hot * _bent(temperature, bend) / _bent(HOT, bend))


def _bent(temperature: Array | float, bend: float) -> Array:
    """(exp(k(T - 20)) - 1)/k, which is T - 20 where k is 0."""
    away = np.asarray(temperature) - ROOM
    return np.asarray(away if abs(bend) < 1e-12 else np.expm1(bend * away) / bend)
