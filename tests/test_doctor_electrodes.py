"""Which electrode answers the gas decides which is the working one."""

import pytest

from model_export.doctor import clock, electrodes
from model_export.doctor.finding import Finding
from model_export.doctor.lag import scan
from model_export.doctor.minutes import on_minutes
from model_export.tables import Recording
from tests.colocations import colocation
from tests.faults import late, swapped


def examined(recording: Recording) -> list[Finding]:
    found = scan(on_minutes(recording))
    return electrodes.examine(found, clock.offset(found), recording.channels, "5A2D", "T-W")


@pytest.mark.parametrize("every", [1, 15])
def test_swapped_electrodes_are_found(every: int) -> None:
    """And what each answers is told."""
    (finding,) = examined(swapped(colocation(every=every)))
    assert (finding.code, finding.severity) == ("channels_swapped", "error")
    evidence = finding.evidence
    assert evidence["op2_per_reference"] > 10 * abs(evidence["op1_per_reference"])
    assert 0.0 < evidence["difference_at_least"] < evidence["difference"]
    assert "--columns op1=op2,op2=op1" in finding.advice


def test_swapped_electrodes_are_found_behind_a_wrong_clock() -> None:
    """Both faults at once, as in the recordings that were published so."""
    assert [finding.code for finding in examined(swapped(late(colocation(), 60)))] == ["channels_swapped"]


@pytest.mark.parametrize(
    "answers",
    [
        (80.0, 0.0),
        (80.0, 40.0),
        (80.0, -10.0),
        (40.0, 40.0),
        (0.0, 0.0),
        (-80.0, 0.0),
        (80.0,),
        (0.0, 80.0, 0.0),
    ],
    ids=str,
)
def test_what_is_not_plainly_swapped_is_left_alone(answers: tuple[float, ...]) -> None:
    """An auxiliary that answers too, two alike, none at all, one upside down, one alone, three."""
    assert examined(colocation(answers=answers)) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_weak_answer_raises_no_alarm(seed: int) -> None:
    """An electrode that hardly answers beside one that does not is not proof of anything."""
    assert examined(colocation(seed=seed, air=seed, answers=(0.3, 0.0), noise=0.1)) == []
