"""Units: shares and masses at named conditions, there and back, and in every part of an estimate."""

from math import fsum, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.messages import Estimate, Reading, decode_estimate, encode_estimate
from edge_agent.core.model import Model
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.units import MG_IN, PPM_IN, Conditions, PublishUnit
from edge_agent.core.windows import Windows
from tests.conftest import make_model

EU, US = Conditions(20.0, 1013.25), Conditions(25.0, 1013.25)


@pytest.mark.parametrize(
    ("gas", "unit", "publish", "factor"),
    [
        # the factors that the EU's and the EPA's guidance print, to their digits
        ("CO", "ppm", PublishUnit("mg/m3", EU), 1.164),
        ("CO", "ppm", PublishUnit("mg/m3", US), 1.145),
        ("NO2", "ppb", PublishUnit("ug/m3", EU), 1.912),
        ("O3", "ppb", PublishUnit("ug/m3", EU), 1.995),
        ("SO2", "ppb", PublishUnit("ug/m3", EU), 2.663),
        ("NO", "ppb", PublishUnit("ug/m3", EU), 1.247),
        ("CO", "ppm", PublishUnit("ppb", EU), 1_000.0),
        ("CO", "mg/m³", PublishUnit("ppm", US), 0.873),
    ],
)
def test_the_factors_are_those_in_use(gas: str, unit: str, publish: PublishUnit, factor: float) -> None:
    assert publish.factor(gas, unit) == pytest.approx(factor, abs=6e-4)


@given(
    st.sampled_from([*PPM_IN, *MG_IN]),
    st.sampled_from([*PPM_IN, *MG_IN]),
    st.sampled_from(["CO", "NO2", "O3"]),
)
def test_there_and_back_is_one(unit: str, other: str, gas: str) -> None:
    there, back = PublishUnit(other, EU).factor(gas, unit), PublishUnit(unit, EU).factor(gas, other)
    assert there
    assert back
    assert isclose(there * back, 1.0, rel_tol=1e-12)


@pytest.mark.parametrize(("gas", "unit"), [("CO", "mV"), ("CH4", "ppm"), ("", "")])
def test_what_is_unknown_stays(gas: str, unit: str) -> None:
    assert PublishUnit("mg/m3", EU).factor(gas, unit) is None


def estimated(model: Model, publish: PublishUnit | None) -> Estimate:
    levels = (("op1", 231.0), ("op2", 206.0), ("temperature", 24.0))
    stream = [Reading("5A2D", name, n * 60_000, level) for n in range(15) for name, level in levels]
    pipeline = Pipeline(Windows(), {"5A2D": model}, publish=publish)
    [estimate] = pipeline.replay(stream)
    return estimate


def test_an_estimate_is_converted_with_its_interval_and_weights() -> None:
    """value = sum of weight × input + bias in the new unit, too."""
    before, after = estimated(make_model(), None), estimated(make_model(), PublishUnit("ug/m3", EU))
    factor = PublishUnit("ug/m3", EU).factor("CO", "ppm")
    assert factor
    assert (before.unit, before.unit_at) == ("ppm", None)
    assert (after.unit, after.unit_at) == ("ug/m3", EU)
    for name in ("value", "low", "high"):
        assert getattr(after, name) == getattr(before, name) * factor
    assert after.weights
    parts = [after.inputs.get(name, 1.0) * weight for name, weight in after.weights.items()]
    assert fsum(parts) == pytest.approx(after.value)
    decoded = decode_estimate(encode_estimate(after))
    assert (decoded.unit, decoded.unit_at) == ("ug/m3", EU)


def test_a_model_that_cannot_be_converted_keeps_its_unit() -> None:
    strange = make_model(unit="counts")
    assert estimated(strange, PublishUnit("mg/m3", EU)) == estimated(strange, None)


def test_shares_depend_on_no_conditions() -> None:
    assert estimated(make_model(), PublishUnit("ppb", EU)).unit_at is None
