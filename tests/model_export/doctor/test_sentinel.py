"""Values that mean "no value": found whatever the code, never in a sound recording."""

from dataclasses import replace

import numpy as np
import pytest

from model_export.doctor import dead, sentinel
from model_export.doctor.diagnose import findings_of
from model_export.doctor.prepare import case_of, case_without_reference
from model_export.recordings.recording import Recording, Series
from tests.support.colocations import colocation
from tests.support.faults import late, stuck, swapped
from tests.support.simulated import network


def coded(sound: Recording, column: str, code: float, share: float = 0.02, seed: int = 0) -> Recording:
    """A share of the values is replaced by a code."""
    series = sound.series[column]
    hit = np.random.default_rng(seed).random(len(series.values)) < share
    values = np.where(hit, code, series.values)
    return replace(sound, series={**sound.series, column: Series(series.at_ms, values)})


@pytest.mark.parametrize("column", ["op1", "temperature", "reference"])
@pytest.mark.parametrize("code", [-9999.0, -999.0, 65535.0, -12345.0])
def test_a_code_is_found_in_any_column(column: str, code: float) -> None:
    (found,) = sentinel.found_in(coded(colocation(days=3.0), column, code))
    assert (found.column, found.value) == (column, code)
    assert 0.01 < found.share < 0.03


def test_two_codes_in_one_column_are_both_found() -> None:
    both = coded(coded(colocation(days=3.0), "op1", -9999.0), "op1", -999.0, seed=1)
    assert [one.value for one in sentinel.found_in(both)] == [-9999.0, -999.0]


@pytest.mark.parametrize(
    "levels", [(206.1, 206.2), (0.0, 1.0), (-9999.0, 9999.0), (206.1, *(206.2,) * 98, 206.3)]
)
def test_a_column_of_a_few_levels_has_no_codes(levels: tuple[float, ...]) -> None:
    """A coarse converter, or a dead channel that flickers: nothing would be left of the column."""
    sound = colocation(days=3.0)
    series = sound.series["op2"]
    values = np.random.default_rng(0).choice(levels, len(series.values))
    flat = replace(sound, series={**sound.series, "op2": Series(series.at_ms, values)})
    assert sentinel.found_in(flat) == ()
    assert [one.sensor for one in dead.check([case_without_reference(flat, "T-W")])] == [sound.sensor]


def test_a_code_in_a_column_that_does_not_change_is_found() -> None:
    sound = colocation(days=3.0)
    series = sound.series["op2"]
    still = replace(sound, series={**sound.series, "op2": Series(series.at_ms, series.values * 0.0 + 206.1)})
    assert [one.value for one in sentinel.found_in(coded(still, "op2", -9999.0))] == [-9999.0]


def test_a_code_is_the_only_grave_finding_it_makes() -> None:
    """It is not called clipped or stuck as well, and the smooth law is fitted without it."""
    (finding,) = [
        one
        for one in findings_of([case_of(coded(colocation(), "op1", -9999.0), "T-W")])
        if one.severity == "error"
    ]
    assert finding.code == "sentinel_values"
    limit = finding.evidence["limit"]
    assert finding.advice == f"Leave them out with --drop-below op1={limit:g}, and fit again."
    assert -9999.0 < limit < finding.evidence["nearest"]


def test_other_faults_are_found_beside_a_code() -> None:
    spoilt = coded(swapped(late(colocation(), 60)), "op1", -9999.0)
    codes = {finding.code for finding in findings_of([case_of(spoilt, "T-W")])}
    assert {"sentinel_values", "reference_clock_offset", "channels_swapped"} <= codes


def test_a_few_codes_are_a_warning() -> None:
    found = findings_of([case_of(coded(colocation(), "op1", -9999.0, share=0.0004, seed=1), "T-W")])
    assert [one.severity for one in found if one.code == "sentinel_values"] == ["warning"]


@pytest.mark.parametrize("column", ["op1", "reference"])
def test_a_stuck_column_is_no_code(column: str) -> None:
    assert sentinel.found_in(stuck(colocation(), column)) == ()


def test_the_sound_network_has_none() -> None:
    for recording in network(seed=3).values():
        assert sentinel.found_in(recording) == ()
