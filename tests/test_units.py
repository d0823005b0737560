"""A factor of 1000 between what the reference says and what it is said to be."""

from dataclasses import replace

import pytest

from model_export.units import warn_against, warn_ambient
from tests.models import drawn, linear


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
        (1e9, "furlongs", "CO", None),
        (1e9, "ppm", "radon", None),
    ],
)
def test_a_wrong_unit_is_warned_of(factor: float, unit: str, gas: str, expected: str | None) -> None:
    """The warning names the range and, where there is one, the unit that would fit."""
    dataset = drawn(101)
    warning = warn_ambient(replace(dataset, unit=unit, target=dataset.target * factor), gas)
    assert expected == (warning and "is not" + warning.partition("is not")[2])


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
