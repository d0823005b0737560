"""Clocks that step, and disks and brokers that fail meanwhile: no window closes twice or too soon."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from paho.mqtt.client import Client

from edge_agent.archive import newest_health
from tests.edge_agent.test_clock import HandClock
from tests.support.agents import START_MS
from tests.support.broker import AT_MOST_S, Broker, wait_until
from tests.support.driven import HOUR_MS, MINUTE_MS, Driven, minute
from tests.support.journals import disk_without_room


@pytest.mark.parametrize(
    "steps_ms", [(2 * HOUR_MS, -2 * HOUR_MS), (-2 * HOUR_MS, 2 * HOUR_MS), (HOUR_MS, HOUR_MS)]
)
def test_a_step_never_closes_reopens_or_doubles_a_window(
    tmp_path: Path, broker: Broker, van: Client, steps_ms: tuple[int, int]
) -> None:
    """The clock is set in the middle of a window, twice: each window comes once, whole, in order."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van)
    for number in range(33):
        if number in (5, 10):
            driven.clock.step_ms(steps_ms[number == 10])
            driven.turn(2)
        minute(driven, number)
    estimates = driven.estimates(2)
    driven.stop()
    assert [(e.start_ms, e.minutes["op1"], e.seq) for e in estimates] == [
        (START_MS, 15, 1),
        (START_MS + 900_000, 15, 2),
    ]


def test_a_silent_sensors_window_waits_until_a_step_has_been_digested(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """After a step forwards the wall clock is past the end at once; it may close the window only later."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van)
    for number in range(5):
        minute(driven, number)
    driven.clock.step_ms(2 * HOUR_MS)
    driven.turn(2)
    driven.clock.pass_ms(959_000)
    assert driven.estimates(0) == []
    driven.clock.pass_ms(1_000)
    driven.turn()
    [estimate] = driven.estimates(1)
    driven.stop()
    assert (estimate.start_ms, estimate.minutes["op1"]) == (START_MS, 5)


def test_unstamped_readings_follow_a_clock_that_is_set_and_no_window_comes_twice(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """Set back by an hour, their times fall into windows already closed: late, not counted again."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van)
    for number in range(20):
        driven.say("op1", 231.0 + number)
        driven.clock.pass_ms(MINUTE_MS)
    driven.clock.step_ms(-HOUR_MS)
    driven.turn(2)
    van.publish("sensors/5A2D/op1", "999", qos=1).wait_for_publish(AT_MOST_S)
    driven.turn(2)
    driven.clock.pass_ms(MINUTE_MS)
    [estimate] = driven.estimates(1)
    driven.stop()
    assert (estimate.start_ms, estimate.minutes["op1"]) == (START_MS, 15)
    assert json.loads(newest_health(driven.state))["readings"]["revising"] == 1


@pytest.fixture
def driven(tmp_path: Path, broker: Broker, van: Client) -> Driven:
    """An agent that has closed one window."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van)
    for number in range(17):
        minute(driven, number)
    driven.estimates(1)
    return driven


def test_a_clock_that_stands_in_the_future_forgets_no_history(driven: Driven) -> None:
    """Retention by age needs a clock that can be trusted."""
    driven.clock.step_ms(75 * 365 * 24 * HOUR_MS)
    driven.clock.good = False
    driven.clock.pass_ms(600_000)
    driven.turn(3)
    assert driven.history() == [1]
    driven.clock.step_ms(-75 * 365 * 24 * HOUR_MS)
    driven.clock.good = True
    driven.turn(2)
    driven.clock.pass_ms(31 * 24 * HOUR_MS)
    driven.turn(3)
    assert driven.history() == [2], "with a good clock, a month later, only what has just closed is there"
    driven.stop()


def test_while_the_disk_refuses_the_clocks_close_no_window(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """What comes meanwhile waits in the inbox or at the broker, and belongs to the window that is open."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van)
    minute(driven, 0)
    with disk_without_room():
        minutes = [json.dumps({"value": 231.0, "at": START_MS + n * MINUTE_MS}) for n in (1, 2)]
        van.publish("sensors/5A2D/op1", minutes[0], qos=1).wait_for_publish(AT_MOST_S)
        driven.turn()  # the disk refuses it, and now the loop takes nothing more
        van.publish("sensors/5A2D/op1", minutes[1], qos=1).wait_for_publish(AT_MOST_S)
        driven.clock.pass_ms(HOUR_MS)
        driven.turn()
    driven.turn(3)
    driven.clock.pass_ms(119_000)
    assert driven.estimates(0) == [], "the patience begins anew when the disk takes writes again"
    driven.clock.pass_ms(1_000)
    [estimate] = driven.estimates(1)
    driven.stop()
    assert (estimate.start_ms, estimate.minutes["op1"]) == (START_MS, 3)


class InterruptedClock(HandClock):
    """Something happens while somebody looks at it."""

    meanwhile: Callable[[], None] | None = None

    def now_ms(self) -> int:
        happening, self.meanwhile = self.meanwhile, None
        if happening:
            happening()
        return super().now_ms()


def test_a_broker_that_returns_in_the_middle_of_a_turn_closes_no_window(
    tmp_path: Path, durable_broker: Broker, van: Client
) -> None:
    """Connected again is not yet heard again: what the broker kept is still to come."""
    clock = InterruptedClock(wall_ms=START_MS)
    driven = Driven(tmp_path, durable_broker, clock, van)
    minute(driven, 0)
    durable_broker.stop()
    driven.turn_until(lambda: not driven.connected)
    clock.pass_ms(HOUR_MS)

    def broker_returns() -> None:
        durable_broker.start()
        wait_until(lambda: driven.connected)

    clock.meanwhile = broker_returns
    driven.turn_until(lambda: driven.connected)
    wait_until(van.is_connected)
    driven.turn(2)
    assert driven.history() == []
    driven.stop()


def test_a_full_disk_does_not_end_the_agent_when_it_is_time_to_forget(driven: Driven) -> None:
    with disk_without_room():
        driven.clock.pass_ms(31 * 24 * HOUR_MS)
        driven.turn(2)
        assert driven.history() == [1]
    driven.clock.pass_ms(600_000)
    driven.turn(2)
    assert driven.history() == [2]
    driven.stop()


def test_a_late_reading_that_waited_for_days_does_not_replace_its_window(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """The van stands for five days before the revision is due; it must not have the late reading alone."""
    first = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van)
    for number in range(17):
        if number != 3:
            minute(first, number)
    assert [each.minutes["op1"] for each in first.estimates(1)] == [14]
    late = json.dumps({"value": 500.0, "at": START_MS + 3 * MINUTE_MS})
    van.publish("sensors/5A2D/op1", late, qos=1).wait_for_publish(AT_MOST_S)
    first.turn(2)
    first.stop()
    with closing(sqlite3.connect(first.state / "journal.db")) as db:
        assert db.execute("SELECT count(*) FROM late WHERE waiting").fetchone() == (1,)
    first.clock.pass_ms(5 * 24 * HOUR_MS)
    second = Driven(tmp_path, broker, first.clock, van)
    second.turn(2)
    second.clock.pass_ms(HOUR_MS)
    second.turn(5)
    second.stop()
    found = [each for each in second._estimates() if each.start_ms == START_MS]
    assert [(each.revision, each.minutes["op1"]) for each in found] in ([], [(0, 14)], [(1, 15)])
