"""The reference's intake: what is kept, what is counted, and what a restart restores."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edge_agent.clock import Clock, Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.errors import BadReading
from edge_agent.core.messages import Estimate
from edge_agent.journal import Change, Journal
from edge_agent.mqtt import Message
from edge_agent.scoring import Scoring
from edge_agent.settings import Settings
from edge_agent.settings_sections import Reference

START_MS = 1_706_778_000_000
WINDOW_MS = 900_000


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "journal.db", WINDOW_MS)) as made:
        yield made


@pytest.fixture
def time() -> Timekeeper:
    return Timekeeper(Clock(trusted=True), doubt_ms=0)


def scoring(journal: Journal, topic: str = "reference/{gas}") -> tuple[Scoring, GroupCommit]:
    commits = GroupCommit(journal, "boot", commit_ms=1_000, commit_messages=20)
    return Scoring(Settings(agent="van-1"), Reference(topic=topic), journal, commits), commits


def message(payload: str, gas: str = "co", **changes: Any) -> Message:
    made = Message(f"reference/{gas}", payload.encode(), qos=1, mid=1, dup=False, epoch=0, arrived_ms=0)
    return made._replace(**changes)


def stamped(minute: int, value: float = 1.0) -> Message:
    return message(f'{{"value": {value}, "at": {START_MS + minute * 60_000}}}')


def counted(taker: Scoring) -> dict[str, int]:
    return {kind: count for kind, count in taker.describe()["readings"].items() if count}


def test_every_value_is_counted_once(journal: Journal, time: Timekeeper) -> None:
    """Late ones are on disk, too. Repeated ones without a time are not used: nobody knows when they were."""
    taker, commits = scoring(journal)
    for minute in (0, 0, 17, 1):
        taker.take(stamped(minute), time)
    taker.take(message("0.8"), time)
    for repeated in (message("0.8", dup=True), message("0.8", retain=True)):
        taker.take(repeated, time)
    taker.take(message('{"value": 1, "at": "2099-01-01"}'), time)
    with pytest.raises(BadReading):
        taker.take(message("nan"), time)
    expected = {"accepted": 3, "duplicate": 1, "late": 1, "future": 1, "rejected": 1, "unstampable": 2}
    assert counted(taker) == expected
    commits.commit(now_ms=0)
    assert len([*journal.closed_windows.late_since("reference", 0)]) == 4


@pytest.mark.parametrize(
    ("template", "topic", "expected"),
    [
        ("lab/{gas}", "lab/co", True),
        ("lab/{gas}", "lab/5A2D/op1", False),
        ("lab/{gas}", "lab/", False),
        ("{gas}", "co", True),
        ("{gas}", "sensors/5A2D/op1", False),
        ("lab/{gas}/ppm", "lab/co/ppm", True),
        ("lab/{gas}/ppm", "lab/5A2D/op1/ppm", False),
        ("lab/{gas}/lab", "lab/lab", False),
    ],
)
def test_readings_of_sensors_are_not_taken(
    journal: Journal, template: str, topic: str, expected: bool
) -> None:
    """Only one level stands for the gas, whatever begins and ends like the topic of the reference."""
    assert scoring(journal, template)[0].takes(topic) is expected


def test_no_more_than_eight_gases_are_taken(journal: Journal, time: Timekeeper) -> None:
    taker, _ = scoring(journal)
    for gas in "abcdefgh":
        taker.take(message("1", gas), time)
    with pytest.raises(BadReading, match="reference/i: expected at most 8 gases, got another"):
        taker.take(message("1", "i"), time)


def test_a_restart_restores_the_score(journal: Journal, time: Timekeeper) -> None:
    """From the values and the estimates in the journal, also long after the reference has left."""
    taker, commits = scoring(journal)
    for minute in range(77):
        taker.take(stamped(minute, 1.0 + minute / 100), time)
    commits.commit(now_ms=0)
    made = [
        Estimate("5A2D", START_MS + n * WINDOW_MS, START_MS + (n + 1) * WINDOW_MS, 1, (), {}, {}, value=1.5)
        for n in range(400)
    ]
    made = [replace(e, gas="CO", unit="ppm", model="sha256:1", clock="synchronised") for e in made]
    taker.note(journal.commit(Change(estimates=made), now_ms=0))
    told = taker.describe()["scores"]
    assert told["5A2D"]["windows"] == 5
    assert scoring(journal)[0].describe()["scores"] == told
    assert [*taker.messages()] == ["respire/van-1/calibrated/5A2D/co/score"]
