"""The judge of the power cuts sees a lost reading, a doubled one and a wrong mean."""

import json
from dataclasses import replace

from tests.field.judge import Verdict, judge

SAID = [
    *(json.dumps(["B", {"at": at, "op1": 1.0, "op2": 2.0, "temperature": 3.0}]) for at in (60, 90)),
    json.dumps(["U", 0.25]),
]
READINGS = [
    *(
        json.dumps({"sensor": "B", "timestamp": at, "op1": 1.0, "op2": 2.0, "temperature": 3.0})
        for at in ("1970-01-01T00:01:00Z", "1970-01-01T00:01:30Z")
    ),
    json.dumps(
        {"sensor": "U", "timestamp": "1970-01-01T00:01:00Z", "op1": 0.25, "op2": None, "temperature": None}
    ),
]
ESTIMATE = {
    "sensor": "B",
    "start": "1970-01-01T00:01:00Z",
    "seq": 1,
    "inputs": {"op1": 1.0, "warming_1h": 9.0},
}
KEPT = Verdict(7, 7, 0, 0, 1, 1, 0, 0, 0, 0)


def test_kept_promises_are_sound() -> None:
    verdict = judge(SAID, READINGS, [json.dumps(ESTIMATE)], [])
    assert (verdict, verdict.sound) == (KEPT, True)


def test_a_loss_and_a_double_are_seen() -> None:
    verdict = judge(SAID, [READINGS[0], READINGS[0], READINGS[2]], [json.dumps(ESTIMATE)], [])
    assert (verdict, verdict.sound) == (replace(KEPT, lost=3, doubled=3), False)


def test_a_wrong_mean_a_gap_and_two_contents_are_seen() -> None:
    other = ESTIMATE | {"seq": 3, "inputs": {"op1": 1.5}}
    verdict = judge(SAID, READINGS, [json.dumps(ESTIMATE), json.dumps(other)], [])
    expected = replace(KEPT, estimates=2, windows_with_two_contents=1, sequence_gaps=1, wrong_means=1)
    assert (verdict, verdict.sound) == (expected, False)


def test_an_alarm_without_a_loss_is_seen() -> None:
    events = ['{"event":"journal.unavailable"}', '{"event":"journal.damaged"}']
    verdict = judge(SAID, READINGS, [json.dumps(ESTIMATE)], events)
    assert (verdict, verdict.sound) == (replace(KEPT, events_of_damage=1), False)


def test_an_empty_run_proves_nothing() -> None:
    assert not judge([], [], [], []).sound
