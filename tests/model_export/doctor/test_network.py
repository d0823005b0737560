"""The doctor on the simulated network: the paper's swap, the reference's moves, and no false alarm."""

from collections.abc import Callable
from functools import cache

import pytest

from model_export.doctor import sisters, zero_shift
from model_export.doctor.case import Case
from model_export.doctor.diagnose import findings_of
from model_export.doctor.prepare import case_of
from model_export.recordings.recording import Recording
from model_export.simulator.campaign import SENSORS, SWAPPED
from model_export.simulator.network import simulate
from tests.support import faults, simulated

NEVER = {"reference_clock_offset", "channels_swapped", "stuck_channel", "clipped_channel", "drift"}


@cache
def case(sensor: str, dataset: str, swapped: bool = False) -> Case:
    (found,) = simulated.network(1, (sensor,) if swapped else (), (sensor,), (dataset,)).values()
    return case_of(found, dataset)


def network(swapped: bool) -> list[Case]:
    """All six packages in one deployment."""
    return [case(sensor, "G-W", swapped and sensor in SWAPPED) for sensor in SENSORS]


def test_exactly_the_swapped_sensors_are_named() -> None:
    """CO and NOx swapped in 5092 and D3EB; their weights are erratic, nobody else's are."""
    found = findings_of(network(swapped=True))
    assert {one.sensor for one in found if one.code == "cross_sensor_swap"} == set(SWAPPED)
    assert {one.sensor for one in found if one.code == "erratic_weights"} == set(SWAPPED)
    assert not {one.code for one in found} & NEVER


def test_with_the_swap_corrected_nobody_is() -> None:
    found = findings_of(network(swapped=False))
    assert not {one.code for one in found} & {*NEVER, "cross_sensor_swap", "erratic_weights"}


def test_two_sisters_are_too_few_to_accuse_one() -> None:
    """One of them would be believed against the other."""
    few = [one for one in network(swapped=True) if one.sensor in ("5A2D", "5CB6", "5092")]
    assert [*sisters.check(few)] == []


def test_a_move_of_the_references_zero_is_measured() -> None:
    """Both sensors see the same move, as large as the simulator made it."""
    places = simulate(1, sensors=["5A2D"], datasets=["G-W", "C-W"]).colocations
    true = places["C-W"].analyser.zero - places["G-W"].analyser.zero
    cases = [case(sensor, dataset) for sensor in ("5A2D", "B5FF") for dataset in places]
    found = [*sisters.check(cases), *zero_shift.check(cases)]
    assert [(one.code, one.sensor) for one in found] == [
        ("reference_zero_shift", "5A2D"),
        ("reference_zero_shift", "B5FF"),
    ]
    for one in found:
        assert one.evidence["baseline"] == "G-W"
        shift = one.evidence["shifts"]["C-W"]
        assert abs(true) > shift["detectable"]
        assert shift["shift"] == pytest.approx(true, abs=0.04)


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda sound: faults.late(sound, -37), "reference_clock_offset"),
        (faults.swapped, "channels_swapped"),
        (lambda sound: faults.stuck(sound, "op1"), "stuck_channel"),
        (lambda sound: faults.clipped(sound, "op1"), "clipped_channel"),
        (lambda sound: faults.drifting(sound, 0.2), "drift"),
        (lambda sound: faults.shifted(sound, 0.2), "reference_zero_shift"),
    ],
    ids=["clock", "swapped", "stuck", "clipped", "drift", "step"],
)
def test_a_fault_put_in_is_found_and_no_other(spoil: Callable[[Recording], Recording], code: str) -> None:
    """Beside what the sound recording shows already."""
    (sound,) = simulated.network(1, sensors=["B5FF"], datasets=["C-S"]).values()
    before = {finding.code for finding in findings_of([case_of(sound, "C-S")])}
    spoilt = case_of(spoil(sound), "C-S")
    assert {finding.code for finding in findings_of([spoilt])} - before == {code}
    if code == "reference_clock_offset":
        assert abs(spoilt.minutes + 37) <= 1
