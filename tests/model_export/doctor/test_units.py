"""A factor of 1000 between what the reference says and what it is said to be."""

from dataclasses import replace

import numpy as np
import pytest

from model_export.doctor.units import (
    check,
    check_reference,
    remarks_beside,
    warn_against,
    warn_ambient,
    warn_outside,
    warn_temperature,
)
from tests.support.cases import of_windows
from tests.support.models import drawn, linear


@pytest.mark.parametrize(
    ("factor", "unit", "gas", "expected"),
    [
        (1.0, "ppm", "CO", None),
        (1000.0, "ppb", "CO", None),
        (1000.0, "ppm", "CO", "is not outdoor CO (0.02 to 50 ppm); --unit ppb would be"),
        (1.0, "ppb", "CO", "is not outdoor CO (20 to 50000 ppb); --unit ppm would be"),
        (20.0, "ppb", "NO2", None),
        (0.02, "ppb", "NO2", "is not outdoor NO2 (0.2 to 1000 ppb); --unit ppm would be"),
        (1.0, "mg/m3", "CO", None),
        (1e9, "ppm", "CO", "is not outdoor CO (0.02 to 50 ppm)"),
        (1000.0, "µg/m3", "CO", None),
        (1e9, "furlongs", "radon", None),
        (1e9, "ppm", "radon", None),
    ],
)
def test_a_wrong_unit_is_warned_of(factor: float, unit: str, gas: str, expected: str | None) -> None:
    """The warning names the range and, where there is one, the unit that would fit."""
    dataset = drawn(101)
    warning = warn_ambient(replace(dataset, unit=unit, target=dataset.target * factor), gas)
    assert expected == (warning and "is not" + warning.partition("is not")[2])


def test_a_unit_that_the_agent_cannot_convert_is_warned_of() -> None:
    assert warn_ambient(replace(drawn(101), unit="mg"), "CO") == (
        "drawn.csv: reference: expected a unit of CO such as ppm, ppb, mg/m3 or ug/m3, got mg; check --unit"
    )


def test_the_warning_shows_the_median() -> None:
    odd = replace(drawn(2), target=np.array([184.0, 306.0]))
    assert warn_ambient(odd, "CO") == (
        "drawn.csv: reference: a median of 245 ppm is not outdoor CO (0.02 to 50 ppm); --unit ppb would be"
    )


@pytest.mark.parametrize(("factor", "warned"), [(1.0, False), (30.0, False), (1000.0, True), (0.001, True)])
def test_a_reference_in_another_unit_than_the_model_is_warned_of(factor: float, warned: bool) -> None:
    """Only about a factor of 1000: a bad model is not a wrong unit."""
    dataset = drawn(101)
    warning = warn_against(linear(), replace(dataset, target=dataset.target * factor))
    assert warned == (warning is not None)


def test_the_warning_shows_both_medians() -> None:
    """So that the user sees which is wrong."""
    dataset = drawn(101)
    warning = warn_against(linear(), replace(dataset, target=dataset.target * 1000.0))
    assert warning == "drawn.csv: reference: a median of 1032 beside estimates of 1.032 ppm; is it in ppm?"


@pytest.mark.parametrize(
    ("zero", "step", "expected"),
    [
        (0.0, 1.0, None),
        (20.0, 1.0, None),
        (32.0, 1.8, "°F would be; convert it"),
        (273.15, 1.0, "K would be; convert it"),
        (-1000.0, 1.0, "check the thermometer"),
    ],
)
def test_a_thermometer_that_does_not_speak_celsius_is_warned_of(
    zero: float, step: float, expected: str | None
) -> None:
    """The text names the unit that would fit."""
    dataset = drawn(101)
    warning = warn_temperature(replace(dataset, auxiliary=zero + step * (dataset.auxiliary + 5.0)))
    assert expected == (warning and warning.partition("; ")[2])


def test_the_temperatures_are_shown() -> None:
    """So that the user sees what is meant."""
    dataset = replace(drawn(101), auxiliary=np.linspace(70.0, 100.0, 101))
    assert warn_temperature(dataset) == (
        "drawn.csv: temperature: mostly 71.5 to 98.5, which is not outdoor air in °C (-60 to 60); "
        "°F would be; convert it"
    )


def test_windows_outside_the_training_are_counted() -> None:
    """By the same rule that makes the agent flag them."""
    dataset = drawn(100)
    inside = replace(
        dataset, inputs=np.full((100, 2), [230.0, 200.0]), auxiliary=np.linspace(10.0, 30.0, 100)
    )
    assert warn_outside(linear(), inside) is None
    one = replace(inside, auxiliary=np.append(inside.auxiliary[:-1], 35.0))
    assert warn_outside(linear(), one) is None, "a single one is chance"
    warm = replace(inside, auxiliary=np.linspace(20.0, 40.0, 100))
    assert warn_outside(linear(), warm) == (
        "drawn.csv: 50% of this recording is outside the training range "
        "(temperature outside 10 to 30: 50%); fit again including such data"
    )


def test_a_range_that_is_hardly_left_is_not_named() -> None:
    """One window in 400 that leaves the range of op1 is not why the others do."""
    dataset = drawn(400)
    inputs = np.full((400, 2), [230.0, 200.0])
    inputs[0, 0] = 400.0
    warning = warn_outside(linear(), replace(dataset, inputs=inputs, auxiliary=np.linspace(20.0, 40.0, 400)))
    assert warning is not None
    assert "(temperature outside 10 to 30: 50%)" in warning


def test_remarks_are_all_that_is_odd() -> None:
    """Nothing for a sound recording, a line for each thing that is wrong."""
    dataset = drawn(101)
    assert [*check_reference(dataset, "CO", "T-W")] == []
    odd = replace(dataset, target=dataset.target * 1000.0, auxiliary=dataset.auxiliary * 1.8 + 32.0)
    assert [finding.code for finding in check_reference(odd, "CO", "T-W")] == ["reference_unit"]
    assert [finding.code for finding in check([of_windows(odd)])] == ["temperature_unit"]
    assert len(remarks_beside(linear(), odd)) == 3
