"""Revisions of a backlog: in short turns of the loop, from readings that the journal has."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from edge_agent.change import Change
from edge_agent.clock import Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.errors import JournalUnavailable
from edge_agent.core.messages import Estimate, Reading
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.revisions import Due
from edge_agent.core.windows import Outcome, Windows
from edge_agent.journal import Journal
from edge_agent.revising import Revising
from tests.conftest import make_warming_model
from tests.edge_agent.test_clock import HandClock

START_MS = 1_706_745_600_000  # midnight
MINUTE_MS, WINDOW_MS, HOUR_MS, DAY_MS = 60_000, 900_000, 3_600_000, 86_400_000
CHANNELS = {"op1": 231.0, "op2": 206.0, "temperature": 24.0}
WINDOWS = 12


class Gateway:
    """The parts of an agent that late readings go through; one sensor sent its temperatures late."""

    def __init__(self, directory: Path, at_once: int = 100, wall_ms: int = START_MS) -> None:
        self.clock = HandClock(wall_ms)
        self.time = Timekeeper(self.clock, doubt_ms=0)
        self.journal = Journal(directory / "journal.db", WINDOW_MS, "process-crash")
        self.commits = GroupCommit(self.journal, "boot-1", 60_000, 20)
        self.windows, models = Windows(), {"5A2D": make_warming_model("5A2D")}
        self._pipeline = Pipeline(self.windows, models, "van-1")
        for sensor, closed_ms in self.journal.closed_until().items():
            self.windows.resume(sensor, closed_ms)
        times_ms = 600_000, 24 * HOUR_MS
        made = self.journal, self._pipeline, self.windows, models
        self.revising = Revising(*made, *times_ms, turn_s=0.0, at_once=at_once)

    def take(self, readings: list[Reading]) -> None:
        for each in readings:
            self.windows.add(each, each.at_ms)
            self.commits.add_readings([each])
            self.commits.add_estimates(self._pipeline.close(), self.windows.take_closed_until())
            self.commits.commit(self.clock.wall_ms)

    def take_late(self, readings: list[Reading]) -> None:
        self.pass_ms(1_000)
        assert all(self.revising.admits(each, self.time) for each in readings)
        self.commits.add_late(readings, [])

    def pass_ms(self, passed_ms: int) -> None:
        self.clock.pass_ms(passed_ms)
        self.time.update()

    def revise(self) -> list[Estimate]:
        """All turns of the loop."""
        while (estimates := self.turn(self.due())) is None:
            pass
        return estimates

    def turn(self, due: Due) -> list[Estimate] | None:
        revised = self.revising.revise(due, self.time)
        if revised is None:
            return None
        self.commits.add_revised(revised)
        self.commits.commit(self.clock.wall_ms)
        return revised.estimates

    def due(self) -> Due:
        due = self.revising.due(self.time)
        assert due
        return due


def said(window: int, *channels: str, warmer: float = 0.0) -> list[Reading]:
    return [
        Reading(
            "5A2D", channel, START_MS + window * WINDOW_MS + minute * MINUTE_MS, CHANNELS[channel] + warmer
        )
        for minute in range(15)
        for channel in channels
    ]


def with_backlog(made: Gateway) -> Gateway:
    """Twelve windows without temperature are closed, and it has come, committed, for all but the last."""
    made.take([each for n in range(WINDOWS + 1) for each in said(n, "op1", "op2")])
    made.pass_ms(WINDOWS * WINDOW_MS + HOUR_MS)
    made.take_late([each for n in range(WINDOWS - 1) for each in said(n, "temperature", warmer=n)])
    made.commits.commit(made.clock.wall_ms)
    made.pass_ms(HOUR_MS)
    return made


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    made = Gateway(tmp_path)
    with closing(made.journal):
        yield with_backlog(made)


def test_a_backlog_is_revised_in_turns(gateway: Gateway) -> None:
    """Each reads or estimates a little, and all estimates are there in the end."""
    due, turns = gateway.due(), 1
    while (estimates := gateway.turn(gateway.due())) is None:
        turns += 1
    assert turns == 3 * WINDOWS - 1
    assert [each.start_ms for each in estimates] == due.starts_ms
    assert all(each.value is not None and each.revision == 1 for each in estimates)
    assert [each.inputs["temperature"] for each in estimates] == [24.0 + n for n in range(WINDOWS - 1)]
    assert estimates[-1].inputs["warming_1h"] > 1.0
    assert gateway.revising.due(gateway.time) is None


def test_a_long_backlog_is_committed_in_parts(tmp_path: Path) -> None:
    """Each turn of the loop commits a few, oldest first; the late readings wait until the last part."""
    gateway = Gateway(tmp_path, at_once=4)
    with closing(with_backlog(gateway).journal):
        parts = [gateway.revise()]
        while gateway.revising.busy:
            assert gateway.revising.between_parts
            assert [*gateway.journal.closed_windows.waiting()]
            parts.append(gateway.turn(gateway.due()) or [])
        assert [len(part) for part in parts] == [4, 4, 3]
        starts = [each.start_ms for part in parts for each in part]
        assert starts == [START_MS + n * WINDOW_MS for n in range(WINDOWS - 1)]
        assert not gateway.revising.between_parts
        assert not [*gateway.journal.closed_windows.waiting()]
        assert gateway.revising.due(gateway.time) is None


def test_a_kill_between_two_parts_changes_no_estimate(tmp_path: Path) -> None:
    """What the first part has is not published again; the rest is as it would have been."""
    streams = []
    for name, kills in (("killed", True), ("whole", False)):
        (tmp_path / name).mkdir()
        gateway = Gateway(tmp_path / name, at_once=4)
        estimates = with_backlog(gateway).revise()
        if kills:
            gateway.journal.close()
            gateway = Gateway(tmp_path / name, wall_ms=gateway.clock.wall_ms)
            gateway.revising.restore(0)
            gateway.pass_ms(HOUR_MS)
            estimates += gateway.revise()
        while gateway.revising.busy:
            estimates += gateway.turn(gateway.due()) or []
        gateway.journal.close()
        streams.append(estimates)
    assert streams[0] == streams[1]
    assert len(streams[0]) == WINDOWS - 1


def test_a_window_that_closes_meanwhile_is_revised_with_the_others(gateway: Gateway) -> None:
    """It was estimated with the temperatures of before."""
    for _ in range(3 * WINDOWS - 5):
        assert gateway.turn(gateway.due()) is None
    gateway.take(said(WINDOWS, "temperature", warmer=9.0) + said(WINDOWS + 1, "op1"))
    [last] = [each for each in gateway.revise() if each.start_ms == START_MS + WINDOWS * WINDOW_MS]
    assert (last.revision, last.supersedes) == (1, 0)


def test_a_window_that_is_being_revised_does_not_open_again(tmp_path: Path) -> None:
    """A stamp from far ahead had closed it; the clock that rejects such stamps opens what is not closed."""
    made = Gateway(tmp_path)
    with closing(made.journal):
        made.take([Reading("5A2D", "op1", 4_000_000_000_000, 9.0)])
        made.take_late(said(0, "op1"))
        made.commits.commit(made.clock.wall_ms)
        made.pass_ms(HOUR_MS)
        assert made.turn(made.due()) is None
        [next_one, *_] = said(0, "op2")
        assert made.windows.add(next_one, made.clock.wall_ms) is Outcome.TOO_LATE
        assert [each.start_ms for each in made.revise()] == [START_MS]


def test_a_read_that_fails_begins_again(gateway: Gateway) -> None:
    deny = sqlite3.SQLITE_DENY, sqlite3.SQLITE_OK
    gateway.journal._db.set_authorizer(
        lambda act, table, *_: deny[(act, table) != (sqlite3.SQLITE_READ, "late")]
    )
    with pytest.raises(JournalUnavailable, match="prohibited"):
        gateway.turn(gateway.due())
    gateway.journal._db.set_authorizer(None)
    assert len(gateway.revise()) == WINDOWS - 1


def test_readings_that_came_too_late_are_not_read(gateway: Gateway) -> None:
    """However many there are; each commit of them is a row of the same window."""
    flood = said(3, "temperature", warmer=50.0)
    gateway.journal.commit(Change(too_late=[each._replace(at_ms=each.at_ms + 1) for each in flood]), 0)
    late = gateway.journal.closed_windows.late("5A2D", START_MS + 3 * WINDOW_MS)
    assert late
    assert len(late.readings) == 15
    assert gateway.revise()[3].inputs["temperature"] == 27.0


def test_a_sensor_that_is_always_late_is_revised_although_more_readings_wait_for_a_commit(
    gateway: Gateway,
) -> None:
    due = gateway.due()
    gateway.take_late(said(WINDOWS - 1, "temperature"))
    assert gateway.commits.has_committed(due, WINDOW_MS)
    gateway.take_late(said(0, "op1"))
    assert not gateway.commits.has_committed(due, WINDOW_MS), "of a window that is due"


def test_the_window_just_before_a_gap_ends_is_revised_although_it_had_no_reading(gateway: Gateway) -> None:
    """The first reading after a gap closes the windows before it; the second, a minute later, one more."""
    first, second = said(20, "op1")[:2]
    gateway.take([first, second])
    gateway.pass_ms(12 * WINDOW_MS)
    gateway.take_late(said(19, "op1", "op2", "temperature"))
    gateway.commits.commit(gateway.clock.wall_ms)
    gateway.pass_ms(HOUR_MS)
    assert START_MS + 19 * WINDOW_MS in {each.start_ms for each in gateway.revise()}


def test_a_window_without_a_row_keeps_its_estimate(tmp_path: Path) -> None:
    """After four days the row is deleted; old readings come again while the clock is not trusted."""
    made = Gateway(tmp_path)
    made.take([each for n in range(13) for each in said(n, "op1", "op2", "temperature")])
    made.take([each for n in range(672, 674) for each in said(n, "op1", "op2", "temperature")])
    made.pass_ms(7 * DAY_MS)
    made.journal.forget(0, made.clock.wall_ms - 4 * DAY_MS, made.clock.wall_ms)
    assert made.journal.closed_windows.one("5A2D", START_MS) is None
    made.journal.close()
    again = Gateway(tmp_path, wall_ms=made.clock.wall_ms)
    again.clock.good = False
    again.time = Timekeeper(again.clock, doubt_ms=0)
    with closing(again.journal):
        assert not again.revising.admits(said(3, "op1")[0], again.time)


def test_a_window_whose_row_is_damaged_keeps_its_estimate_and_is_reported(tmp_path: Path) -> None:
    made = Gateway(tmp_path)
    with closing(made.journal):
        made.take([each for n in range(13) for each in said(n, "op1", "op2", "temperature")][3:])
        made.journal._db.execute(
            "UPDATE closed SET closed_ms = closed_ms + 1 WHERE start_ms = ?", (START_MS,)
        )
        made.pass_ms(4 * HOUR_MS)
        made.take_late(said(0, "op1")[:1])
        made.commits.commit(made.clock.wall_ms)
        made.pass_ms(HOUR_MS)
        assert made.revise() == []
        [told] = made.journal.damage
        assert told.endswith("5A2D 2024-02-01T00:00:00Z is damaged; it is not revised")
