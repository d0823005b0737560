"""Bounds and second chances: nothing a sensor, a clock or an old session does lasts for ever."""

import json
from contextlib import closing, suppress
from pathlib import Path

from paho.mqtt.client import Client

from edge_agent.archive import Archive
from edge_agent.change import Change
from edge_agent.core.messages import Reading
from edge_agent.core.windows import Outcome, Windows
from edge_agent.journal import Journal
from tests.edge_agent.test_clock import HandClock
from tests.support.agents import QUICK, START_MS, health, publish, readings
from tests.support.broker import AgentProcess, Broker, Mosquitto, client, subscribe, wait_until
from tests.support.driven import HOUR_MS, Driven, booted
from tests.support.hostile import hostile_bundles, needs_fast_msgpack, sealed, sound_body
from tests.support.journals import estimate


def test_a_disk_that_is_full_at_the_start_is_tried_again(
    tmp_path: Path, tiny_disk: Path, broker: Broker, bundles: Path
) -> None:
    """Exit 78 is for settings; systemd never tries again after it, although somebody may make room."""
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK)
    agent.state.symlink_to(tiny_disk)
    agent.start()
    agent.wait_for("broker.connected")
    with client(broker) as publisher:
        publish(publisher, readings(minutes=1))
    agent.stop()
    with suppress(OSError):
        (tiny_disk / "filler").write_bytes(b"0" * 5_000_000)
    agent.start()
    wait_until(
        lambda: agent.process and (agent.process.poll() is not None or agent.events("agent.started") > 1)
    )
    assert agent.process
    assert agent.process.poll() != 78
    agent.stop()


def test_an_agent_starts_with_a_bad_bundle_among_good_ones(
    tmp_path: Path, broker: Broker, bundles: Path
) -> None:
    """Nobody is in the van to remove it; the others serve, and health has the reason."""
    (bundles / "bad.bundle").write_bytes(sealed(sound_body("a+b")))
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK).start()
    agent.wait_for("bundle.refused")
    agent.wait_for("broker.connected")
    wait_until(lambda: health(broker).get("bundles"))
    told = health(broker)["bundles"]
    agent.stop()
    assert told["refused"] == 1  # type: ignore[index]
    assert told["loaded"] == len(list(bundles.glob("*.bundle"))) - 1  # type: ignore[index]
    assert "'a+b' where a name without / + # belongs" in told["reasons"][0]  # type: ignore[index]


@needs_fast_msgpack
def test_an_agent_serves_the_sound_sensors_through_a_thousand_hostile_bundles(
    tmp_path: Path, broker: Broker, bundles: Path
) -> None:
    """Half of them are there at the start, half come while it works."""
    hostile = list(hostile_bundles(1_000, seed=18))
    for n, data in enumerate(hostile[:500]):
        (bundles / f"0{n:04}.bundle").write_bytes(data)
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK).start()
    agent.wait_for("broker.connected")
    values: list[object] = []
    with client(broker) as van:
        van.on_message = lambda *message: values.append(json.loads(message[2].payload)["value"])
        van.subscribe("respire/van-1/calibrated/5A2D/co", qos=1)
        publish(van, readings(minutes=17, sensors=("5A2D",)))
        wait_until(lambda: len(values) == 1)
        before = health(broker)["bundles"]["refused"]  # type: ignore[index]
        for n, data in enumerate(hostile[500:]):
            (bundles / f"1{n:04}.bundle").write_bytes(data)
        wait_until(lambda: health(broker)["bundles"]["refused"] > before + 400)  # type: ignore[index]
        publish(van, readings(minutes=32, sensors=("5A2D",))[17 * 3 :])
        wait_until(lambda: len(values) == 2)
    wait_until(lambda: health(broker)["bundles"]["refused"] > 900)  # type: ignore[index]
    rss_bytes = health(broker)["rss_bytes"]
    agent.stop()
    assert None not in values
    assert rss_bytes < 80_000_000  # type: ignore[operator]


def test_a_silent_sensor_does_not_keep_its_window_open_until_the_clock_is_right(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """In a van without NTP that is for ever; its batches stay, and at max_mb waiting estimates go."""
    driven = Driven(tmp_path, broker, booted(), van)
    driven.say("op1", {"value": 231.4, "at": START_MS})
    for _ in range(10):
        driven.clock.pass_ms(HOUR_MS)
        driven.turn(2)
    estimates = driven.estimates(0)
    driven.stop()
    assert [estimate.start_ms for estimate in estimates] == [START_MS]


def test_readings_that_are_refused_use_up_no_memory(tmp_path: Path, broker: Broker, bundles: Path) -> None:
    """Readings from the future (and, before synchronisation, unstamped ones) go round max_sensors."""
    limits = QUICK + "[limits]\nmax_sensors = 3\n"
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, limits).start()
    agent.wait_for("broker.connected")
    with client(broker) as publisher:
        publish(publisher, [Reading(f"X{n}", "op1", 4_000_000_000_000, 1.0) for n in range(300)])
    wait_until(lambda: health(broker)["readings"]["future"] + health(broker)["readings"]["refused"] == 300)  # type: ignore[index]
    sensors = health(broker)["sensors"]
    agent.stop()
    assert len(sensors) <= 3 + 6  # type: ignore[arg-type]


def test_a_journal_that_has_grown_too_large_is_cut_within_seconds(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """A flood of windows writes megabytes a minute; looking every ten minutes would be too late."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van, max_mb=1)
    with closing(Journal(driven.state / "journal.db", 900_000, "process-crash")) as flood:
        flood.commit(Change(estimates=[estimate(window=n) for n in range(5_000)]), now_ms=0)
        assert flood.size_bytes() > 1_000_000
        driven.clock.pass_ms(2_000)
        driven.turn(2)
        assert flood.size_bytes() <= 1_000_000
    driven.stop()


def test_a_request_is_acknowledged_after_the_readings_before_it(
    tmp_path: Path, broker: Broker, van: Client
) -> None:
    """MQTT wants acknowledgements in the order of the messages, and readings wait for a commit."""
    driven = Driven(tmp_path, broker, HandClock(wall_ms=START_MS), van, commit_messages=20)
    driven.turn(2)
    before = len(driven.acknowledged)
    for channel in ("op1", "op2"):
        van.publish(f"sensors/5A2D/{channel}", "231.4", qos=1)
    driven.turn()  # its request is the third message
    waiting = driven.acknowledged[before:]
    driven.clock.pass_ms(60_000)
    driven.turn_until(lambda: len(driven.acknowledged) - before == 3)
    driven.stop()
    assert waiting == []
    assert driven.acknowledged == sorted(driven.acknowledged)


def test_one_reading_from_2096_does_not_silence_a_sensor_for_ever() -> None:
    """Accepted while the clock could not judge, it makes every later reading late; also after a restart."""
    windows = Windows()
    windows.add(Reading("5A2D", "op1", 4_000_000_000_000, 1.0), now_ms=START_MS, trusted=False)
    assert windows.add(Reading("5A2D", "op1", START_MS, 1.0), now_ms=START_MS) is Outcome.ACCEPTED


def test_what_an_old_session_of_the_uplink_delivers_is_acknowledged_there(
    tmp_path: Path, broker: Broker, bundles: Path
) -> None:
    """A broker that was [broker] before it became [uplink] still has the subscription to readings.

    None of them is taken: readings come only from the broker in the van.
    """
    uplink = Mosquitto(tmp_path / "uplink")
    with client(uplink, "respire-van-1", keep=True) as before:
        subscribe(before, "sensors/+/+")
    extra = QUICK + f"[uplink]\nport = {uplink.port}\n"
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, extra).start()
    agent.wait_for("broker.connected", 2)
    answers: list[object] = []
    with client(uplink) as city:
        city.on_message = lambda *message: answers.append(json.loads(message[2].payload))
        city.subscribe("respire/van-1/response/+", qos=1)
        publish(city, readings(minutes=2))
        city.publish("respire/van-1/request", b'{"id": "a", "sensor": "5A2D"}', qos=1)
        wait_until(lambda: answers, what="an answer")
    agent.stop()
    uplink.stop()
    with closing(Archive(agent.state)) as archive:
        assert list(archive.batches()) == []
