"""Channels that show the noise of their amplifier and nothing else."""

import pytest

from model_export.doctor import dead
from model_export.doctor.diagnose import findings_of
from model_export.doctor.prepare import case_of
from model_export.recordings.dataset import windows
from tests.model_export.doctor.test_sisters import sister
from tests.support import faults
from tests.support.cases import without_scan
from tests.support.colocations import colocation


@pytest.mark.parametrize("columns", [("op1",), ("op2",), ("op1", "op2")], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_dead_channel_is_named(columns: tuple[str, ...], seed: int) -> None:
    """Either electrode, or an unplugged package."""
    found = [*dead.check([without_scan(faults.dead(colocation(), *columns, seed=seed))])]
    assert [(finding.code, finding.severity) for finding in found] == [("dead_channel", "error")] * len(
        columns
    )
    assert tuple(finding.evidence["column"] for finding in found) == columns
    assert found[0].evidence["correlation"] <= found[0].evidence["noise_at_most"] < 0.2


@pytest.mark.parametrize("answers", [(80.0, 0.0), (0.0, 0.0), (0.0,)], ids=str)
def test_a_channel_that_only_feels_the_weather_is_alive(answers: tuple[float, ...]) -> None:
    """An auxiliary is meant to; a cell of another gas does too."""
    assert dead.dead(windows(colocation(answers=answers), "ppm")) == ()


def test_a_constant_is_stuck_and_an_afternoon_says_nothing() -> None:
    flat = colocation()
    flat.series["op2"].values[:] = 200.0
    assert dead.dead(windows(flat, "ppm")) == ()
    assert dead.dead(windows(faults.dead(colocation(days=0.4), "op1"), "ppm")) == ()


def test_a_dead_working_electrode_is_not_called_swapped() -> None:
    """The other one answers more, but not because it is the working one."""
    spoilt = faults.dead(colocation(answers=(80.0, 20.0)), "op1", millivolts=200.0)
    codes = [finding.code for finding in findings_of([case_of(spoilt, "T-W")])]
    assert codes[0] == "dead_channel"
    assert "channels_swapped" not in codes


def test_an_unplugged_package_is_nobodys_electrodes() -> None:
    """Noise around 0 mV lies where no sister's does, and is not another gas's."""
    unplugged = case_of(faults.dead(colocation(6.0, seed=9, sensor="S9"), "op1", "op2"), "T-W")
    found = findings_of([*map(sister, range(4)), unplugged])
    assert {one.code for one in found if one.sensor == "S9"} >= {"dead_channel"}
    assert not [one for one in found if one.code == "cross_sensor_swap"]
