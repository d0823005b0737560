"""A clock that is not set yet, lost or wrong: readings wait for it, survive it, and the log says so."""

import json
from pathlib import Path

from paho.mqtt.client import Client
from structlog.testing import capture_logs

from edge_agent.archive import newest_health
from edge_agent.core.messages import Reading
from tests.edge_agent.test_clock import HandClock
from tests.support.agents import START_MS
from tests.support.broker import Broker
from tests.support.driven import MINUTE_MS, Driven, booted, synchronise


def test_unstamped_readings_wait_for_the_clock_and_are_stamped_right(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """Each gets the moment at which it came, as if the clock had always been right."""
    driven = Driven(tmp_path, broker, booted(), van)
    driven.say("op1", 231.0)
    driven.clock.pass_ms(MINUTE_MS)
    driven.say("op1", 232.0)
    assert driven.readings() == [], "held, not placed in a wrong time"
    driven.clock.pass_ms(MINUTE_MS)
    synchronise(driven)
    driven.say("op1", 233.0)
    driven.stop()
    assert driven.readings() == [
        Reading("5A2D", "op1", START_MS, 231.0),
        Reading("5A2D", "op1", START_MS + MINUTE_MS, 232.0),
        Reading("5A2D", "op1", START_MS + 2 * MINUTE_MS + 2_000, 233.0),
    ]


def test_a_clock_that_was_never_set_is_logged_again_and_again(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """At start and every ten minutes, with the number of readings that wait; health counts them too."""
    with capture_logs() as events:
        driven = Driven(tmp_path, broker, booted(), van)
        driven.turn()
        for value in (231.0, 232.0, 233.0):
            driven.say("op1", value)
        for _ in range(19):
            driven.clock.pass_ms(MINUTE_MS)
            driven.turn(2)
        told = json.loads(newest_health(driven.state))
        synchronise(driven)
        driven.clock.pass_ms(MINUTE_MS)
        driven.turn(2)
        driven.stop()
    logged = [event for event in events if event["event"].startswith("clock.u")]
    level = {"event": "clock.unsynchronised", "log_level": "warning"}
    assert logged == [{**level, "readings_waiting": 0}, {**level, "readings_waiting": 3}]
    after = json.loads(newest_health(driven.state))
    waited = [each["readings"]["waiting_for_clock"] for each in (told, after)]
    assert (waited, after["readings"]["accepted"]) == ([3, 0], 3)
    codes = [{problem["code"] for problem in each["problems"]} for each in (told, after)]
    assert codes == [{"clock_unsynchronised", "readings_waiting", "silent_channel"}, {"silent_channel"}]


def test_a_van_that_loses_its_network_goes_on_and_says_so(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """After hours without NTP the kernel calls the clock unsynchronised, which it has hardly become."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van)
    driven.clock.good = False
    driven.clock.pass_ms(2_000)
    driven.turn(2)
    for number in range(17):
        driven.say("op1", 231.0 + number)
        driven.clock.pass_ms(MINUTE_MS)
    [estimate] = driven.estimates(1)
    driven.stop()
    assert (estimate.start_ms, estimate.minutes["op1"]) == (START_MS, 15)
    assert estimate.clock == "unsynchronised"


def test_a_stamped_reading_need_not_wait_for_the_clock(tmp_path: Path, broker: Broker, van: Client) -> None:
    driven = Driven(tmp_path, broker, booted(), van)
    driven.say("op1", {"value": 231.0, "at": START_MS})
    driven.stop()
    assert driven.readings() == [Reading("5A2D", "op1", START_MS, 231.0)]


def test_held_readings_survive_a_restart_in_the_same_boot(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    first = Driven(tmp_path, broker, booted(), van)
    first.say("op1", 231.0)
    first.stop()
    first.clock.pass_ms(MINUTE_MS)
    second = Driven(tmp_path, broker, first.clock, van)
    second.say("op1", 232.0)
    synchronise(second)
    second.stop()
    assert second.readings() == [
        Reading("5A2D", "op1", START_MS, 231.0),
        Reading("5A2D", "op1", START_MS + MINUTE_MS, 232.0),
    ]


def test_after_another_boot_held_readings_cannot_be_placed_and_are_counted(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    first = Driven(tmp_path, broker, booted("boot-1"), van)
    first.say("op1", 231.0)
    first.say("op2", 206.0)
    first.stop()
    second = Driven(tmp_path, broker, booted("boot-2"), van)
    synchronise(second)
    second.clock.pass_ms(60_000)
    second.turn(2)
    second.stop()
    assert second.readings() == []
    assert json.loads(newest_health(second.state))["readings"]["unstampable"] == 2
