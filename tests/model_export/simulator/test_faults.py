"""Faults on a journey: each changes what it says, from its time on, and nothing else."""

import numpy as np
import pytest

from edge_agent.core.errors import BadSettings
from model_export.simulator.air import Air
from model_export.simulator.faults import SETTLING, Fault, parse_fault
from model_export.simulator.package import Signals, draw_package
from model_export.simulator.van import drive, stretch_air, stretch_signals

SEED = 1
HOURS = np.arange(14 * 1_440) / 60


@pytest.fixture(scope="module")
def air() -> Air:
    return stretch_air(SEED, 0)


@pytest.fixture(scope="module")
def sound(air: Air) -> Signals:
    return stretch_signals(SEED, 0, "5A2D", air, swapped=False)


def faulty(air: Air, *faults: str, number: int = 0) -> Signals:
    return stretch_signals(SEED, number, "5A2D", air, False, [parse_fault(text) for text in faults])


def ppm(faulty: Signals, sound: Signals) -> np.ndarray:
    """The change of op1 in ppm at 20 °C."""
    pair = draw_package(SEED, "5A2D").co
    return np.asarray((faulty.op1 - sound.op1) / (pair.gains[0] * pair.cell.sensitivity))


def test_a_zero_drifts_in_a_straight_line_and_stays(air: Air, sound: Signals) -> None:
    """Half of it after half of the time; the auxiliary electrode and the thermometer are as before."""
    drifted = faulty(air, "5A2D=zero:-0.1@2d..6d")
    expected = -0.1 * np.clip((HOURS - 48) / 96, 0.0, 1.0)
    assert ppm(drifted, sound) == pytest.approx(expected, abs=1e-9)
    assert np.array_equal(drifted.op2, sound.op2)
    assert np.array_equal(drifted.temperature, sound.temperature)


def test_a_fault_goes_on_in_the_next_stretch(air: Air) -> None:
    """Times count from the start of the journey, not of the stretch."""
    before = stretch_signals(SEED, 1, "5A2D", air, swapped=False)
    assert ppm(faulty(air, "5A2D=zero:0.2@1d..10d", number=1), before) == pytest.approx(0.2)


def test_lost_sensitivity_costs_its_share_of_every_ppm(air: Air, sound: Signals) -> None:
    """The more gas, the more is missing: a fifth of what the cell sees, which depends on temperature."""
    pair = draw_package(SEED, "5A2D").co
    missing = ppm(faulty(air, "5A2D=sensitivity:0.2@7d"), sound)
    assert not missing[HOURS < 168].any()
    late = HOURS >= 168
    share = missing[late] / air.co[late]
    warmest = pair.cell.sensitivity_at(np.array([0.0, 50.0])) / pair.cell.sensitivity
    assert np.all((share < -0.2 * warmest[0] * 0.8) & (share > -0.2 * warmest[1] * 1.2))
    assert np.corrcoef(missing[late], air.co[late])[0, 1] < -0.98


def test_a_swap_in_mid_journey_exchanges_the_electrodes_from_then_on(air: Air, sound: Signals) -> None:
    """Before it the package is sound, after it the package is that of `swapped`; to the last bit."""
    swapped = stretch_signals(SEED, 0, "5A2D", air, swapped=True)
    during = faulty(air, "5A2D=swap@3d..4d")
    inside = (HOURS >= 72) & (HOURS < 96)
    assert np.array_equal(during.op1, np.where(inside, swapped.op1, sound.op1))
    assert np.array_equal(during.op2, np.where(inside, swapped.op2, sound.op2))
    assert np.array_equal(during.temperature, sound.temperature)


def test_a_stuck_electrode_shows_the_zero_of_the_board(air: Air, sound: Signals) -> None:
    stuck = faulty(air, "5A2D=stuck@1h")
    assert set(stuck.op1[60:]) == {draw_package(SEED, "5A2D").co.offsets[0]}
    assert np.array_equal(stuck.op1[:60], sound.op1[:60])
    assert np.array_equal(stuck.op2, sound.op2)


def test_a_package_put_back_settles(air: Air, sound: Signals) -> None:
    """Nothing while it is out; then a shift that falls to 1/e in two hours; soon it is sound again."""
    out = faulty(air, "5A2D=out@1h..3h")
    away = (HOURS >= 1) & (HOURS < 3)
    for channel in ("op1", "op2", "temperature"):
        assert np.array_equal(np.isnan(getattr(out, channel)), away)
    shift = ppm(out, sound)
    assert shift[[180, 300]] == pytest.approx([SETTLING, SETTLING / np.e])
    assert abs(shift[HOURS > 30]).max() < 1e-6


def test_the_van_sends_nothing_of_a_package_that_is_out() -> None:
    """The others send on, and nothing of theirs changes."""
    stream = zip(drive(SEED, 0), drive(SEED, 0, faults=[parse_fault("5A2D=out@2min..4min")]), strict=False)
    for number, (sound, faulty) in zip(range(4), stream, strict=False):
        assert ("5A2D" in faulty.readings) == (number < 2)
        assert faulty.readings == {name: sound.readings[name] for name in faulty.readings}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("5A2D", "fault: expected for example 5A2D=zero:0.1@10d..40d, got '5A2D'"),
        ("5A2D=zero:nan@1d", "fault: expected for example 5A2D=zero:0.1@10d..40d, got '5A2D=zero:nan@1d'"),
        ("5A2D=zero@1d", "fault: expected a size for zero and sensitivity only, got '5A2D=zero@1d'"),
        ("5A2D=swap:1@1d", "fault: expected a size for zero and sensitivity only, got '5A2D=swap:1@1d'"),
        ("5A2D=out@2d..1d", "fault: expected an end after the start, got '5A2D=out@2d..1d'"),
    ],
)
def test_what_is_no_fault_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(BadSettings) as caught:
        parse_fault(text)
    assert str(caught.value) == complaint


def test_a_fault_of_nobody_is_refused() -> None:
    with pytest.raises(BadSettings, match=r"fault: expected some of .*, got nobody"):
        next(drive(SEED, 0, faults=[Fault("nobody", "swap", 0)]))
