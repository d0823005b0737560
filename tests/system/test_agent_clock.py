"""The agent in this process, its clocks turned by hand, at a real broker: steps and late synchronisation."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgpack  # type: ignore[import-untyped]
import pytest
from paho.mqtt.client import Client
from structlog.testing import capture_logs

from edge_agent.agent import Agent
from edge_agent.archive import newest_health
from edge_agent.core.messages import Estimate, Reading, decode_estimate
from edge_agent.settings import Settings
from tests.edge_agent.test_clock import HandClock
from tests.edge_agent.test_journal import disk_without_room
from tests.support.broker import Broker, client, wait_until
from tests.system.test_agent import START_MS, retained

MINUTE_MS = 60_000
HOUR_MS = 3_600_000


class Driven:
    """An agent whose loop we turn, and its van and consumer."""

    def __init__(
        self, directory: Path, broker: Broker, clock: HandClock, van: Client, max_mb: int = 256
    ) -> None:
        (directory / "bundles").mkdir(exist_ok=True)
        self.state, self.clock, self._van = directory / "state", clock, van
        settings = Settings(
            agent="van-1",
            state=self.state,
            bundles=directory / "bundles",
            broker={"port": broker.port},
            journal={"commit_messages": 1, "durability": "process-crash", "max_mb": max_mb},
        )
        self._agent = Agent(settings, clock)
        self._heard: list[tuple[str, bytes]] = []
        van.on_message = lambda *message: self._heard.append((message[2].topic, message[2].payload))
        van.subscribe("respire/van-1/#", 1)
        self._agent.start()
        self.turn_until(lambda: ("respire/van-1/status", b"online") in self._heard)

    def turn_until(self, condition: object) -> None:
        """Turns until something is the case."""

        def turn() -> object:
            self._agent.step()
            return condition()  # type: ignore[operator]

        wait_until(turn, what="the agent")

    @property
    def connected(self) -> bool:
        """Whether the agent's connection is up, taken notice of or not."""
        return self._agent._ingress.connected

    def turn(self, times: int = 1) -> None:
        """So many whole turns; a request that asks nothing keeps the loop from waiting."""
        for _ in range(times):
            self._van.publish("respire/van-1/request", b"", qos=1).wait_for_publish(10)
            self._agent.step()

    def say(self, channel: str, payload: object, sensor: str = "5A2D") -> None:
        """A reading comes in and is on disk."""
        before = self.seen()
        self._van.publish(f"sensors/{sensor}/{channel}", json.dumps(payload), qos=1).wait_for_publish(10)
        self.turn_until(lambda: self.seen() > before)

    def seen(self) -> int:
        """How many readings the journal has, held or not."""
        return len(self._journalled("batch")) + len(self._journalled("held"))

    def readings(self) -> list[Reading]:
        """Those that have their time."""
        return self._journalled("batch")

    def history(self) -> list[int]:
        """The numbers of the estimates that are still on disk."""
        with closing(sqlite3.connect(f"file:{self.state}/journal.db?mode=ro", uri=True)) as db:
            return [decode_estimate(payload).seq for (payload,) in db.execute("SELECT payload FROM estimate")]

    def _journalled(self, table: str) -> list[Reading]:
        with closing(sqlite3.connect(f"file:{self.state}/journal.db?mode=ro", uri=True)) as db:
            blobs = db.execute(f"SELECT readings FROM {table}").fetchall()  # noqa: S608
        return [Reading(*each) for (blob,) in blobs for each in msgpack.unpackb(blob)[0]]

    def estimates(self, number: int) -> list[Estimate]:
        """All that was published, once there are so many."""
        self.turn_until(lambda: len(self._estimates()) >= number)
        self.turn(3)
        return self._estimates()

    def _estimates(self) -> list[Estimate]:
        return [
            decode_estimate(payload)
            for topic, payload in self._heard
            if topic == "respire/van-1/calibrated/5A2D/co"
        ]

    def stop(self) -> None:
        self._agent.stop()


@pytest.fixture
def van(broker: Broker) -> Iterator[Client]:
    with client(broker) as made:
        yield made


def booted(boot: str = "boot-1") -> HandClock:
    """A Pi just after boot: its clock stands years ago, and the kernel knows that it is wrong."""
    return HandClock(wall_ms=1_600_000_000_000, since_boot_ms=30_000, good=False, boot=boot)


def synchronise(driven: Driven) -> None:
    """NTP answers: a step to the truth, START_MS being thirty seconds after boot."""
    driven.clock.step_ms(START_MS - 30_000 + driven.clock.since_boot_ms - driven.clock.wall_ms)
    driven.clock.good = True
    driven.clock.pass_ms(2_000)
    driven.turn(2)


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
    """The far stamp closed a window early; that is published, and may not come again with other content."""
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
    van.publish("sensors/5A2D/op1", late, qos=1).wait_for_publish(10)
    second.turn(2)
    second.clock.pass_ms(HOUR_MS)
    second.turn(2)
    assert [each.start_ms for each in second.estimates(1)] == [3_999_999_600_000]
    second.stop()


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
    van.publish("sensors/5A2D/op1", again, qos=1).wait_for_publish(10)
    driven.turn(2)
    driven.clock.good = True
    driven.clock.pass_ms(2_000)
    driven.turn(2)
    for number in range(3, 17):
        minute(driven, number)
    estimates = driven.estimates(2)
    driven.stop()
    assert [(e.start_ms, e.minutes["op1"]) for e in estimates] == [(3_999_999_600_000, 1), (START_MS, 15)]


def minute(driven: Driven, number: int) -> None:
    """A minute goes by, with a reading whose sensor knows the time."""
    driven.say("op1", {"value": 231.0 + number, "at": START_MS + number * MINUTE_MS})
    driven.clock.pass_ms(MINUTE_MS)
    driven.turn()


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
    van.publish("sensors/5A2D/op1", "999", qos=1).wait_for_publish(10)
    driven.turn(2)
    driven.clock.pass_ms(MINUTE_MS)
    [estimate] = driven.estimates(1)
    driven.stop()
    assert (estimate.start_ms, estimate.minutes["op1"]) == (START_MS, 15)
    assert json.loads(newest_health(driven.state))["readings"]["revising"] == 1


def test_a_clock_that_stands_in_the_future_forgets_no_history(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """Retention by age needs a clock that can be trusted."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van)
    for number in range(17):
        minute(driven, number)
    driven.estimates(1)
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
        van.publish("sensors/5A2D/op1", minutes[0], qos=1).wait_for_publish(10)
        driven.turn()  # the disk refuses it, and now the loop takes nothing more
        van.publish("sensors/5A2D/op1", minutes[1], qos=1).wait_for_publish(10)
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


def test_a_full_disk_does_not_end_the_agent_when_it_is_time_to_forget(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van)
    for number in range(17):
        minute(driven, number)
    driven.estimates(1)
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
    """The van stands for five days before the revision is due: by then the window's own readings are gone."""
    first = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van)
    for number in range(17):
        if number != 3:
            minute(first, number)
    assert [each.minutes["op1"] for each in first.estimates(1)] == [14]
    late = json.dumps({"value": 500.0, "at": START_MS + 3 * MINUTE_MS})
    van.publish("sensors/5A2D/op1", late, qos=1).wait_for_publish(10)
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
    assert [each.revision for each in second._estimates() if each.start_ms == START_MS] in ([], [0])
