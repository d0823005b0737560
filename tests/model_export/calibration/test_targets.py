"""The figures of CEN/TS 17660-1 and of the EPA."""

import numpy as np
import pytest

from model_export.calibration.targets import rows, targets


def test_a_perfect_sensor_has_no_uncertainty_and_is_class_1() -> None:
    x = np.linspace(0.1, 8.0, 100)
    found = targets(x, x, "CO", "ppm")
    assert found.class_ == 1
    assert found.slope == pytest.approx(1.0)
    assert found.uncertainty_percent == pytest.approx(0.0, abs=1e-6)
    assert found.limit == pytest.approx(10.0 / 1.1644, rel=1e-4)


@pytest.mark.parametrize(("gain", "expected"), [(1.1, 1), (1.3, 2), (1.5, 3)])
def test_the_class_follows_the_error_at_the_limit(gain: float, expected: int) -> None:
    """A gain of 1.1 alone is an expanded uncertainty of 20 %."""
    x = np.linspace(0.1, 8.0, 100)
    found = targets(x, gain * x, "CO", "ppm")
    assert found.class_ == expected
    assert found.uncertainty_percent == pytest.approx(200.0 * (gain - 1.0))


def test_noise_counts_twice_its_standard_deviation() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 200.0, 20_000)
    found = targets(x, x + rng.normal(0.0, 5.0, len(x)), "NO2", "ug/m3")
    assert found.uncertainty_percent == pytest.approx(100.0 * 2.0 * 5.0 / 200.0, rel=0.05)
    assert found.precision == pytest.approx(5.0, rel=0.02)


def test_an_unknown_gas_has_no_limit_and_ozone_has_targets() -> None:
    x = np.linspace(10.0, 90.0, 50)
    assert targets(x, x, "radon", "ppb").class_ is None
    table = rows(targets(x, x, "O3", "ppb"), 1.0, 0.0, 0.0, "O3", "ppb")
    assert ("slope", "1.000", "EPA: 0.80 to 1.20") in table


def test_a_table_has_plain_numbers_and_no_row_about_an_unknown_limit() -> None:
    x = np.linspace(100.0, 9000.0, 50)
    for unit, limit in (("ppb", "8588 ppb"), ("ug/m3", "10000 ug/m3")):
        table = rows(targets(x, 1.5 * x, "CO", unit), 0.9, 1234.5, -1234.5, "CO", unit)
        assert f"expanded uncertainty at {limit}" in [row[0] for row in table]
        assert not any("e+" in cell for row in table for cell in row)
    table = rows(targets(x, x, "radon", "ppb"), 1.0, 0.0, 0.0, "radon", "ppb")
    assert not any("nan" in cell or "limit" in cell for row in table for cell in row)
