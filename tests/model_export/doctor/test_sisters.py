"""Sister sensors in the same air, and the one that is not of the family."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from model_export.doctor import sisters
from model_export.doctor.case import Case
from model_export.doctor.prepare import case_of
from model_export.doctor.served import s5_minus_s2
from model_export.recordings.recording import Recording, Series
from tests.support.colocations import colocation, wander


@cache
def sister(number: int, days: float = 6.0) -> Case:
    """A sound sensor; all of them breathe the same air."""
    return case_of(higher(colocation(days, seed=number, sensor=f"S{number}"), 3.0 * number), "T-W")


def higher(recording: Recording, millivolts: float) -> Recording:
    """Another board's zero."""
    moved = {
        name: Series(recording.series[name].at_ms, recording.series[name].values + millivolts)
        for name in recording.channels
    }
    return replace(recording, series={**recording.series, **moved})


def stranger(answers: tuple[float, float] = (0.0, 0.0), millivolts: float = 100.0) -> Case:
    """A sensor whose channels know another gas than the reference's."""
    found = higher(colocation(6.0, seed=9, sensor="S9", answers=answers), millivolts)
    other = 20.0 * wander(np.random.default_rng(9), len(found.series["op1"].values), 60.0)
    op1 = Series(found.series["op1"].at_ms, found.series["op1"].values + other)
    return case_of(replace(found, series={**found.series, "op1": op1}), "T-W")


def test_a_stranger_among_four_is_named() -> None:
    """It follows the reference less, and its auxiliary stands apart."""
    (finding,) = sisters.check([*map(sister, range(4)), stranger()])
    assert (finding.code, finding.sensor, finding.severity) == ("cross_sensor_swap", "S9", "error")
    assert finding.evidence["explained"] < 0.1
    assert finding.evidence["explained_by_sisters"] > 0.5
    assert abs(finding.evidence["s5_minus_s2_of_sisters"]) < 0.1
    assert finding.evidence["datasets"].keys() == {"T-W"}


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (lambda: sister(4), "a sound sister"),
        (lambda: stranger(millivolts=3.0), "a dead cell whose auxiliary is where it should be"),
        (lambda: stranger(answers=(80.0, 0.0)), "another board that follows the reference"),
    ],
)
def test_what_only_looks_strange_is_not(case: Callable[[], Case], why: str) -> None:
    """Both signs are needed."""
    assert [*sisters.check([*map(sister, range(4)), case()])] == [], why


def test_sensors_in_other_air_are_not_sisters() -> None:
    """Each alone, nobody can be compared."""
    elsewhere = [case_of(colocation(6.0, seed=n, sensor=f"S{n}", air=n), "T-W") for n in range(1, 4)]
    assert [*sisters.check([*elsewhere, stranger()])] == []


def test_a_recording_too_short_to_scan_is_nobodys_sister() -> None:
    short = [sister(number, days=1.0) for number in range(4)]
    assert [*sisters.check(short)] == []


def test_a_sound_model_serves_its_sisters() -> None:
    """S5 - S2 near nothing; without windows in common it is not defined."""
    cases = [sister(number).windows for number in range(3)]
    assert s5_minus_s2(cases[0], cases[1:]) == pytest.approx(0.0, abs=0.05)
    assert np.isnan(s5_minus_s2(cases[0], []))
    assert np.isnan(s5_minus_s2(cases[0].part(slice(20)), cases[1:]))
