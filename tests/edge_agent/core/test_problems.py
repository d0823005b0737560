"""Problems: empty when all is well, each with its start, and gone when it is over."""

from typing import Any

import pytest

from edge_agent.core.problems import ADVICE, FREE_BYTES, WAITED_S, Problems

AT_MS = 1_706_778_000_000


def health(**changes: Any) -> dict[str, Any]:
    sound: dict[str, Any] = {"model": None, "last_reading": None, "silent": [], "stuck": []}
    return {
        "clock": "synchronised",
        "readings": {"accepted": 7, "waiting_for_clock": 0},
        "outbox": {"depth": 1, "oldest_s": WAITED_S, "dropped": 0},
        "certificates": {},
        "sensors": {"5A2D": sound},
        **changes,
    }


def due(valid_until: str) -> dict[str, Any]:
    return {"sensors": {"5A2D": {"silent": [], "stuck": [], "valid_until": valid_until}}}


def codes(told: dict[str, Any], free_bytes: int = FREE_BYTES, settled: bool = True) -> list[tuple[str, ...]]:
    found = Problems().update(told, free_bytes, settled, AT_MS)
    return [(problem["code"], problem.get("sensor", "")) for problem in found]


def test_all_is_well() -> None:
    assert codes(health()) == []


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"clock": "unsynchronised"}, [("clock_unsynchronised", "")]),
        ({"readings": {"waiting_for_clock": 3}}, [("readings_waiting", "")]),
        ({"outbox": {"oldest_s": WAITED_S + 1}}, [("outbox_growing", "")]),
        ({"outbox": {"oldest_s": None}}, []),
        ({"position": {"fixes": {}, "age_s": WAITED_S + 1}}, [("position_old", "")]),
        ({"position": {"fixes": {}, "age_s": None}}, [("position_old", "")]),
        ({"position": {"fixes": {}, "age_s": WAITED_S}}, []),
        ({"position": {"fixes": None, "age_s": None}}, []),
        ({"position": None}, []),
        ({"certificates": {"uplink": "2024-03-02T08:59:59Z"}}, [("certificate_expiring", "")]),
        ({"certificates": {"uplink": "2024-03-02T09:00:00Z"}}, []),
        ({"certificates": {"uplink": "2023-01-01T00:00:00Z"}}, [("certificate_expiring", "")]),
        ({"sensors": {"5A2D": {"silent": ["op1"], "stuck": []}}}, [("silent_channel", "5A2D")]),
        (due("2024-03-02T08:59:59Z"), [("calibration_due", "5A2D")]),
        (due("2024-03-02T09:00:00Z"), []),
        (due("2024-02-01T08:59:59Z"), [("calibration_old", "5A2D")]),
        ({**due("2024-02-01T08:59:59Z"), "clock": "unsynchronised"}, [("clock_unsynchronised", "")]),
        ({"sensors": {"5A2D": {"silent": [], "stuck": ["op1", "op2"]}}}, [("stuck_channel", "5A2D")]),
    ],
)
def test_each_problem_is_found(told: dict[str, Any], expected: list[tuple[str, ...]]) -> None:
    assert codes(health(**told)) == expected


def test_a_full_disk_is_found() -> None:
    assert codes(health(), free_bytes=FREE_BYTES - 1) == [("disk_nearly_full", "")]


def test_no_channel_is_silent_just_after_a_start() -> None:
    told = health(sensors={"5A2D": {"silent": ["op1"], "stuck": []}})
    assert codes(told, settled=False) == []


def test_a_problem_keeps_its_start_until_it_is_over() -> None:
    problems = Problems()
    bad = health(sensors={"5A2D": {"silent": ["op1"], "stuck": []}})
    expected = {"code": "silent_channel", "since": "2024-02-01T09:00:00Z", "sensor": "5A2D"}
    for now_ms in (AT_MS, AT_MS + 60_000):
        [problem] = problems.update(bad, FREE_BYTES, True, now_ms)
        assert problem == {**expected, "advice": ADVICE["silent_channel"]}
    assert problems.update(health(), FREE_BYTES, True, AT_MS + 120_000) == []
    [again] = problems.update(bad, FREE_BYTES, True, AT_MS + 180_000)
    assert again["since"] == "2024-02-01T09:03:00Z"
