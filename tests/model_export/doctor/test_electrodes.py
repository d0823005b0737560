"""Which electrode answers the gas decides which is the working one."""

from dataclasses import replace

import pytest

from model_export.doctor import electrodes
from model_export.doctor.finding import Finding
from model_export.doctor.prepare import case_of
from model_export.recordings.recording import Recording, Series
from tests.support.colocations import colocation
from tests.support.faults import late, swapped


def examined(recording: Recording) -> list[Finding]:
    return [*electrodes.check([case_of(recording, "T-W")])]


@pytest.mark.parametrize("every", [1, 15])
def test_swapped_electrodes_are_found(every: int) -> None:
    """And what each answers is told."""
    (finding,) = examined(swapped(colocation(every=every)))
    assert (finding.code, finding.severity) == ("channels_swapped", "error")
    evidence = finding.evidence
    assert evidence["op2_per_reference"] > 10 * abs(evidence["op1_per_reference"])
    assert 0.0 < evidence["difference_at_least"] < evidence["difference"]
    assert "--swap op1,op2" in finding.advice


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


@pytest.mark.parametrize("answer", [8.0, -8.0])
def test_an_auxiliary_that_answers_a_little_is_found_in_the_place_of_the_other(answer: float) -> None:
    assert [one.code for one in examined(colocation(days=4.0, answers=(answer, 80.0)))] == [
        "channels_swapped"
    ]


@pytest.mark.parametrize("answer", [30.0, -30.0])
def test_a_second_cell_that_answers_more_is_not_an_electrode_in_the_wrong_column(answer: float) -> None:
    """NO2 falls where O3 rises: beside a cell for O3, one for NO2 follows the reference, too."""
    assert examined(colocation(days=4.0, answers=(answer, 80.0))) == []


@pytest.mark.parametrize("gain", [0.5, 2.0, 1000.0])
def test_a_copy_with_another_gain_is_not_swapped(gain: float) -> None:
    """It answers more in millivolts, and no better."""
    sound = colocation()
    op1 = sound.series["op1"]
    copy = Series(op1.at_ms, gain * op1.values + 1.0)
    assert examined(replace(sound, series={**sound.series, "op2": copy})) == []


@pytest.mark.parametrize("gain", [2.0, 100.0])
def test_an_auxiliary_of_larger_gain_that_answers_a_little_is_not_swapped(gain: float) -> None:
    sound = colocation(answers=(80.0, 50.0))
    op2 = sound.series["op2"]
    louder = Series(op2.at_ms, gain * op2.values)
    assert examined(replace(sound, series={**sound.series, "op2": louder})) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_weak_answer_raises_no_alarm(seed: int) -> None:
    """An electrode that hardly answers beside one that does not is not proof of anything."""
    assert examined(colocation(seed=seed, air=seed, answers=(0.3, 0.0), noise=0.1)) == []
