"""`edge-agent status --prometheus`: the health record in the text format of Prometheus."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from edge_agent import cli
from edge_agent.prometheus import exposition
from tests.edge_agent.test_status import record, state, write
from tests.support.needs import require
from tests.support.processes import run_program

__all__ = ["state"]

HEALTH: dict[str, Any] = {
    **record(age_s=2),
    "at": "2024-02-01T10:15:00Z",
    "bundles": {"loaded": 1, "refused": 0, "reasons": []},
}
EXPECTED = """\
edge_agent_up{agent="van-1"} 1
edge_agent_info{agent="van-1",version="0.1.0"} 1
edge_agent_health_timestamp_seconds{agent="van-1"} 1706782500
edge_agent_uptime_seconds{agent="van-1"} 93784
edge_agent_clock_synchronised{agent="van-1"} 1
edge_agent_readings_total{agent="van-1",outcome="accepted"} 18
edge_agent_readings_total{agent="van-1",outcome="too_late"} 0
edge_agent_readings_total{agent="van-1",outcome="rejected"} 2
edge_agent_readings_waiting{agent="van-1"} 0
edge_agent_outbox_estimates{agent="van-1"} 3
edge_agent_outbox_oldest_seconds{agent="van-1"} 61
edge_agent_estimates_dropped_total{agent="van-1"} 0
edge_agent_bundles_loaded{agent="van-1"} 1
edge_agent_bundles_refused{agent="van-1"} 0
edge_agent_journal_bytes{agent="van-1"} 4200000
edge_agent_memory_bytes{agent="van-1"} 61300000
edge_agent_written_bytes_total{agent="van-1"} 1
edge_agent_sensor_last_reading_timestamp_seconds{agent="van-1",sensor="5A2D"} 1706782498
edge_agent_sensor_has_model{agent="van-1",sensor="5A2D"} 1
edge_agent_sensor_has_model{agent="van-1",sensor="D3EB"} 0
edge_agent_sensor_calibration_valid_until_timestamp_seconds{agent="van-1",sensor="5A2D"} 1714953600
edge_agent_sensor_silent_channels{agent="van-1",sensor="5A2D"} 0
edge_agent_sensor_silent_channels{agent="van-1",sensor="D3EB"} 2
edge_agent_sensor_stuck_channels{agent="van-1",sensor="5A2D"} 1
edge_agent_sensor_stuck_channels{agent="van-1",sensor="D3EB"} 0
edge_agent_sensor_suspected{agent="van-1",sensor="5A2D",reason="drifting"} 1
edge_agent_problem{agent="van-1",code="stuck_channel",sensor="5A2D"} 1
edge_agent_reference_last_reading_timestamp_seconds{agent="van-1"} 1706782440
edge_agent_reference_readings_total{agent="van-1",outcome="accepted"} 77
edge_agent_reference_readings_total{agent="van-1",outcome="too_late"} 1
edge_agent_score_bias{agent="van-1",sensor="5A2D",unit="ppm"} 0.0213
edge_agent_score_r2{agent="van-1",sensor="5A2D"} 0.953
edge_agent_score_coverage{agent="van-1",sensor="5A2D"} 0.885
edge_agent_score_level{agent="van-1",sensor="5A2D"} 0.9
edge_agent_score_windows{agent="van-1",sensor="5A2D"} 96
edge_agent_score_end_timestamp_seconds{agent="van-1",sensor="5A2D"} 1706781600
"""


def samples(text: str) -> str:
    return "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("#"))


def promtool(*arguments: object, text: str = "") -> subprocess.CompletedProcess[str]:
    require("prometheus")
    return run_program(["promtool", *arguments], input=text, capture_output=True, text=True)


def test_every_number_of_health_is_a_sample() -> None:
    assert samples(exposition(HEALTH, running=True)) == EXPECTED


def test_without_a_reference_there_is_no_score_and_no_unknown_figure_is_a_number() -> None:
    [score] = HEALTH["reference"]["scores"].values()
    partly = {**HEALTH["reference"], "scores": {"5A2D": {**score, "r2": None, "coverage": None}}}
    for reference, expected in ((None, 0), (partly, 4)):
        text = samples(exposition({**HEALTH, "reference": reference}, running=True))
        assert text.count("edge_agent_score_") == expected


def test_each_name_is_announced_once_before_its_samples() -> None:
    announced: list[str] = []
    for line in exposition(HEALTH, running=True).splitlines():
        if line.startswith("# TYPE"):
            announced.append(line.split()[2])
        elif not line.startswith("#"):
            assert line.partition("{")[0] == announced[-1]
    assert len(announced) == len(set(announced))


def test_any_name_of_a_sensor_can_be_a_label() -> None:
    health = {**HEALTH, "sensors": {'a"b\\c': HEALTH["sensors"]["5A2D"]}}
    text = exposition(health, running=True)
    assert r'edge_agent_sensor_has_model{agent="van-1",sensor="a\"b\\c"} 1' in text.splitlines()
    assert promtool("check", "metrics", text=text + "\n").stdout == ""


def test_an_agent_that_does_not_run_is_a_number_not_a_failure(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The timer's unit must not fail each minute, and the file must be written."""
    write(state, json.dumps(HEALTH))
    assert cli.main(["status", "--prometheus"]) == 0
    up = 'edge_agent_up{agent="van-1"}'
    assert samples(capsys.readouterr().out) == EXPECTED.replace(f"{up} 1", f"{up} 0")


def test_promtool_finds_nothing_wrong_with_the_metrics() -> None:
    done = promtool("check", "metrics", text=exposition(HEALTH, running=True) + "\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
