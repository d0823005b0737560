"""From currents to millivolts: gain, noise, response, heat, and the swap."""

from dataclasses import replace

import numpy as np
import pytest

from model_export.simulator.air import Air
from model_export.simulator.campaign import SENSORS
from model_export.simulator.package import Signals, draw_package, minute_means, sense
from model_export.simulator.rng import stream

NEW_MS = 1_696_485_600_000
YEAR_MS = 31_557_600_000


def still_air(
    co: float, temperature: float, nox: float = 0.0, minutes: int = 600, at_ms: int = NEW_MS
) -> Air:
    """Air in which nothing happens."""
    constant = np.ones(minutes)
    times = at_ms + 60_000 * np.arange(minutes)
    return Air(times, temperature * constant, 0.0 * constant, co * constant, nox * constant)


def calm(sensor: str, air: Air, swapped: bool = False) -> Signals:
    """A package in a laboratory: no change of humidity, no draught."""
    return sense(
        stream(1, "test"), draw_package(1, sensor), air, new_ms=NEW_MS, swapped=swapped, liveliness=0.0
    )


@pytest.mark.parametrize("sensor", SENSORS)
def test_a_ppm_of_co_is_the_sensitivity_times_the_gain(sensor: str) -> None:
    """op1 rises by S(T)·gain for each ppm; op2 is constant, as the gas does not reach its electrode."""
    package = draw_package(1, sensor)
    clean, dirty = calm(sensor, still_air(0.0, 20.0)), calm(sensor, still_air(1.0, 20.0))
    inside = np.array(20.0 + package.self_heating)
    expected = float(package.co.cell.sensitivity_at(inside)) * package.co.gains[0]
    assert np.mean(dirty.op1 - clean.op1) == pytest.approx(expected, rel=1e-3)
    assert np.array_equal(dirty.op2, clean.op2)
    assert 60.0 < expected < 100.0


@pytest.mark.parametrize("sensor", SENSORS)
def test_noise_is_that_of_the_datasheet(sensor: str) -> None:
    """4 ppb as two standard deviations, on one-minute values at room temperature."""
    pair = draw_package(1, sensor).co
    quiet = calm(sensor, still_air(0.5, 20.0, minutes=4_000))
    assert 2 * np.std(quiet.op1) / (pair.cell.sensitivity * pair.gains[0]) == pytest.approx(0.004, rel=0.08)


def test_a_hot_package_carries_a_larger_zero_on_both_electrodes() -> None:
    """Heat lowers op1 and op2 together, by different amounts because their areas differ."""
    cool, hot = calm("5A2D", still_air(0.0, 15.0)), calm("5A2D", still_air(0.0, 40.0))
    working, auxiliary = np.mean(hot.op1 - cool.op1), np.mean(hot.op2 - cool.op2)
    assert working < -10.0
    assert auxiliary < -3.0
    assert abs(working / auxiliary - 1.0) > 0.1


def test_a_response_reaches_ninety_per_cent_at_t90() -> None:
    """The minute means agree with a response stepped a tenth of a second at a time."""
    gas, t90_s, step_s = np.r_[np.zeros(3), np.full(3, 5.0), np.full(3, 1.0)], 14.0, 0.01
    level, fine = 0.0, []
    for value in np.repeat(gas, round(60 / step_s)):
        level += (value - level) * step_s * np.log(10.0) / t90_s
        fine.append(level)
    assert fine[round((180 + t90_s) / step_s)] == pytest.approx(4.5, rel=1e-3)
    assert minute_means(gas, t90_s) == pytest.approx(
        np.reshape(fine, (len(gas), -1)).mean(axis=1), rel=2e-3, abs=1e-6
    )


def test_a_swapped_package_shows_nox_and_is_blind_to_co() -> None:
    """The firmware's fault: the columns of CO carry the electrodes of the NOx cell."""
    base = calm("D3EB", still_air(0.5, 20.0, nox=0.05), swapped=True)
    more_co = calm("D3EB", still_air(3.0, 20.0, nox=0.05), swapped=True)
    more_nox = calm("D3EB", still_air(0.5, 20.0, nox=0.25), swapped=True)
    assert np.array_equal(base.op1, more_co.op1)
    assert np.mean(more_nox.op1 - base.op1) > 10.0
    assert np.mean(base.op2) - np.mean(calm("D3EB", still_air(0.5, 20.0)).op2) > 50.0


def test_a_year_costs_sensitivity() -> None:
    """The same air reads lower after a year, within the datasheet's 10 %."""
    package = draw_package(1, "5A2D")
    aged = [still_air(co, 20.0, at_ms=NEW_MS + YEAR_MS) for co in (0.0, 2.0)]
    fresh = [still_air(co, 20.0) for co in (0.0, 2.0)]
    spans = [np.mean(calm("5A2D", dirty).op1 - calm("5A2D", clean).op1) for clean, dirty in (aged, fresh)]
    assert spans[0] / spans[1] == pytest.approx(1.0 + package.co.cell.sensitivity_drift, rel=1e-3)


def test_the_thermometer_reads_the_box_and_the_cell_lags_behind_it() -> None:
    """A package is warmer than the air, in the sun most of all, and follows it slowly."""
    package = draw_package(1, "5A2D")
    air = still_air(0.5, 20.0)
    sunny = replace(air, sun=np.ones(len(air.sun)))
    shade, sun = calm("5A2D", air).temperature, calm("5A2D", sunny).temperature
    assert np.mean(shade) - 20.0 == pytest.approx(package.self_heating + package.thermometer_error, abs=0.01)
    assert np.mean(sun[-60:] - shade[-60:]) == pytest.approx(package.sun_heating, abs=0.01)
    step = replace(air, temperature=np.where(np.arange(600) < 300, 20.0, 30.0))
    assert 0.5 < calm("5A2D", step).temperature[301] - shade[301] < 5.0
