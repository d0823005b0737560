"""Health: who is silent, who is stuck, and what the process uses."""

import json
from dataclasses import replace
from importlib.metadata import version

from edge_agent.core.messages import Reading
from edge_agent.core.model import Model
from edge_agent.health import STUCK_REPEATS, Heard, record, resources

AT_MS = 1_706_778_000_000


def test_a_channel_that_the_model_needs_and_nobody_hears_is_silent(model: Model) -> None:
    heard = Heard()
    heard.note([Reading("5A2D", "op1", AT_MS, 231.4), Reading("5A2D", "op2", AT_MS, 206.1)], elapsed_ms=1_000)
    heard.note([Reading("5A2D", "op1", AT_MS + 60_000, 231.5)], elapsed_ms=61_000)
    assert heard.describe("5A2D", model, silent_since_ms=30_000) == {
        "model": model.id,
        "last_reading": "2024-02-01T09:01:00Z",
        "silent": ["op2", "temperature"],
        "stuck": [],
    }
    assert heard.sensors() == ["5A2D"]


def test_a_slow_channel_is_silent_after_its_cadence(model: Model) -> None:
    """silent_s is meant for a reading a minute; one that comes every 5 minutes has 4 minutes more."""
    heard, slow = Heard(), replace(model, cadence_minutes={"op1": 5})
    readings = [Reading("5A2D", name, 0, 1.0) for name in ("op1", "op2", "temperature")]
    heard.note(readings, elapsed_ms=0)
    silent = [heard.describe("5A2D", slow, since)["silent"] for since in (0, 1, 240_000, 240_001)]
    assert silent == [[], ["op2", "temperature"], ["op2", "temperature"], ["op1", "op2", "temperature"]]


def test_a_sensor_never_heard_is_all_silent(model: Model) -> None:
    assert Heard().describe("5A2D", model, 0) == {
        "model": model.id,
        "last_reading": None,
        "silent": ["op1", "op2", "temperature"],
        "stuck": [],
    }


def test_readings_that_wait_for_the_clock_are_heard_but_have_no_time_yet() -> None:
    """Their stamps count from the boot: they would say 1970."""
    heard = Heard()
    heard.note([Reading("5A2D", "op1", 30_000, 231.4)], elapsed_ms=30_000, placed=False)
    told = heard.describe("5A2D", None, silent_since_ms=0)
    assert (told["last_reading"], told["silent"]) == (None, [])
    heard.note([Reading("5A2D", "op1", AT_MS, 231.4)], elapsed_ms=60_000)
    assert heard.describe("5A2D", None, 0)["last_reading"] == "2024-02-01T09:00:00Z"


def test_an_electrode_that_repeats_itself_is_stuck_until_it_moves(model: Model) -> None:
    """A thermometer may well say the same for long."""
    heard = Heard()
    for n in range(STUCK_REPEATS):
        assert heard.describe("5A2D", model, 0)["stuck"] == []
        heard.note(
            [Reading("5A2D", "op1", AT_MS + n, 231.4), Reading("5A2D", "temperature", AT_MS + n, 24.0)], n
        )
    assert heard.describe("5A2D", model, 0)["stuck"] == ["op1"]
    assert heard.describe("5A2D", None, 0)["stuck"] == ["op1"]
    heard.note([Reading("5A2D", "op1", AT_MS + 99, 231.5)], 99)
    assert heard.describe("5A2D", model, 0)["stuck"] == []


def test_resources_are_what_the_kernel_says() -> None:
    before = resources()
    assert 5_000_000 < before["rss_bytes"] < 2_000_000_000
    assert resources()["written_bytes"] >= before["written_bytes"] >= 0


def test_a_record_is_json_with_everything_it_was_told() -> None:
    told = record(
        agent="van-1",
        now_ms=AT_MS,
        interval_s=60.0,
        uptime_s=60,
        clock="synchronised",
        readings={"accepted": 18},
        outbox={"depth": 0, "oldest_s": None, "dropped": 0},
        sensors={},
        journal_bytes=4_096,
    )
    used = {name: told.pop(name) for name in ("rss_bytes", "written_bytes")}
    assert all(type(number) is int for number in used.values())
    assert json.loads(json.dumps(told)) == {
        "v": 1,
        "agent": "van-1",
        "version": version("respire-edge"),
        "at": "2024-02-01T09:00:00Z",
        "interval_s": 60.0,
        "uptime_s": 60,
        "clock": "synchronised",
        "readings": {"accepted": 18},
        "outbox": {"depth": 0, "oldest_s": None, "dropped": 0},
        "sensors": {},
        "journal_bytes": 4_096,
    }
