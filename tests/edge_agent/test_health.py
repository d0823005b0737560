"""Health: the record, and what the process uses."""

import json
import shutil
from importlib.metadata import version
from pathlib import Path

from edge_agent.core.messages import Reading
from edge_agent.health import encode, free_bytes, listed, record, refusals, resources
from edge_agent.intake import Heard

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
        bundles={"loaded": 0, **refusals([])},
        sensors={},
        sensors_unlisted=0,
        position=None,
        reference=None,
        certificates={"uplink": "2027-02-01T09:00:00Z"},
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
        "bundles": {"loaded": 0, "refused": 0, "reasons": []},
        "sensors": {},
        "sensors_unlisted": 0,
        "position": None,
        "reference": None,
        "certificates": {"uplink": "2027-02-01T09:00:00Z"},
        "journal_bytes": 4_096,
    }


def test_of_many_refused_bundles_the_first_are_named() -> None:
    told = refusals(f"{n}.bundle: {'x' * 1_000}" for n in range(1_000))
    assert told["refused"] == 1_000
    assert [reason[:10] for reason in told["reasons"]] == [f"{n}.bundle: "[:10] for n in range(4)]
    assert len(json.dumps(told)) < 1_500


def test_invented_names_do_not_swell_the_record() -> None:
    """256 names of 64 emoji took 210 kB, every minute."""
    invented = [f"{n:03}" + "\N{PILE OF POO}" * 61 for n in range(256)]
    heard = Heard()
    heard.note((Reading(sensor, "op1", AT_MS, 1.0) for sensor in invented), elapsed_ms=0)
    names, unlisted = listed(("5A2D", *heard.sensors()), {"5A2D"})
    assert (len(names), names[-1], unlisted) == (65, "5A2D", 192)
    said = encode({sensor: heard.describe(sensor, None, 0) for sensor in names})
    assert len(said.encode()) < 30_000
    assert set(json.loads(said)) == set(names)


def test_a_file_name_that_is_no_text_gives_text() -> None:
    assert refusals(["\udcff.bundle: cut"])["reasons"] == ["?.bundle: cut"]
