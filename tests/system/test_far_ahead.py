"""Timestamps from far ahead spoil neither other windows nor other sensors."""

import json
from pathlib import Path

from paho.mqtt.client import Client

from edge_agent.core.messages import decode_estimate
from tests.edge_agent.test_clock import HandClock
from tests.support.agents import START_MS, retained
from tests.support.broker import AT_MOST_S, Broker
from tests.support.driven import HOUR_MS, MINUTE_MS, Driven, booted, minute, synchronise


def test_one_stamp_from_far_ahead_spoils_neither_what_is_open_nor_what_is_latest(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """Accepted while the clock could not judge it; after synchronisation, and a restart, all is as ever."""
    first = Driven(tmp_path, broker, booted(), van)
    first.say("op1", {"value": 9.0, "at": 4_000_000_000_000})
    synchronise(first)
    first.clock.pass_ms(28 * MINUTE_MS)
    assert [each.start_ms for each in first.estimates(1)] == [3_999_999_600_000]
    for number in range(30, 40):
        minute(first, number)
    first.stop()
    second = Driven(tmp_path, broker, first.clock, van)
    for number in range(40, 47):
        minute(second, number)
    [estimate] = second.estimates(1)
    assert (estimate.start_ms, estimate.minutes["op1"]) == (START_MS + 30 * MINUTE_MS, 15)
    assert decode_estimate(retained(broker, "respire/van-1/calibrated/5A2D/co/latest")) == estimate
    second.stop()


def test_coming_back_from_a_stamp_far_ahead_opens_no_closed_window_even_after_a_restart(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """The far stamp closed a window early; that is published, and the late reading is only in a revision."""
    first = Driven(tmp_path, broker, booted(), van)
    first.say("op1", {"value": 1.0, "at": START_MS})
    first.say("op1", {"value": 9.0, "at": 4_000_000_000_000})
    assert [each.start_ms for each in first.estimates(1)] == [START_MS]
    first.stop()
    second = Driven(tmp_path, broker, first.clock, van)
    synchronise(second)
    second.clock.pass_ms(17 * MINUTE_MS)
    second.turn()
    late = json.dumps({"value": 2.0, "at": START_MS + MINUTE_MS})
    van.publish("sensors/5A2D/op1", late, qos=1).wait_for_publish(AT_MOST_S)
    second.turn(2)
    second.clock.pass_ms(HOUR_MS)
    second.turn(2)
    estimates = second.estimates(2)
    second.stop()
    assert [(each.start_ms, each.revision) for each in estimates] == [(3_999_999_600_000, 0), (START_MS, 1)]


def far_ahead(driven: Driven) -> None:
    """A stamp that the clock cannot judge; then the kernel calls the clock, which was right, synchronised."""
    driven.say("op1", {"value": 9.0, "at": 4_000_000_000_000})
    driven.clock.good = True
    driven.clock.pass_ms(2_000)
    driven.turn(2)


def test_a_stamp_from_far_ahead_costs_no_reading_after_a_restart(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """The journal gives it back, because of the open window of another sensor; all readings must count."""
    first = Driven(tmp_path, broker, HandClock(wall_ms=START_MS, good=False), van)
    first.say("op1", {"value": 1.0, "at": START_MS}, sensor="5CB6")
    far_ahead(first)
    for number in range(12):
        minute(first, number)
    first.stop()
    second = Driven(tmp_path, broker, first.clock, van)
    for number in range(12, 17):
        minute(second, number)
    [estimate] = second.estimates(1)
    second.stop()
    assert (estimate.start_ms, estimate.minutes["op1"]) == (START_MS, 15)
    assert estimate.inputs == {"op1": 238.0}


def test_a_window_far_ahead_is_published_once_though_the_clock_is_lost_and_found(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS, good=False), van)
    far_ahead(driven)
    for number in range(3):
        minute(driven, number)
    driven.clock.good = False
    driven.clock.pass_ms(2_000)
    driven.turn(2)
    again = json.dumps({"value": 10.0, "at": 4_000_000_001_000})
    van.publish("sensors/5A2D/op1", again, qos=1).wait_for_publish(AT_MOST_S)
    driven.turn(2)
    driven.clock.good = True
    driven.clock.pass_ms(2_000)
    driven.turn(2)
    for number in range(3, 17):
        minute(driven, number)
    estimates = driven.estimates(2)
    driven.stop()
    assert [(e.start_ms, e.minutes["op1"]) for e in estimates] == [(3_999_999_600_000, 1), (START_MS, 15)]


def test_readings_that_were_late_for_a_window_which_opens_again_are_in_it_in_the_end(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """The far stamp made them late. Their wait for a revision is over before the window closes."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS, good=False), van)
    driven.say("op1", {"value": 9.0, "at": 4_000_000_000_000})
    for number in range(3):
        late = json.dumps({"value": 231.0 + number, "at": START_MS + number * MINUTE_MS})
        van.publish("sensors/5A2D/op1", late, qos=1).wait_for_publish(AT_MOST_S)
        driven.clock.pass_ms(MINUTE_MS)
        driven.turn(2)
    driven.clock.good = True
    driven.clock.pass_ms(2_000)
    driven.turn(2)
    for number in range(3, 30):
        minute(driven, number)
    driven.clock.pass_ms(HOUR_MS)
    driven.turn(4)
    estimates = [each for each in driven.estimates(3) if each.start_ms == START_MS]
    driven.stop()
    assert [(each.revision, each.minutes["op1"]) for each in estimates] == [(0, 12), (1, 15)]


def test_a_window_that_only_a_revision_has_made_does_not_open_again(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """Its first estimate has revision 1. Closed again, it would have revision 0, which consumers drop."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS, good=False), van)
    driven.say("op1", {"value": 9.0, "at": 4_000_000_000_000})
    for at_ms in (START_MS, START_MS + 12 * MINUTE_MS):
        late = json.dumps({"value": 231.0, "at": at_ms})
        van.publish("sensors/5A2D/op1", late, qos=1).wait_for_publish(AT_MOST_S)
        driven.turn(2)
        driven.clock.good = True
        driven.clock.pass_ms(2_000)
        driven.turn(2)
        driven.clock.pass_ms(12 * MINUTE_MS)
        driven.turn(4)
    driven.clock.pass_ms(HOUR_MS)
    driven.turn(4)
    estimates = [each for each in driven.estimates(2) if each.start_ms == START_MS]
    driven.stop()
    assert [(each.revision, each.minutes["op1"]) for each in estimates] == [(1, 1), (2, 2)]


def test_a_window_is_not_revised_in_the_turn_in_which_it_opens_again(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """It would be published with revision 1, then closed with revision 0, then revised to another 1."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS, good=False), van)
    driven.say("op1", {"value": 9.0, "at": 4_000_000_000_000})
    for number in (0, 12):
        late = json.dumps({"value": 231.0, "at": START_MS + number * MINUTE_MS})
        van.publish("sensors/5A2D/op1", late, qos=1).wait_for_publish(AT_MOST_S)
        driven.turn()
        driven.clock.pass_ms(12 * MINUTE_MS - number * 55_000)
        driven.clock.good = True
        driven.turn()  # at the end of the first one the clock is known, and the revision is due
    for number in range(13, 17):
        minute(driven, number)
    driven.clock.pass_ms(HOUR_MS)
    driven.turn(4)
    estimates = [each for each in driven.estimates(3) if each.start_ms == START_MS]
    driven.stop()
    assert [(each.revision, each.minutes["op1"]) for each in estimates] == [(0, 3), (1, 4)]


def test_a_window_days_ahead_is_published_once_though_weeks_of_suspension_and_a_kill_follow(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """The sensor stays silent until that time is past, and then sends what it measured then."""
    ahead_ms = START_MS + 72 * HOUR_MS
    first = Driven(tmp_path, broker, HandClock(wall_ms=START_MS, good=False), van)
    for number in range(2):
        first.say("op1", {"value": 9.0, "at": ahead_ms + number * HOUR_MS})
    first.clock.good = True
    first.clock.pass_ms(2_000)
    first.turn(2)
    minute(first, 0)
    first.clock.pass_ms(21 * 24 * HOUR_MS)
    assert [each.start_ms for each in first.estimates(3)] == [ahead_ms, ahead_ms + HOUR_MS, START_MS]
    first.stop()
    second = Driven(tmp_path, broker, first.clock, van)
    for number in range(17):
        again = json.dumps({"value": 231.0, "at": ahead_ms + number * MINUTE_MS})
        van.publish("sensors/5A2D/op1", again, qos=1).wait_for_publish(AT_MOST_S)
    second.turn(2)
    second.clock.pass_ms(HOUR_MS)
    second.turn(4)
    estimates = second.estimates(0)
    second.stop()
    assert [(e.start_ms - ahead_ms, e.minutes["op1"]) for e in estimates] == [(15 * MINUTE_MS, 2)]
