"""The reference's clock: found to the minute, with the right sign, and left alone where it is right."""

import numpy as np
import pytest

from model_export.doctor import clock
from model_export.doctor.diagnose import findings_of
from model_export.doctor.lag import Scan, scan
from model_export.doctor.minutes import on_minutes
from model_export.doctor.prepare import case_of
from model_export.recordings.mending import shifted
from model_export.recordings.recording import Recording
from tests.support.colocations import colocation
from tests.support.faults import late, late_from, running, swapped


def scanned(recording: Recording) -> Scan | None:
    return scan(on_minutes(recording))


@pytest.mark.parametrize("minutes", [-600, -37, 5, 60, 330])
@pytest.mark.parametrize("every", [1, 15])
def test_an_offset_is_found_within_a_minute(minutes: int, every: int) -> None:
    """Whatever the reference's cadence; a reference stamped too early must be moved later."""
    (finding,) = clock.check([case_of(late(colocation(every=every), minutes), "T-W")])
    assert (finding.code, finding.severity) == ("reference_clock_offset", "error")
    assert abs(finding.evidence["minutes"] - minutes) <= 1
    assert finding.evidence["low"] <= finding.evidence["minutes"] <= finding.evidence["high"]
    assert finding.evidence["r2_moved"] > finding.evidence["r2_as_stamped"]
    assert ("later" if minutes > 0 else "earlier") in finding.advice


@pytest.mark.parametrize("seed", range(5))
def test_a_right_clock_is_left_alone(seed: int) -> None:
    """Also one that is a minute off, as a sensor's answer is."""
    sound = colocation(seed=seed, air=seed)
    assert [*clock.check([case_of(sound, "T-W")])] == []
    assert clock.offset(scanned(late(sound, 1))) == 0


@pytest.mark.parametrize(("minutes", "every"), [(60, 1), (-60, 1), (60, 15), (10, 1)])
def test_a_clock_set_half_way_is_told_with_both_minutes(minutes: int, every: int) -> None:
    """One number for the whole recording would be wrong for one half of it."""
    case = case_of(late_from(colocation(every=every), minutes), "T-W")
    found = [one for one in findings_of([case]) if one.code.startswith("reference_clock")]
    assert [(one.code, one.severity) for one in found] == [("reference_clock_changed", "error")]
    assert abs(found[0].evidence["first_half"]["minutes"]) <= 1
    assert abs(found[0].evidence["second_half"]["minutes"] - minutes) <= 1
    assert case.minutes == 0
    assert "split the recording" in found[0].advice


def test_a_clock_that_loses_half_an_hour_is_not_told_as_one_offset() -> None:
    found = findings_of([case_of(running(colocation(days=12.0), 30.0), "T-W")])
    (finding,) = [one for one in found if one.code.startswith("reference_clock")]
    assert finding.code == "reference_clock_changed"
    assert finding.evidence["first_half"]["minutes"] == pytest.approx(7.5, abs=4.0)
    assert finding.evidence["second_half"]["minutes"] == pytest.approx(22.5, abs=4.0)


@pytest.mark.parametrize("minutes", [0, 4, 60])
def test_a_steady_clock_has_not_changed(minutes: int) -> None:
    case = case_of(late(colocation(), minutes), "T-W")
    assert not clock.changed(case.halves)
    assert abs(case.minutes - minutes) <= 1


def test_following_the_advice_makes_the_finding_go_away() -> None:
    """Moved, the recording is the sound one again."""
    spoilt = late(colocation(), 60)
    assert [*clock.check([case_of(shifted(spoilt, 60), "T-W")])] == []


@pytest.mark.parametrize("seed", range(5))
def test_a_sensor_that_does_not_answer_says_nothing_about_clocks(seed: int) -> None:
    """Some lag is always the best; that alone is no evidence."""
    dead = colocation(seed=seed, air=seed, answers=(0.0, 0.0))
    assert clock.offset(scanned(late(dead, 60))) == 0


def test_swapped_electrodes_do_not_hide_a_wrong_clock() -> None:
    """The regression does not care which column is which."""
    assert clock.offset(scanned(swapped(late(colocation(), 60)))) == 60


@pytest.mark.parametrize("columns", [("op1", "op2"), ("reference",), ("temperature",)], ids=str)
def test_a_constant_says_nothing_about_clocks(columns: tuple[str, ...]) -> None:
    """Every lag is as good as any other."""
    flat = colocation(days=4.0)
    for column in columns:
        flat.series[column].values[:] = 3.0
    assert clock.offset(scanned(flat)) == 0


def test_a_recording_too_short_to_scan_has_no_offset() -> None:
    assert clock.offset(None) == 0
    assert [*clock.check([case_of(colocation(days=0.2), "T-W")])] == []


def test_moving_is_exact_and_touches_the_reference_alone() -> None:
    sound = colocation(days=2.0)
    moved = shifted(sound, 7)
    assert np.array_equal(moved.series["reference"].at_ms, sound.series["reference"].at_ms + 420_000)
    assert moved.series["op1"] is sound.series["op1"]
    assert shifted(sound, 0) is sound
