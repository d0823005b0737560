"""Health: the record, and what the process uses."""

import json
import shutil
from importlib.metadata import version
from pathlib import Path

from edge_agent.health import free_bytes, record, resources

AT_MS = 1_706_778_000_000


def test_resources_are_what_the_kernel_says() -> None:
    before = resources()
    assert 5_000_000 < before["rss_bytes"] < 2_000_000_000
    assert resources()["written_bytes"] >= before["written_bytes"] >= 0


def test_free_space_is_what_the_kernel_says(tmp_path: Path) -> None:
    """A disk that does not answer has none."""
    assert abs(free_bytes(tmp_path) - shutil.disk_usage(tmp_path).free) < 1_000_000_000
    assert free_bytes(tmp_path / "no") == 0


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
