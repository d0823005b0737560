"""The judgement of a sensor over days: what is planted is found, and what is sound is not."""

import json
import tracemalloc

import numpy as np
import pytest

from edge_agent.core.comparison import Day, Windows, _slope, compare
from edge_agent.core.examination import Examination, examination_of, threshold
from edge_agent.core.kernel import Array

SENSORS, WINDOWS = 5, 32


def van(days: int, seed: int = 1) -> tuple[Array, Array, Array]:
    """Truth, values and temperatures of sound sensors, (windows,), then (windows, SENSORS) twice.

    Each has an error of its own that lasts for about a day, and one that depends on the temperature.
    """
    rng = np.random.default_rng(seed)
    hour = np.arange(days * WINDOWS) * 24.0 / WINDOWS
    truth = 0.8 + 0.4 * np.sin(hour / 24.0 * 2.0 * np.pi) + 0.3 * np.abs(rng.standard_normal(len(hour)))
    heat = 15.0 + 8.0 * np.sin((hour - 6.0) / 24.0 * 2.0 * np.pi) + 10.0 * np.sin(hour / 24.0 / 60.0)
    slow = np.repeat(rng.standard_normal((days, SENSORS)), WINDOWS, axis=0) * 0.015
    bent = (heat[:, None] - 15.0) * rng.uniform(-0.002, 0.002, SENSORS)
    noise = rng.standard_normal((len(hour), SENSORS)) * 0.03
    return truth, truth[:, None] + slow + bent + noise, np.repeat(heat[:, None], SENSORS, axis=1)


def examine(
    values: Array, temperatures: Array, sensor: int = 0, widths: Array | None = None
) -> list[Examination]:
    """The examination of one sensor after each day, through JSON as in the journal."""
    known, found, limit = Examination(), [], threshold(1.0)
    widths = np.full(values.shape, 0.08) if widths is None else widths
    for day in range(len(values) // WINDOWS):
        rows = slice(day * WINDOWS, (day + 1) * WINDOWS)
        windows = Windows(values[rows], widths[rows], temperatures[rows])
        shown = compare(day, sensor, windows, np.ones(values.shape[1], dtype=bool))
        assert shown
        known = examination_of(json.loads(json.dumps(known.record())))
        known.update(shown._replace(best=0.97), limit)
        found.append(known)
    return found


def first(found: list[Examination], code: str) -> int | None:
    return next((each.last_day for each in found if code in each.since), None)


@pytest.mark.parametrize("sensor", range(3))
def test_a_sound_sensor_is_not_suspected(sensor: int) -> None:
    _, values, temperatures = van(90)
    assert all(not each.since for each in examine(values, temperatures, sensor))


def test_a_drifting_zero_is_found_before_it_has_passed() -> None:
    _, values, temperatures = van(90)
    ramp = np.clip(np.arange(len(values)) / WINDOWS - 40.0, 0.0, 30.0) / 30.0
    values[:, 0] += 0.15 * ramp
    found = examine(values, temperatures)
    assert all(not each.since for each in found[:40])
    assert 40 < (first(found, "drifting") or 0) < 60
    assert first(found, "sensitivity_lost") is None


def test_lost_sensitivity_is_told_from_drift() -> None:
    truth, values, temperatures = van(60)
    lost = np.where(np.arange(len(values)) / WINDOWS >= 40.0, 0.25, 0.0)
    values[:, 0] -= lost * truth
    found = examine(values, temperatures)
    assert 40 <= (first(found, "sensitivity_lost") or 0) < 46
    _, gain, _ = found[-1].changes()
    assert gain == pytest.approx(-0.25, abs=0.06)


def test_another_gas_is_found_in_three_days() -> None:
    _, values, temperatures = van(50)
    other = np.random.default_rng(9).standard_normal(len(values))
    swapped = np.arange(len(values)) / WINDOWS >= 40.0
    values[:, 0] = np.where(swapped, 1.1 + 0.3 * other, values[:, 0])
    found = examine(values, temperatures)
    assert first(found, "swapped_suspected") == 42
    assert {*found[-1].since} == {"swapped_suspected"}


def test_a_gas_that_falls_when_the_others_rise_is_another_gas() -> None:
    """Ozone and CO: the correlation is strong, and negative."""
    truth, values, temperatures = van(6)
    values[:, 0] = 2.0 * truth.mean() - values[:, 0]
    assert first(examine(values, temperatures), "swapped_suspected") == 2


def test_a_constant_difference_beyond_the_interval_disagrees_at_once() -> None:
    _, values, temperatures = van(8)
    values[:, 0] += 0.2
    assert first(examine(values, temperatures), "disagrees") == 2


def test_what_is_over_is_cleared_and_remembered() -> None:
    _, values, temperatures = van(90)
    day = np.arange(len(values)) / WINDOWS
    values[:, 0] += np.where((day >= 40.0) & (day < 50.0), 0.2, 0.0)
    last = examine(values, temperatures)[-1]
    assert last.since == {}
    assert {each.code for each in last.suspicions} == {"drifting", "disagrees"}
    assert all(40 <= each.raised < 50 < (each.cleared or 0) for each in last.suspicions)


@pytest.mark.parametrize("days", [10, 20, 40])
def test_a_suspicion_ends_a_week_after_the_sensor_is_as_usual(days: int) -> None:
    """And temperatures that came first while it was disturbed do not raise another one."""
    _, values, temperatures = van(90 + days)
    day = np.arange(len(values)) / WINDOWS
    values[:, 0] += np.where((day >= 30.0) & (day < 30.0 + days), 0.2, 0.0)
    found = examine(values, temperatures)
    [drifting] = [each for each in found[-1].suspicions if each.code == "drifting"]
    assert 30 <= drifting.raised < 35
    assert 30 + days < (drifting.cleared or 999) <= 30 + days + 7


def test_without_an_interval_the_width_of_the_others_counts() -> None:
    """A sensor that hardly differs neither disagrees nor drifts."""
    _, values, temperatures = van(12)
    values[:, 0] = values[:, 1:].mean(axis=1) + 0.0006
    widths = np.full(values.shape, 0.08)
    widths[:, 0] = np.nan
    assert all(not each.since for each in examine(values, temperatures, widths=widths))
    values[:, 0] += 0.2
    assert first(examine(values, temperatures, widths=widths), "disagrees") == 2


def test_an_interval_without_a_width_is_no_measure() -> None:
    _, values, temperatures = van(12)
    assert all(not each.since for each in examine(values, temperatures, widths=np.zeros(values.shape)))


def test_of_two_sensors_nobody_can_say_which_one_drifts() -> None:
    _, values, temperatures = van(60)
    values[:, 0] += np.where(np.arange(len(values)) / WINDOWS >= 40.0, 0.2, 0.0)
    for sensor in (0, 1):
        last = examine(values[:, :2], temperatures[:, :2], sensor)[-1]
        assert {*last.since} == {"disagrees"}


def test_a_lower_rate_of_false_alarms_is_a_higher_threshold() -> None:
    heights = [threshold(rate) for rate in (10.0, 1.0, 0.1)]
    assert heights == sorted(heights)
    rng = np.random.default_rng(4)
    raised = 0
    for _ in range(20):
        known, slow = Examination(), 0.0
        for day in range(365):
            slow = 0.45 * slow + np.sqrt(1.0 - 0.45**2) * rng.standard_normal()
            apart = 0.03 * slow
            gain = 1.0 + 0.03 * rng.standard_normal()
            bins = {4: (apart, 96)}
            shown = Day(day, 96, 5, apart, gain, 0.97, 0.97, 0.8, 0.4, 0.08, bins)
            before = bool(known.since)
            known.update(shown, heights[1])
            raised += bool(known.since) and not before
    assert raised / 20 < 1.0


def test_the_gain_of_many_windows_is_that_of_a_part_of_the_pairs() -> None:
    """1440 windows have a million pairs; only some of them are used."""
    rng = np.random.default_rng(5)
    x = np.sin(np.arange(1440) / 1440 * 2.0 * np.pi) + 0.1 * rng.standard_normal(1440)
    y = 0.8 * x + 0.05 * rng.standard_normal(1440)
    tracemalloc.start()
    assert _slope(x, y) == pytest.approx(0.8, abs=0.01)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000
