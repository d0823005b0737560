"""A sensor package: two gas cells on one board in a warm box, and its readings, one a minute."""

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from edge_agent.core.kernel import Array
from model_export.simulator.air import Air
from model_export.simulator.electrochemistry import CO_B4, NO_CELL, Cell, draw_cell
from model_export.simulator.rng import Range, Stream, smoothed, stream, wander
from model_export.simulator.weather import DAY_MS

GAIN = 0.15  # mV/nA; our choice, as the paper names no board; city air on a CO-B4 gives 200 to 400 mV
GAIN_SPREAD = 0.02  # two 1 % resistors a stage
CO_OFFSET: Range = (190.0, 220.0)  # mV, the zero of the board
NO_OFFSET: Range = (290.0, 330.0)  # the same with the bias of an NO cell
SELF_HEATING: Range = (1.0, 3.0)  # °C in the box above the air: pump, radio
SUN_HEATING: Range = (6.0, 10.0)  # added on the roof of a van at a clear noon
THERMOMETER_ERROR = 0.3  # °C; a Bosch BME280 is within ±0.5 at 25 °C
THERMOMETER_NOISE = 0.02
BOX_MINUTES = 8.0  # time constant of the box behind the air
CELL_MINUTES = 6.0  # time constant of the cells behind the box
SHARED_CURRENT = 15.0  # nA; over days the electrolyte takes up and loses water, at both electrodes
OWN_CURRENT = 3.0  # nA; over hours, at the working electrode only
EXPOSURE_SPREAD = 0.03  # the inlets of package and analyser are a metre apart


@dataclass(frozen=True, slots=True)
class Pair:
    """A cell with its two amplifiers."""

    cell: Cell
    gains: tuple[float, float]  # mV/nA: working, auxiliary
    offsets: tuple[float, float]  # mV


@dataclass(frozen=True, slots=True)
class Package:
    """The constants of one package; they depend only on the seed and its name."""

    sensor: str
    co: Pair
    nox: Pair
    self_heating: float
    sun_heating: float
    thermometer_error: float


@dataclass(frozen=True, slots=True)
class Signals:
    """The readings of a package, one a minute; op1 and op2 in mV, temperature in °C, all (n,)."""

    op1: Array
    op2: Array
    temperature: Array


def draw_package(seed: int, sensor: str) -> Package:
    """The package of a seed and a name."""
    rng = stream(seed, "package", sensor)
    return Package(
        sensor=sensor,
        co=_draw_pair(rng, draw_cell(rng, CO_B4), CO_OFFSET),
        nox=_draw_pair(rng, draw_cell(rng, NO_CELL), NO_OFFSET),
        self_heating=rng.uniform(*SELF_HEATING),
        sun_heating=rng.uniform(*SUN_HEATING),
        thermometer_error=THERMOMETER_ERROR * rng.standard_normal(),
    )


def _draw_pair(rng: Stream, cell: Cell, offset: Range) -> Pair:
    working, auxiliary = GAIN * (1.0 + GAIN_SPREAD * rng.uniform(-1.0, 1.0, 2))
    return Pair(cell, (working, auxiliary), (rng.uniform(*offset), rng.uniform(*offset)))


def sense(
    rng: Stream,
    package: Package,
    air: Air,
    *,
    new_ms: int,
    swapped: bool,
    liveliness: float = 1.0,
    zero: Array | float = 0.0,
    sensitivity: Array | float = 1.0,
) -> Signals:
    """The readings of a package that was new at `new_ms`; if swapped, of its NOx pair instead of CO.

    `zero` in ppm shifts the working electrode, `sensitivity` is a factor on what it says of the gas.
    """
    pair, gas = (package.nox, air.nox) if swapped else (package.co, air.co)
    box = smoothed(air.temperature + package.self_heating + package.sun_heating * air.sun, BOX_MINUTES)
    years = (air.at_ms - new_ms) / (365.25 * DAY_MS)
    met = gas * (1.0 + EXPOSURE_SPREAD * liveliness * wander(rng, len(gas), 10))
    working, auxiliary = _currents(rng, pair.cell, sensitivity * met, smoothed(box, CELL_MINUTES), years)
    working = working + pair.cell.sensitivity * zero
    shared = SHARED_CURRENT * liveliness * wander(rng, len(gas), 1_500)
    own = OWN_CURRENT * liveliness * wander(rng, len(gas), 180)
    thermometer = package.thermometer_error + THERMOMETER_NOISE * rng.standard_normal(len(box))
    return Signals(
        op1=pair.offsets[0] + pair.gains[0] * (working + shared + own),
        op2=pair.offsets[1] + pair.gains[1] * (auxiliary + shared / pair.cell.area_ratio),
        temperature=box + thermometer,
    )


def _currents(rng: Stream, cell: Cell, gas: Array, temperature: Array, years: Array) -> tuple[Array, Array]:
    """The currents of the working and the auxiliary electrode in nA, means over each minute."""
    zero = cell.zero_at(temperature, years)
    noise = cell.noise * cell.sensitivity * rng.standard_normal((2, len(gas)))
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
