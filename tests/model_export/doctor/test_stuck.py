"""Columns that stand still or hit a rail."""

from dataclasses import replace

import numpy as np
import pytest

from model_export.doctor import clipped, stuck
from model_export.doctor.diagnose import findings_of
from model_export.doctor.finding import Finding
from model_export.doctor.prepare import case_of
from model_export.recordings.recording import Recording, Series
from tests.support import faults
from tests.support.cases import without_scan
from tests.support.colocations import colocation


def stuck_in(recording: Recording) -> list[Finding]:
    return [*stuck.check([without_scan(recording)])]


def clipped_in(recording: Recording) -> list[Finding]:
    return [*clipped.check([without_scan(recording)])]


@pytest.mark.parametrize("column", ["op1", "op2", "temperature"])
def test_a_stuck_column_is_named_with_its_hours(column: str) -> None:
    (finding,) = stuck_in(faults.stuck(colocation(days=5.0), column, hours=6.0))
    assert (finding.code, finding.evidence["column"]) == ("stuck_channel", column)
    assert finding.evidence["minutes"] == pytest.approx(359.0)
    assert finding.evidence["from"] == "2024-02-03T12:00:00Z"


@pytest.mark.parametrize("times", [5, 6, 10, 30])
def test_a_column_that_sticks_again_and_again_is_found_with_every_stretch(times: int) -> None:
    """What may be the fault has no say in what is usual, however often it comes back."""
    (finding,) = stuck_in(faults.stuck(colocation(days=10.0), "op1", 1.5, times))
    assert finding.evidence["stretches"] == times
    assert finding.evidence["total_minutes"] == pytest.approx(89.0 * times)
    assert finding.evidence["share"] == pytest.approx(90.0 * times / 14_400)
    assert finding.severity == ("error" if times > 3 else "warning")
    assert f"{times} times" in finding.summary


def test_a_column_that_sticks_while_values_are_lost_is_found() -> None:
    """An hour and a half is that, however many of its minutes came; a shorter one hides no other."""
    spoilt = faults.stuck(colocation(days=10.0), "op1", 1.5, times=30)
    spoilt.series["op1"].values[100:140] = 200.0
    op1, there = spoilt.series["op1"], np.random.default_rng(0).random(14_400) < 0.6
    gaps = replace(spoilt, series={**spoilt.series, "op1": Series(op1.at_ms[there], op1.values[there])})
    (finding,) = stuck_in(gaps)
    assert finding.evidence["stretches"] == 30


def test_a_stuck_working_electrode_is_not_called_swapped() -> None:
    """Stuck values are left out of the other checks."""
    spoilt = faults.stuck(colocation(days=12.0, answers=(80.0, 15.0)), "op1", hours=24.0, times=8)
    assert [finding.code for finding in findings_of([case_of(spoilt, "T-W")])][:1] == ["stuck_channel"]
    assert not [
        finding for finding in findings_of([case_of(spoilt, "T-W")]) if finding.code == "channels_swapped"
    ]


def test_a_stuck_reference_that_comes_every_quarter_of_an_hour_is_found() -> None:
    (finding,) = stuck_in(faults.stuck(colocation(days=5.0, every=15), "reference", hours=4.0))
    assert finding.evidence["column"] == "reference"


def test_a_sound_recording_never_stands_still_or_hits_a_rail() -> None:
    sound = colocation(days=5.0)
    assert stuck_in(sound) + clipped_in(sound) == []


def coarse(recording: Recording, column: str, step: float) -> Recording:
    series = recording.series[column]
    rounded = Series(series.at_ms, np.round(series.values / step) * step)
    return Recording("x", "x", recording.channels, {**recording.series, column: rounded}, {}, ())


@pytest.mark.parametrize("step", [0.1, 0.5, 2.0])
def test_a_coarse_thermometer_is_not_stuck(step: float) -> None:
    """Its runs are long, but the longest is one of them; and its ends are no rails."""
    rough = coarse(colocation(days=8.0), "temperature", step)
    assert stuck_in(rough) + clipped_in(rough) == []


@pytest.mark.parametrize("column", ["op1", "op2"])
def test_a_clipped_column_is_named_with_its_rail(column: str) -> None:
    spoilt = faults.clipped(colocation(days=5.0), column)
    (finding,) = clipped_in(spoilt)
    assert (finding.code, finding.evidence["column"]) == ("clipped_channel", column)
    assert (finding.evidence["side"], finding.severity) == ("highest", "error")
    assert finding.evidence["value"] == spoilt.series[column].values.max()
    assert finding.evidence["share"] == pytest.approx(0.02, rel=0.01)


@pytest.mark.parametrize("seed", range(4))
def test_a_clipped_reference_that_comes_every_quarter_of_an_hour_is_found(seed: int) -> None:
    """Some twenty values are enough."""
    spoilt = faults.clipped(colocation(days=10.0, seed=seed, air=seed, every=15), "reference")
    assert [finding.evidence["column"] for finding in clipped_in(spoilt)] == ["reference"]


def test_a_floor_is_found_like_a_ceiling() -> None:
    sound = colocation(days=5.0)
    op1 = sound.series["op1"]
    floor = Series(op1.at_ms, np.maximum(op1.values, np.quantile(op1.values, 0.01)))
    spoilt = Recording("x", "x", sound.channels, {**sound.series, "op1": floor}, {}, ())
    (finding,) = clipped_in(spoilt)
    assert finding.evidence["side"] == "lowest"


def test_one_stuck_stretch_at_the_top_is_stuck_and_not_clipped() -> None:
    """A rail is visited again and again."""
    sound = colocation(days=5.0)
    op1 = sound.series["op1"]
    values = op1.values.copy()
    values[1000:1300] = values.max() + 50.0
    spoilt = Recording("x", "x", sound.channels, {**sound.series, "op1": Series(op1.at_ms, values)}, {}, ())
    assert clipped_in(spoilt) == []
    assert [finding.code for finding in stuck_in(spoilt)] == ["stuck_channel"]
