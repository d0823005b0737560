"""The agent as a real process at a real broker: what goes in, what comes out, and what it refuses."""

import json
import random
import sys
from pathlib import Path

import pytest
from paho.mqtt.client import Client

from edge_agent.archive import newest_health
from edge_agent.cli import main
from edge_agent.core import bundle
from edge_agent.core.errors import JournalUnavailable
from edge_agent.core.messages import Reading, decode_estimate
from tests.conftest import make_model
from tests.support.agents import (
    QUICK,
    START_MS,
    Collector,
    expected,
    health,
    publish,
    readings,
    retained,
    send,
    with_closers,
)
from tests.support.broker import AT_MOST_S, AgentProcess, Broker, client, wait_until
from tests.support.processes import run_program


def test_two_hours_of_six_sensors_equal_replay_to_the_last_bit(
    agent: AgentProcess, publisher: Client, collector: Collector, bundles: Path
) -> None:
    """Published at speed: exactly 8 windows for each sensor, the same bytes that replay prints."""
    stream = readings()
    publish(publisher, with_closers(stream))
    wait_until(lambda: len(collector.payloads) >= 48, what="48 windows")
    assert collector.once() == expected(stream, bundles)
    assert len(collector.estimates) == 48
    assert {e.reasons for e in collector.estimates} <= {(), ("temperature_history_incomplete",)}


def test_a_newcomer_finds_status_health_cards_and_the_newest_estimate(
    agent: AgentProcess, broker: Broker, publisher: Client, collector: Collector
) -> None:
    publish(publisher, readings(minutes=31, sensors=("5A2D",)))
    wait_until(lambda: len(collector.payloads) >= 2)
    newest = max(collector.estimates, key=lambda e: e.start_ms)
    wait_until(
        lambda: decode_estimate(retained(broker, "respire/van-1/calibrated/5A2D/co/latest")).seq == newest.seq
    )
    assert retained(broker, "respire/van-1/status") == b"online"
    card = json.loads(retained(broker, "respire/van-1/calibrated/5A2D/model"))
    assert card["id"] == newest.model
    assert len(card["curves"]["temperature"]) == len(card["curves"]["op1"])
    told = health(broker)
    assert (told["agent"], told["clock"], told["outbox"]["dropped"]) == ("van-1", "synchronised", 0)  # type: ignore[index]
    wait_until(lambda: health(broker)["readings"]["accepted"] == 93)  # type: ignore[index]


def test_history_is_answered_on_request(
    agent: AgentProcess, broker: Broker, publisher: Client, collector: Collector
) -> None:
    publish(publisher, readings(minutes=76, sensors=("5A2D",)))
    wait_until(lambda: len(collector.payloads) >= 5)
    answers: list[dict[str, object]] = []
    with client(broker) as page:
        page.on_message = lambda *message: answers.append(json.loads(message[2].payload))
        page.subscribe("respire/van-1/response/+", qos=1)
        for request in (
            b'{"id": "a", "sensor": "5A2D", "last": 3}',
            b'{"id": "b", "sensor": "none", "last": 3}',
            b'{"id": "c", "sensor": "5A2D", "last": 0}',
            b'{"id": "not/one", "sensor": "5A2D"}',
            b"[" * 900,
        ):
            page.publish("respire/van-1/request", request, qos=1)
        wait_until(lambda: len(answers) >= 5)
    mine = [answer for answer in answers if answer["id"] == "a"]
    assert [(answer["index"], answer["of"]) for answer in mine] == [(0, 3), (1, 3), (2, 3)]
    assert [answer["estimate"]["seq"] for answer in mine] == [3, 4, 5]  # type: ignore[index]
    assert {"id": "b", "index": 0, "of": 0, "more": False, "estimate": None} in answers
    assert {"id": "c", "error": "expected last from 1 to 1000"} in answers
    assert len(answers) == 5


def test_a_sensor_without_a_bundle_still_produces_windows(
    agent: AgentProcess, publisher: Client, collector: Collector
) -> None:
    publish(publisher, with_closers(readings(minutes=16, sensors=("NEW1",))))
    wait_until(lambda: len(collector.estimates) >= 2)
    assert [(e.sensor, e.value, e.reasons[0]) for e in collector.estimates] == [
        ("NEW1", None, "no_model")
    ] * 2


def test_a_changed_bundle_is_taken_and_a_bad_one_refused(
    agent: AgentProcess, publisher: Client, collector: Collector, bundles: Path
) -> None:
    publish(publisher, readings(minutes=17, sensors=("5A2D",)))
    wait_until(lambda: collector.estimates)
    before = collector.estimates[-1].model

    (bundles / "5A2D.bundle").write_bytes(b"cut short")
    agent.hang_up()
    agent.wait_for("bundle.refused")
    (bundles / "5A2D.bundle").write_bytes(bundle.encode(make_model("5A2D", seed=99)))
    agent.wait_for("bundle.loaded")

    later = [r._replace(at_ms=r.at_ms + 3_600_000) for r in readings(minutes=17, sensors=("5A2D",))]
    publish(publisher, later)
    wait_until(lambda: len(collector.estimates) >= 3)
    assert collector.estimates[-1].model not in (before, None)


def test_sensors_beyond_the_limit_are_refused_and_counted(
    tmp_path: Path, broker: Broker, bundles: Path, publisher: Client
) -> None:
    limits = QUICK + "[limits]\nmax_sensors = 3\n"
    process = AgentProcess(tmp_path / "small", broker.port, bundles, limits).start()
    process.wait_for("broker.connected")
    publish(publisher, [Reading(f"X{n}", "op1", START_MS, 1.0) for n in range(10)])
    publish(publisher, [Reading("5A2D", "op1", START_MS, 1.0)])
    wait_until(lambda: health(broker)["readings"] == {
        "accepted": 4, "duplicate": 0, "too_late": 0, "revising": 0, "future": 0, "excess": 0, "rejected": 0,
        "refused": 7, "unstampable": 0, "dropped": 0,
        "waiting_for_clock": 0,
    }, what="7 refused")  # fmt: skip
    process.stop()


def test_a_crowded_inbox_makes_the_network_wait_and_never_stops_it(
    tmp_path: Path, broker: Broker, bundles: Path, publisher: Client, collector: Collector
) -> None:
    """Room for three messages between network and loop, while estimates go out on the same connection."""
    tight = QUICK + "[limits]\nmax_pending = 3\n"
    process = AgentProcess(tmp_path / "tight", broker.port, bundles, tight).start()
    process.wait_for("broker.connected")
    stream = readings(minutes=45)
    publish(publisher, with_closers(stream))
    wait_until(lambda: len(collector.payloads) >= 18, what="18 windows")
    process.stop()
    assert collector.once() == expected(stream, bundles)


def test_hostile_messages_are_counted_and_harm_nothing(
    agent: AgentProcess, broker: Broker, publisher: Client, collector: Collector, bundles: Path
) -> None:
    """10 000 fuzzed payloads and topics among good readings: windows right, each rejection counted."""
    chance = random.Random(3)
    stream = readings(minutes=45)
    hostile = [_hostile(chance) for _ in range(10_000)]
    share = len(hostile) // len(stream) + 1
    for place, reading in enumerate(stream):
        for topic, payload in hostile[place * share : (place + 1) * share]:
            publisher.publish(topic, payload, qos=1)
        send(publisher, reading)
    publish(publisher, with_closers(stream)[len(stream) :])
    wait_until(lambda: len(collector.payloads) >= 18)
    assert collector.once() == expected(stream, bundles)
    wait_until(lambda: health(broker)["readings"]["rejected"] == len(hostile), what="every rejection counted")  # type: ignore[index]
    assert agent.process
    assert agent.process.poll() is None


def _hostile(chance: random.Random) -> tuple[str, bytes]:
    topic = chance.choice(["sensors/5A2D/op1", "sensors/5A2D", "sensors/5A2D/pressure", "sensors/\u202e/op1"])
    payload = chance.choice(
        [
            b"",
            b"nan",
            b"[" * 1_000,
            b"\x81" * 100,
            chance.randbytes(chance.randrange(1, 40)),
            b"{" * 50,
            b"x" * 20_000,
        ]
    )
    return topic, payload if topic.startswith("sensors/5A2D") and payload[
        :1
    ] not in b"0123456789+- " else b"nan"


def test_status_prints_the_newest_health(agent: AgentProcess, publisher: Client) -> None:
    publish(publisher, readings(minutes=1))
    agent.wait_for("broker.connected")
    wait_until(lambda: _accepted(agent) == 18, what="health in the journal")
    assert json.loads(newest_health(agent.state))["agent"] == "van-1"


def test_status_asks_the_broker(
    agent: AgentProcess, broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    """For those who may not read the journal, or are elsewhere; a broker without an answer is one line."""
    agent.wait_for("broker.connected")
    ask = ["status", "--broker", "--config", str(agent.config)]
    wait_until(lambda: main(ask) == 0)
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["agent"] == "van-1"
    agent.stop()
    with client(broker) as passer_by:
        passer_by.publish("respire/van-1/health", b"", qos=1, retain=True).wait_for_publish(AT_MOST_S)
    assert main(ask) == 1
    where = f"127.0.0.1:{broker.port}"
    words = "no agent has published health on this broker (respire/van-1/health)"
    assert capsys.readouterr().err == f"edge-agent: {where}: {words}\n"


def test_status_says_when_the_agent_is_not_running(
    agent: AgentProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    wait_until(lambda: (agent.state / "journal.db").exists() and main(["status", *_config(agent)]) == 0)
    agent.kill()
    capsys.readouterr()
    wait_until(lambda: main(["status", *_config(agent)]) == 1)
    assert capsys.readouterr().err.startswith("status: not running since 20")


def test_a_second_agent_on_one_state_is_refused(agent: AgentProcess) -> None:
    """It would count what the first has counted; the first does not notice."""
    agent.wait_for("broker.connected")
    assert agent.process
    command = [sys.executable, "-m", "edge_agent", "run", *_config(agent)]
    second = run_program(command, capture_output=True, text=True, timeout=AT_MOST_S)
    other = f"expected no other agent here, got process {agent.process.pid}"
    words = f"edge-agent: {agent.state}: {other}; stop it, or set another state and agent\n"
    assert (second.returncode, second.stderr) == (78, words)
    assert agent.stop() == 0


def _config(agent: AgentProcess) -> list[str]:
    return ["--config", str(agent.config)]


def _accepted(agent: AgentProcess) -> int:
    try:
        return int(json.loads(newest_health(agent.state))["readings"]["accepted"])
    except JournalUnavailable:
        return 0


def test_sigterm_ends_it_soon_without_closing_windows(
    agent: AgentProcess, broker: Broker, publisher: Client, collector: Collector
) -> None:
    publish(publisher, readings(minutes=5))
    wait_until(lambda: health(broker)["readings"]["accepted"] == 90)  # type: ignore[index]
    assert agent.stop() == 0
    assert retained(broker, "respire/van-1/status") == b"offline"
    assert collector.estimates == []
