"""Every cell keeps to its datasheet."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_export.simulator.campaign import SENSORS
from model_export.simulator.electrochemistry import CO_B4, NO_CELL, Cell, Datasheet, draw_cell, rise
from model_export.simulator.package import draw_package
from model_export.simulator.rng import stream

COLD_ROOM_HOT = np.array([-20.0, 20.0, 50.0])


def assert_within(cell: Cell, sheet: Datasheet) -> None:
    """The functions of temperature are within the datasheet's ranges."""
    sensitivity, zero = cell.sensitivity_at(COLD_ROOM_HOT), cell.zero_at(COLD_ROOM_HOT)
    found = {
        "sensitivity": sensitivity[1],
        "sensitivity_cold": sensitivity[0] / sensitivity[1],
        "sensitivity_hot": sensitivity[2] / sensitivity[1],
        "zero": zero[1],
        "zero_cold": zero[0] - zero[1],
        "zero_hot": zero[2] - zero[1],
        "t90_s": cell.t90_s,
    }
    for name, value in found.items():
        low, high = getattr(sheet, name)
        assert low - 1e-6 <= value <= high + 1e-6, name


@given(st.integers(0, 2**32), st.sampled_from([CO_B4, NO_CELL]))
def test_a_unit_is_within_its_datasheet(seed: int, sheet: Datasheet) -> None:
    """At -20, 20 and 50 °C, for any seed."""
    assert_within(draw_cell(stream(seed, "cell"), sheet), sheet)


@pytest.mark.parametrize("sensor", SENSORS)
def test_the_packages_of_the_network_are_within_the_co_b4_datasheet(sensor: str) -> None:
    """450-600 nA/ppm; 45-70 % and 110-125 %; 0 to -50 nA; +10..40 and -250..-400 nA."""
    cell = draw_package(1, sensor).co.cell
    assert_within(cell, CO_B4)
    assert (CO_B4.sensitivity, CO_B4.zero_hot) == ((450.0, 600.0), (-400.0, -250.0))
    assert (CO_B4.sensitivity_cold, CO_B4.sensitivity_hot) == ((0.45, 0.70), (1.10, 1.25))
    assert (CO_B4.zero, CO_B4.zero_cold) == ((-50.0, 0.0), (10.0, 40.0))


@given(st.integers(0, 2**32))
def test_sensitivity_rises_and_the_zero_falls_with_heat(seed: int) -> None:
    """Monotone between and beyond the datasheet's points, and a year changes both within its bounds."""
    cell, heat = draw_cell(stream(seed, "cell"), CO_B4), np.linspace(-30.0, 55.0, 200)
    assert np.all(np.diff(cell.sensitivity_at(heat)) > 0.0)
    assert np.all(np.diff(cell.zero_at(heat)) < 0.0)
    assert np.all(np.diff(cell.area_ratio_at(heat)) > 0.0)
    lost = 1.0 - cell.sensitivity_at(heat, 1.0) / cell.sensitivity_at(heat)
    assert lost == pytest.approx(lost[0])
    assert 0.0 <= lost[0] <= 0.10
    assert np.abs(cell.zero_at(heat, 1.0) - cell.zero_at(heat)).max() / cell.sensitivity <= 0.1


def test_units_differ() -> None:
    """The six packages have different sensitivities, zeros and area ratios."""
    cells = [draw_package(1, sensor).co.cell for sensor in SENSORS]
    for name in ("sensitivity", "zero", "area_ratio", "zero_hot"):
        assert len({getattr(cell, name) for cell in cells}) == len(SENSORS)


def test_a_straight_line_is_a_rise_too() -> None:
    """Where the points lie on a line, the exponential is that line."""
    temperatures = np.array([-20.0, 0.0, 20.0, 35.0, 50.0])
    assert rise(temperatures, -4.0, 3.0) == pytest.approx((temperatures - 20.0) / 10.0, abs=1e-6)
