"""A sensor package: two gas cells on one board in a warm box, and the millivolts it reports each minute."""

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from edge_agent.core.kernel import Array
from model_export.simulator.air import Air
from model_export.simulator.electrochemistry import CO_B4, NO_CELL, Cell, draw_cell
from model_export.simulator.rng import Range, Stream, smoothed, stream, wander
from model_export.simulator.weather import DAY_MS

GAIN = 0.15  # mV/nA, ours: the paper names no board; city air on a CO-B4 gives 200 to 400 mV
GAIN_SPREAD = 0.02  # resistors of 1 %, two to a stage
CO_OFFSET: Range = (190.0, 220.0)  # mV, the board's own zero
NO_OFFSET: Range = (290.0, 330.0)  # the bias of an NO cell is added to it
SELF_HEATING: Range = (1.0, 3.0)  # °C in the box above the air: pump, radio
SUN_HEATING: Range = (6.0, 10.0)  # and more on the roof of a van at a clear noon
THERMOMETER_ERROR = 0.3  # °C; a Bosch BME280 is within ±0.5 at 25 °C
THERMOMETER_NOISE = 0.02
BOX_MINUTES = 8.0  # the box follows the air, and the cells, heavier, follow the box
CELL_MINUTES = 6.0
SHARED_CURRENT = 15.0  # nA; the electrolyte takes up and gives off water over days, at both electrodes alike
OWN_CURRENT = 3.0  # nA; and in hours at the working electrode alone, which meets the air
EXPOSURE_SPREAD = 0.03  # the package's gas inlet and the analyser's are a metre apart


@dataclass(frozen=True, slots=True)
class Pair:
    """A cell with its two amplifiers."""

    cell: Cell
    gains: tuple[float, float]  # mV/nA: working, auxiliary
    offsets: tuple[float, float]  # mV


@dataclass(frozen=True, slots=True)
class Package:
    """One package's own constants; they depend on the seed and its name, and on nothing else."""

    sensor: str
    co: Pair
    nox: Pair
    self_heating: float
    sun_heating: float
    thermometer_error: float


@dataclass(frozen=True, slots=True)
class Signals:
    """What a package says, one value a minute; op1 and op2 in mV, temperature in °C, all (n,)."""

    op1: Array
    op2: Array
    temperature: Array


def draw_package(seed: int, sensor: str) -> Package:
    """The same package for the same seed and name, whatever else is simulated."""
    chance = stream(seed, "package", sensor)
    return Package(
        sensor=sensor,
        co=_draw_pair(chance, draw_cell(chance, CO_B4), CO_OFFSET),
        nox=_draw_pair(chance, draw_cell(chance, NO_CELL), NO_OFFSET),
        self_heating=chance.uniform(*SELF_HEATING),
        sun_heating=chance.uniform(*SUN_HEATING),
        thermometer_error=THERMOMETER_ERROR * chance.standard_normal(),
    )


def _draw_pair(chance: Stream, cell: Cell, offset: Range) -> Pair:
    working, auxiliary = GAIN * (1.0 + GAIN_SPREAD * chance.uniform(-1.0, 1.0, 2))
    return Pair(cell, (working, auxiliary), (chance.uniform(*offset), chance.uniform(*offset)))


def sense(
    chance: Stream, package: Package, air: Air, *, new_ms: int, swapped: bool, liveliness: float = 1.0
) -> Signals:
    """What a package that was new at `new_ms` reports; `swapped`: its NOx pair in place of its CO pair."""
    pair, gas = (package.nox, air.nox) if swapped else (package.co, air.co)
    box = smoothed(air.temperature + package.self_heating + package.sun_heating * air.sun, BOX_MINUTES)
    years = (air.at_ms - new_ms) / (365.25 * DAY_MS)
    met = gas * (1.0 + EXPOSURE_SPREAD * liveliness * wander(chance, len(gas), 10))
    working, auxiliary = _currents(chance, pair.cell, met, smoothed(box, CELL_MINUTES), years)
    shared = SHARED_CURRENT * liveliness * wander(chance, len(gas), 1_500)
    own = OWN_CURRENT * liveliness * wander(chance, len(gas), 180)
    thermometer = package.thermometer_error + THERMOMETER_NOISE * chance.standard_normal(len(box))
    return Signals(
        op1=pair.offsets[0] + pair.gains[0] * (working + shared + own),
        op2=pair.offsets[1] + pair.gains[1] * (auxiliary + shared / pair.cell.area_ratio),
        temperature=box + thermometer,
    )


def _currents(
    chance: Stream, cell: Cell, gas: Array, temperature: Array, years: Array
) -> tuple[Array, Array]:
    """The working and auxiliary electrodes' currents, nA, means over each minute."""
    zero = cell.zero_at(temperature, years)
    noise = cell.noise * cell.sensitivity * chance.standard_normal((2, len(gas)))
    working = cell.sensitivity_at(temperature, years) * minute_means(gas, cell.t90_s) + zero
    return working + noise[0], zero / cell.area_ratio_at(temperature) + noise[1]


def minute_means(gas: Array, t90_s: float) -> Array:
    """The mean over each minute of a first-order response that reaches 90 % in t90.

    With tau = t90/ln 10, e = exp(-60/tau) and gas constant over a minute, the state at its end is
    x[i] = gas[i] + (x[i-1] - gas[i])·e, and the mean is gas[i] + (x[i-1] - gas[i])·(1 - e)·tau/60.
    """
    tau_s = t90_s / np.log(10.0)
    e = np.exp(-60.0 / tau_s)
    state = lfilter([1.0 - e], [1.0, -e], gas, zi=[e * gas[0]])[0]
    before = np.concatenate((gas[:1], state[:-1]))
    return np.asarray(gas + (before - gas) * (1.0 - e) * tau_s / 60.0)
