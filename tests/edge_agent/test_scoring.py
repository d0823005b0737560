"""The reference's intake: what is kept, what is counted, and what a restart restores."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edge_agent.change import Change
from edge_agent.clock import Clock, Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.errors import BadReading
from edge_agent.core.messages import Estimate
from edge_agent.core.model import Model
from edge_agent.core.suspicions import Suspicions
from edge_agent.derivations import Derivations
from edge_agent.inbox import Message
from edge_agent.journal import Journal
from edge_agent.scoring import Scoring
from edge_agent.settings import Settings
from edge_agent.settings_sections import Reference
from tests.conftest import make_model
from tests.edge_agent.test_clock import HandClock

START_MS = 1_706_778_000_000
WINDOW_MS = 900_000


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "journal.db", WINDOW_MS)) as made:
        yield made


@pytest.fixture
def time() -> Timekeeper:
    return Timekeeper(Clock(trusted=True), doubt_ms=0)


def scoring(journal: Journal, topic: str = "reference/{gas}", **models: Model) -> tuple[Scoring, GroupCommit]:
    commits = GroupCommit(journal, "boot", commit_ms=1_000, commit_messages=20)
    return Scoring(Settings(agent="van-1"), Reference(topic=topic), journal, commits, models), commits


def message(payload: str, gas: str = "co", **changes: Any) -> Message:
    made = Message(f"reference/{gas}", payload.encode(), qos=1, mid=1, dup=False, epoch=0, arrived_ms=0)
    return made._replace(**changes)


def stamped(minute: int, value: float = 1.0) -> Message:
    return message(f'{{"value": {value}, "at": {START_MS + minute * 60_000}}}')


def estimates(count: int) -> list[Estimate]:
    """One sensor, from the first window on."""
    starts = [START_MS + n * WINDOW_MS for n in range(count)]
    made = [Estimate("5A2D", at_ms, at_ms + WINDOW_MS, 1, (), {}, {}, value=1.5) for at_ms in starts]
    return [replace(each, gas="CO", unit="ppm", model="sha256:1", clock="synchronised") for each in made]


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
    expected = {"accepted": 3, "duplicate": 1, "too_late": 1, "future": 1, "rejected": 1, "unstampable": 2}
    assert counted(taker) == expected
    commits.commit(time.now_ms)
    assert len([*journal.closed_windows.late_between("reference", 0, time.now_ms)]) == 4


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


@pytest.mark.parametrize("gas", ["co", "NO2", "benzene"])
def test_a_gas_that_is_known_or_that_a_model_has_is_taken(
    journal: Journal, time: Timekeeper, gas: str
) -> None:
    taker, _ = scoring(journal, B=make_model("B", gas="Benzene"))
    taker.take(message("1", gas), time)
    assert counted(taker) == {"accepted": 1}


def test_any_number_of_invented_gases_takes_no_room(journal: Journal, time: Timekeeper) -> None:
    """Nothing is on disk, so that nothing comes back after a restart; CO is taken as before."""
    taker, commits = scoring(journal)
    for number in range(50):
        with pytest.raises(BadReading, match=f"reference/g{number}: expected a gas of a bundle, or co, no"):
            taker.take(message("1", f"g{number}"), time)
    taker.take(stamped(0), time)
    assert counted(taker) == {"accepted": 1, "rejected": 50}
    commits.commit(time.now_ms)
    kept = [*journal.closed_windows.late_between("reference", 0, time.now_ms)]
    assert [each.channel for each in kept] == ["co"]


def test_a_time_far_in_the_future_ends_no_score(journal: Journal) -> None:
    """Two values of 2099 come before the clock is synchronised; the score goes on, also after a restart."""
    clock = HandClock(wall_ms=START_MS, good=False)
    time = Timekeeper(clock, doubt_ms=0)
    taker, commits = scoring(journal)
    for at in ("2099-01-01T00:00:00Z", "2099-01-01T01:00:00Z"):
        taker.take(message(f'{{"value": 1, "at": "{at}"}}'), time)
    commits.commit(time.now_ms)
    clock.good = True
    clock.pass_ms(80 * 60_000)
    time.ask_kernel()
    assert counted(taker) == {"accepted": 2}
    for minute in range(77):
        taker.take(stamped(minute, 1.0 + minute / 100), time)
    commits.commit(time.now_ms)
    taker.note(journal.commit(Change(estimates=estimates(5)), time.now_ms))
    told = taker.describe()["scores"]
    assert told["5A2D"]["windows"] == 5
    again = scoring(journal)[0].describe()
    assert (again["scores"], again["last_reading"]) == (told, "2024-02-01T10:16:00Z")


def test_the_journal_has_the_unit(journal: Journal) -> None:
    """`model-export adapt --from-journal` needs it, and has no settings."""
    _, commits = scoring(journal)
    commits.commit(START_MS)
    said = {"unit": "ppm", "temperature_c": 20.0, "pressure_hpa": 1013.25}
    assert json.loads(journal.fact("reference") or "") == said


def test_a_restart_restores_the_score(journal: Journal, time: Timekeeper) -> None:
    """From the values and the estimates in the journal, also long after the reference has left."""
    taker, commits = scoring(journal)
    for minute in range(77):
        taker.take(stamped(minute, 1.0 + minute / 100), time)
    commits.commit(time.now_ms)
    taker.note(journal.commit(Change(estimates=estimates(400)), time.now_ms))
    told = taker.describe()["scores"]
    assert told["5A2D"]["windows"] == 5
    assert scoring(journal)[0].describe()["scores"] == told


def test_scores_are_removed_after_the_reference_is_out_of_the_settings(
    journal: Journal, time: Timekeeper
) -> None:
    """Also after another start without it: the broker may have been away before."""
    kept: dict[str, bytes] = {}
    taker, commits = scoring(journal)
    for minute in range(77):
        taker.take(stamped(minute, 1.0 + minute / 100), time)
    taker.note(journal.commit(Change(estimates=estimates(5)), time.now_ms))
    taker.publish(kept.__setitem__)
    commits.commit(time.now_ms)
    topic = "respire/van-1/calibrated/5A2D/co/score"
    assert json.loads(kept[topic])["windows"] == 5
    for _ in range(2):
        kept.clear()
        settings = Settings(agent="van-1")
        made = Derivations(settings, journal, commits, {}, Suspicions(0), kept.__setitem__)
        assert (made.scoring, kept) == (None, {topic: b""})


def test_estimates_wait_for_values_that_come_after_a_restart(journal: Journal, time: Timekeeper) -> None:
    """The estimates were committed before the kill; the broker gives the values again after it."""
    journal.commit(Change(estimates=estimates(5)), time.now_ms)
    taker, _ = scoring(journal)
    for minute in range(77):
        taker.take(stamped(minute), time)
    assert taker.describe()["scores"]["5A2D"]["windows"] == 5


def test_a_full_memory_is_emptied_when_its_windows_are_over(
    journal: Journal, time: Timekeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Excess values are not kept, but their times end windows."""
    monkeypatch.setattr("edge_agent.scoring.MAX_TOTAL", 30)
    taker, _ = scoring(journal)
    for second in range(0, 1_800, 10):
        taker.take(message(f'{{"value": 1, "at": {START_MS + second * 1_000}}}'), time)
    for minute in range(40, 100):
        taker.take(stamped(minute), time)
    assert counted(taker)["accepted"] >= 30 + 60


def test_an_estimate_far_in_the_future_ends_no_score(journal: Journal, time: Timekeeper) -> None:
    taker, _ = scoring(journal)
    far_ms = START_MS + (1 << 40)
    far = [replace(each, start_ms=far_ms, end_ms=far_ms + WINDOW_MS) for each in estimates(1)]
    taker.note(journal.commit(Change(estimates=far, closed_until={"5A2D": START_MS}), time.now_ms))
    taker.note(journal.commit(Change(estimates=estimates(5)), time.now_ms))
    for minute in range(77):
        taker.take(stamped(minute, 1.0 + minute / 100), time)
    assert taker.describe()["scores"]["5A2D"]["windows"] == 5
