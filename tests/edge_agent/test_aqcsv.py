"""`edge-agent export --format aqcsv`: the EPA's 20 columns from a real journal."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from edge_agent.aqcsv import COLUMNS
from edge_agent.change import Change
from edge_agent.core.places import Position
from edge_agent.core.units import Conditions
from edge_agent.journal import Journal
from tests.edge_agent.test_export import AT_T, estimate, rows
from tests.edge_agent.test_export import journal as journal  # noqa: PLC0414 - a fixture
from tests.support.processes import run_program

SITES = """
[[sites]]
name = "T"
latitude = 52.5163
longitude = 13.3777
aqs = "276000000001"
elevation_m = 34.0
"""
ELSEWHERE: dict[str, Any] = {"position": Position(52.6, 13.4, 4.2, 0.5, 90), "site": "C"}


def export(directory: Path, *options: str, sites: str = SITES) -> subprocess.CompletedProcess[str]:
    config = directory / "edge-agent.toml"
    config.write_text(f'state = "{directory}"\n{sites}')
    command = [
        sys.executable,
        "-m",
        "edge_agent",
        "export",
        "--config",
        config,
        "--format",
        "aqcsv",
        *options,
    ]
    return run_program(command, env=dict(os.environ), capture_output=True, text=True)


def test_a_value_at_a_site_is_a_row_of_twenty_columns(journal: Journal, tmp_path: Path) -> None:
    journal.commit(Change(estimates=[estimate(0, "1FEA", **AT_T), estimate(1, **AT_T)]), now_ms=0)
    done = export(tmp_path)
    assert (done.returncode, done.stderr) == (0, "export: 2 rows\n")
    assert done.stdout.splitlines()[0] == ",".join(COLUMNS)
    assert rows(done)[1] == {
        "site": "276000000001",
        "data_status": "0",
        "action_code": "",
        "datetime": "20240201T0915+0000",
        "parameter": "42101",
        "duration": "15",
        "frequency": "",
        "value": "1.5",
        "unit": "007",
        "qc": "0",
        "poc": "2",
        "lat": "52.5163",
        "lon": "13.3777",
        "GISDatum": "WGS84",
        "elev": "34.0",
        "method_code": "",
        "mpc": "",
        "mpc_value": "",
        "uncertainty": "0.1",
        "qualifiers": "",
    }


def test_every_unit_becomes_ppm_and_every_quality_a_code(journal: Journal, tmp_path: Path) -> None:
    mass: dict[str, Any] = {"unit": "mg/m3", "unit_at": Conditions(25.0, 1013.25), "value": 1.1449}
    made = [
        estimate(0, **AT_T, **mass),
        estimate(1, **AT_T, unit="ppb", value=250.0, quality=3),
        estimate(2, **AT_T, quality=4),
        estimate(3, **AT_T, value=None, quality=9),
        estimate(4, **AT_T, unit="mV"),
    ]
    journal.commit(Change(estimates=made), now_ms=0)
    told = [(row["value"][:6], row["qc"]) for row in rows(export(tmp_path))]
    assert told == [("1.0000", "0"), ("0.25", "5"), ("2.5", "8")]


def test_what_has_no_place_is_left_out_and_counted(journal: Journal, tmp_path: Path) -> None:
    made = [estimate(0, **AT_T), estimate(1), estimate(2, **ELSEWHERE)]
    journal.commit(Change(estimates=made), now_ms=0)
    done = export(tmp_path)
    assert len(rows(done)) == 1
    words = "2 values without a position, or without a site with aqs, are left out"
    assert done.stderr.splitlines() == [f"export: {words}", "export: 1 rows"]


@pytest.mark.parametrize("sites", ["", SITES.replace("aqs", "# aqs")])
def test_without_any_place_it_fails_and_says_why(journal: Journal, tmp_path: Path, sites: str) -> None:
    journal.commit(Change(estimates=[estimate(0, **AT_T), estimate(1)]), now_ms=0)
    done = export(tmp_path, sites=sites)
    assert done.returncode == 1
    assert "expected estimates with a position, at a site with aqs" in done.stderr


def test_an_hour_is_at_a_site_if_all_its_windows_are(journal: Journal, tmp_path: Path) -> None:
    made = [estimate(index, **(AT_T if index < 7 else ELSEWHERE)) for index in range(8)]
    journal.commit(Change(estimates=made), now_ms=0)
    done = export(tmp_path, "--every", "1h")
    [row] = rows(done)
    assert (row["datetime"], row["duration"], row["value"]) == ("20240201T0900+0000", "60", "2.0")
    assert (row["lat"], row["uncertainty"]) == ("52.5163", "")
    assert "1 values without" in done.stderr


def test_only_estimates_are_exported_so(tmp_path: Path) -> None:
    done = export(tmp_path, "--what", "readings")
    assert done.returncode == 2
    assert "--format aqcsv: expected --what estimates, got readings" in done.stderr


def test_the_columns_are_those_of_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    table = text.split("| column | what the agent writes |")[1].split("\n\n")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == COLUMNS
    assert len(COLUMNS) == 20
