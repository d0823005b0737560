"""Zeros that move between deployments."""

from dataclasses import replace

import numpy as np
import pytest

from model_export.doctor import zero_shift
from model_export.doctor.case import Case
from model_export.doctor.minutes import DAY_MS
from model_export.recordings.dataset import Dataset, windows
from tests.support.cases import of_windows
from tests.support.colocations import FIRST_MS, colocation


def deployments(*zeros: float, gain: float = 1.0) -> tuple[list[str], list[Dataset]]:
    """Deployments a month apart whose reference is off by these zeros; the last has the gain."""
    found = []
    for place, zero in enumerate(zeros):
        sound = windows(colocation(8.0, place, air=place, first_ms=FIRST_MS + 30 * place * DAY_MS), "ppm")
        factor = gain if place == len(zeros) - 1 else 1.0
        found.append(replace(sound, target=factor * sound.target + zero))
    return [f"{place}-W" for place in range(len(zeros))], found


def cases(names: list[str], datasets: list[Dataset]) -> list[Case]:
    return [replace(of_windows(means), dataset=name) for name, means in zip(names, datasets, strict=True)]


def test_shifts_are_found_with_their_size() -> None:
    """Against the deployment in the middle; a change of gain is not taken for one of zero."""
    names, datasets = deployments(0.0, -0.2, 0.3, gain=1.1)
    found = zero_shift.shifts(names, datasets)
    assert found.baseline == "0-W"
    assert {one.dataset: one.shift for one in found.others} == {
        "1-W": pytest.approx(-0.2, abs=0.03),
        "2-W": pytest.approx(0.3, abs=0.03),
    }
    assert found.others[-1].gain == pytest.approx(1.1, abs=0.05)
    (finding,) = zero_shift.check(cases(names, datasets))
    assert (finding.code, finding.sensor, finding.dataset) == ("reference_zero_shift", "5A2D", None)
    assert {name for name, one in finding.evidence["shifts"].items() if one["moved"]} == {"1-W", "2-W"}


def test_steady_zeros_are_left_alone() -> None:
    """Shifts below the detectable size are measured, not called."""
    names, datasets = deployments(0.0, 0.01, -0.01)
    found = zero_shift.shifts(names, datasets)
    assert [*zero_shift.check(cases(names, datasets))] == []
    assert all(abs(one.shift) < 0.03 for one in found.others)


def test_of_two_deployments_the_first_is_the_baseline() -> None:
    """Whichever way the second moved."""
    for zero in (-0.3, 0.3):
        found = zero_shift.shifts(*deployments(0.0, zero))
        assert found.baseline == "0-W"
        assert found.others[0].shift == pytest.approx(zero, abs=0.03)


def test_the_law_and_the_zeros_are_those_of_least_squares() -> None:
    """Without outliers or noise in the law, offsets and slopes equal a plain regression's per deployment."""
    names, datasets = deployments(0.0, 0.2, -0.1)
    found = zero_shift.shifts(names, datasets)
    terms, target, owner = zero_shift._pooled(datasets)
    own = (owner[:, None] == np.arange(3)).astype(float)
    law = np.linalg.lstsq(np.column_stack([terms, own]), target, rcond=None)[0]
    base = names.index(found.baseline)
    estimate = terms @ law[:-3] + law[-3 + base]
    intercepts = [np.polyfit(estimate[owner == place], target[owner == place], 1)[1] for place in range(3)]
    expected = {names[place]: intercepts[place] - intercepts[base] for place in range(3) if place != base}
    assert {one.dataset: one.shift for one in found.others} == pytest.approx(expected, abs=0.01)
