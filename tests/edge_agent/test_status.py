"""`edge-agent status`: a table on a terminal, JSON elsewhere, exit 1 for an agent that is not running."""

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from edge_agent import cli
from edge_agent.change import Change
from edge_agent.core.messages import format_time
from edge_agent.journal import FILE, Journal
from tests.support.processes import on_a_terminal
from tests.support.users import needs_root, nobody, public_directory


def record(age_s: float) -> dict[str, Any]:
    return {
        "v": 1,
        "agent": "van-1",
        "version": "0.1.0",
        "at": format_time(int(time.time() - age_s) * 1000),
        "interval_s": 60.0,
        "uptime_s": 93_784,
        "clock": "synchronised",
        "readings": {"accepted": 18, "too_late": 0, "rejected": 2},
        "outbox": {"depth": 3, "oldest_s": 61, "dropped": 0},
        "sensors": {
            "5A2D": {
                "model": "sha256:9f3c01ab23cd4567",
                "valid_until": "2024-05-06T00:00:00Z",
                "last_reading": "2024-02-01T10:14:58Z",
                "silent": [],
                "stuck": ["op1"],
                "suspected": ["drifting"],
            },
            "D3EB": {
                "model": None,
                "last_reading": None,
                "silent": ["op1", "op2"],
                "stuck": [],
                "suspected": [],
            },
        },
        "position": {"source": "van/position", "at": None, "age_s": 75, "site": "T", "fixes": {}},
        "reference": {
            "topic": "reference/{gas}",
            "last_reading": "2024-02-01T10:14:00Z",
            "readings": {"accepted": 77, "too_late": 1},
            "scores": {
                "5A2D": {
                    "windows": 96,
                    "bias": 0.0213,
                    "unit": "ppm",
                    "r2": 0.953,
                    "coverage": 0.885,
                    "level": 0.9,
                    "to": "2024-02-01T10:00:00Z",
                }
            },
        },
        "journal_bytes": 4_200_000,
        "rss_bytes": 61_300_000,
        "written_bytes": 1,
        "problems": [
            {
                "code": "stuck_channel",
                "since": "2024-02-01T10:00:00Z",
                "sensor": "5A2D",
                "advice": "check wiring and ADC",
            }
        ],
    }


def write(directory: Path, health: str) -> None:
    with closing(Journal(directory / FILE, 900_000)) as journal:
        journal.commit(Change(facts={"health": health}), now_ms=0)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGE_AGENT_STATE", str(tmp_path))
    return tmp_path


def test_a_terminal_gets_a_table(state: Path) -> None:
    told = record(age_s=2)
    write(state, json.dumps(told))
    code, text = on_a_terminal("status")
    lines = text.splitlines()
    assert code == 0
    assert lines[0] == "agent     van-1, running for 1 d 2 h, version 0.1.0"
    assert lines[1].startswith(f"report    {told['at'][:10]} {told['at'][11:19]} UTC, ")
    assert lines[2:] == [
        "clock     synchronised",
        "readings  18 accepted, 2 rejected",
        "position  van/position, newest fix 1 min 15 s old, at site T",
        "outbox    3 estimates wait, the oldest for 1 min 1 s; 0 dropped",
        "journal   4.2 MB; memory 61 MB",
        "score     5A2D: bias +0.0213 ppm, R² 0.95, the interval covers 88%, over 96 windows until "
        "2024-02-01 10:00:00 UTC",
        "problem   5A2D: stuck_channel since 2024-02-01 10:00:00 UTC: check wiring and ADC",
        "",
        "sensor  model             valid until  last reading             silent   stuck",
        "5A2D    9f3c01ab23cd4567  2024-05-06   2024-02-01 10:14:58 UTC  -        op1",
        "D3EB    none              -            none                     op1 op2  -",
    ]
    assert json.loads(on_a_terminal("status", "--json")[1]) == told


def test_a_pipe_gets_json(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = record(age_s=2)
    write(state, json.dumps(told))
    assert cli.main(["status"]) == 0
    assert json.loads(capsys.readouterr().out) == told


def test_an_agent_without_reports_is_not_running(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = record(age_s=7_200)
    write(state, json.dumps(told))
    assert cli.main(["status"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out) == told
    since = f"{told['at'][:10]} {told['at'][11:19]} UTC"
    line = err.splitlines()[-1]
    assert line.startswith(f"status: not running since {since}; its last health report is 2 h")
    code, text = on_a_terminal("status")
    assert (code, text.splitlines()[0]) == (1, "agent     van-1, not running, version 0.1.0")


@pytest.mark.parametrize("health", ["", "null", '{"at": 7}', '{"at": "x", "interval_s": 1}', "\x00[[["])
def test_a_damaged_record_is_one_line(state: Path, health: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(state, health)
    assert cli.main(["status"]) == 1
    expected = f"edge-agent: status: expected a health record, got {health!r}"
    assert capsys.readouterr().err.splitlines()[-1] == expected


@needs_root
def test_want_of_rights_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The journal, its directory, or the directory of the settings."""
    with public_directory() as directory:
        monkeypatch.setenv("EDGE_AGENT_STATE", str(directory / "state"))
        (directory / "state").mkdir()
        write(directory / "state", json.dumps(record(age_s=2)))
        assert cli.main(["status"]) == 0
        for place in (directory / "state" / FILE, directory / "state", directory):
            place.chmod(0o600)
            capsys.readouterr()
            with nobody():
                assert cli.main(["status"]) == 1
            told = capsys.readouterr()
            assert told.out == ""
            assert "ry sudo" in told.err.splitlines()[-1]
            with nobody():
                assert cli.main(["status", "--config", str(directory / "state" / "no.toml")]) != 0
            assert "Traceback" not in capsys.readouterr().err


def test_the_years_after_2100_are_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gateway without a battery may stand in any year."""
    health = json.dumps({**record(0.0), "at": "2106-02-07T06:28:15Z"})
    write(tmp_path, health)
    (tmp_path / "edge-agent.toml").write_text(f'state = "{tmp_path}"\n')
    assert cli.main(["status", "--config", str(tmp_path / "edge-agent.toml")]) == 0
    assert capsys.readouterr().out == f"{health}\n"
