"""Real faults: kill -9, brokers that go, connections that are cut, disks that fill, clocks that step."""

import json
import random
import socket
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgpack  # type: ignore[import-untyped]
import pytest

from edge_agent.core import bundle
from edge_agent.core.messages import Reading
from tests.support.agents import (
    QUICK,
    SENSORS,
    START_MS,
    Collector,
    expected,
    publish,
    readings,
    retained,
    send,
    with_closers,
)
from tests.support.broker import AT_MOST_S, AgentProcess, Broker, Mosquitto, Proxy, client, wait_until


def sequences(collector: Collector) -> dict[str, list[int]]:
    numbers: dict[str, set[int]] = {}
    for estimate in collector.estimates:
        numbers.setdefault(estimate.sensor, set()).add(estimate.seq)
    return {sensor: sorted(found) for sensor, found in numbers.items()}


def test_fifty_kills_change_nothing(tmp_path: Path, durable_broker: Broker, bundles: Path) -> None:
    """kill -9 at 50 random moments of two hours of six sensors: the same bytes as an undisturbed run."""
    chance = random.Random(50)
    stream = readings()
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, QUICK).start()
    agent.wait_for("broker.connected")
    with client(durable_broker) as consumer, client(durable_broker) as publisher:
        collector = Collector(consumer)
        share = len(stream) // 50 + 1
        for kill in range(50):
            publish(publisher, stream[kill * share : (kill + 1) * share])
            time.sleep(chance.uniform(0.0, 0.6))  # a random moment: at work, connecting, or still importing
            agent.kill()
            agent.start()
        publish(publisher, with_closers(stream)[len(stream) :])
        wait_until(lambda: len(collector.payloads) >= 48, what="48 windows")
        agent.stop()
    assert collector.once() == expected(stream, bundles)
    assert sequences(collector) == {sensor: list(range(1, 9)) for sensor in SENSORS}


def test_unstamped_readings_are_not_counted_twice_after_a_kill(
    tmp_path: Path, durable_broker: Broker, bundles: Path
) -> None:
    """A bare number delivered again gets another stamp, but it is the same reading."""
    chance = random.Random(8)
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, QUICK).start()
    agent.wait_for("broker.connected")
    with client(durable_broker) as publisher:
        for kill in range(5):
            for number in range(kill * 8, kill * 8 + 8):
                publisher.publish("sensors/5A2D/op1", str(number), qos=1).wait_for_publish(AT_MOST_S)
            time.sleep(chance.uniform(0.8, 1.2))  # about when the group is committed and acknowledged
            agent.kill()
            agent.start()
            agent.wait_for("broker.connected", kill + 2)
    wait_until(lambda: set(_journalled(agent)) == set(range(40)), what="40 readings in the journal")
    agent.stop()
    assert _journalled(agent) == list(range(40))


def _journalled(agent: AgentProcess) -> list[float]:
    with closing(sqlite3.connect(f"file:{agent.state}/journal.db?mode=ro", uri=True)) as db:
        batches = [msgpack.unpackb(blob)[0] for (blob,) in db.execute("SELECT readings FROM batch")]
    return sorted(value for batch in batches for _, _, _, value in batch)


def test_the_broker_may_go_ten_times(tmp_path: Path, durable_broker: Broker, bundles: Path) -> None:
    """Nothing is lost, estimates arrive in order, and waiting for it costs next to no CPU."""
    stream = with_closers(readings())
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, QUICK).start()
    agent.wait_for("broker.connected")
    with (
        client(durable_broker, "consumer", keep=True) as consumer,
        client(durable_broker, "van", keep=True) as van,
    ):
        van.reconnect_delay_set(1, 1)
        consumer.reconnect_delay_set(1, 1)
        collector = Collector(consumer)
        share = len(stream) // 10 + 1
        for stop in range(10):
            publish(van, stream[stop * share : (stop + 1) * share])
            durable_broker.stop()
            if stop == 5:
                wait_until(lambda: _is_idle(agent), what="an idle agent")  # it may still have work at first
            durable_broker.start()
            wait_until(lambda: van.is_connected() and consumer.is_connected(), what="the test's clients")
        wait_until(lambda: len(collector.payloads) >= 48, what="48 windows")
        agent.stop()
    assert collector.once() == expected(stream[: -len(SENSORS)], bundles)
    for sensor in SENSORS:
        starts = [e.start_ms for e in collector.estimates if e.sensor == sensor]
        assert list(dict.fromkeys(starts)) == sorted(set(starts)), "in order"


@pytest.mark.long
def test_the_broker_may_be_away_for_longer_than_a_window(
    tmp_path: Path, durable_broker: Broker, bundles: Path
) -> None:
    """Windows of a minute, a broker that is away for more: what the van held back is still averaged whole."""
    for file in bundles.iterdir():
        file.write_bytes(bundle.encode(replace(bundle.decode(file.read_bytes()), window_ms=60_000)))
    short = "[windows]\nlength_s = 60\ngrace_s = 1.0\npatience_s = 20.0\ncoverage = 0.0\n"
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, short).start()
    agent.wait_for("broker.connected")
    begun_ms = int(time.time() * 1000) // 60_000 * 60_000
    with (
        client(durable_broker, "consumer", keep=True) as consumer,
        client(durable_broker, "van", keep=True) as van,
    ):
        van.reconnect_delay_set(1, 1)
        consumer.reconnect_delay_set(1, 1)
        collector = Collector(consumer)
        publish(
            van, [Reading("5A2D", "op1", begun_ms + second * 1000, 231.0 + second) for second in range(30)]
        )
        durable_broker.stop()
        for second in range(30, 60):  # the van's own client keeps these
            send(van, Reading("5A2D", "op1", begun_ms + second * 1000, 231.0 + second))
        time.sleep(65.0)  # longer than the window, its grace and the patience: nothing may close meanwhile
        durable_broker.start()
        wait_until(lambda: len(collector.estimates) >= 1, 120, "the window")
        agent.stop()
    [estimate] = collector.estimates
    assert (estimate.start_ms, estimate.inputs["op1"]) == (begun_ms, 231.0 + 59 / 2)


def _is_idle(agent: AgentProcess) -> bool:
    """Whether over two seconds without a broker the process uses under 5 % of a core."""
    before = _cpu_s(agent)
    time.sleep(2.0)
    return _cpu_s(agent) - before < 0.1


def _cpu_s(agent: AgentProcess) -> float:
    assert agent.process
    fields = Path(f"/proc/{agent.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_cut_connections_lose_nothing(tmp_path: Path, durable_broker: Broker, bundles: Path) -> None:
    """Dropped TCP connections, in the middle of whatever was under way."""
    proxy = Proxy(durable_broker.port)
    stream = with_closers(readings())
    agent = AgentProcess(tmp_path / "agent", proxy.port, bundles, QUICK).start()
    agent.wait_for("broker.connected")
    with client(durable_broker) as consumer, client(durable_broker) as publisher:
        collector = Collector(consumer)
        share = len(stream) // 8 + 1
        for cut in range(8):
            publish(publisher, stream[cut * share : (cut + 1) * share])
            proxy.cut()
        wait_until(lambda: len(collector.payloads) >= 48, what="48 windows")
        agent.stop()
        proxy.close()
    assert collector.once() == expected(stream[: -len(SENSORS)], bundles)


def test_the_uplink_may_be_away_for_a_week(tmp_path: Path, broker: Broker, bundles: Path) -> None:
    """Every estimate of the week arrives after the uplink returns; the local side never notices."""
    uplink = Mosquitto(tmp_path / "uplink")
    windows = 7 * 96
    with client(uplink, "city", keep=True) as city, client(broker) as publisher:
        city.reconnect_delay_set(1, 1)
        collector = Collector(city)
        uplink.stop()
        away = QUICK + f"[uplink]\nport = {uplink.port}\n"
        agent = AgentProcess(tmp_path / "agent", broker.port, bundles, away).start()
        agent.wait_for("broker.connected")
        for window in range(windows + 1):
            for minute in range(12):
                at_ms = START_MS + window * 900_000 + minute * 60_000
                record = {"at": at_ms, "op1": 231 + minute / 10, "op2": 206 + minute / 10, "temperature": 24}
                publisher.publish("sensors/5A2D", json.dumps(record), qos=1)
        agent.wait_for("window.closed", windows)
        assert agent.events("broker.unreachable") > 0
        uplink.start()
        wait_until(lambda: len(collector.payloads) >= windows, what="a week of estimates")
    agent.stop()
    uplink.stop()
    assert [estimate.seq for estimate in collector.estimates] == list(range(1, windows + 1))


def test_the_agent_starts_while_the_broker_is_away(
    tmp_path: Path, durable_broker: Broker, bundles: Path
) -> None:
    durable_broker.stop()
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, QUICK).start()
    agent.wait_for("broker.unreachable")
    durable_broker.start()
    agent.wait_for("broker.connected")
    assert agent.stop() == 0


@pytest.mark.parametrize("tls", ["true", "false"])
def test_sigterm_ends_it_soon_although_the_uplink_never_answers(
    tmp_path: Path, broker: Broker, bundles: Path, tls: str
) -> None:
    """A mobile network that takes the connection and says nothing: no TLS handshake, or no CONNACK."""
    with socket.create_server(("127.0.0.1", 0)) as black_hole:
        uplink = f"[uplink]\nport = {black_hole.getsockname()[1]}\ntls = {tls}\n"
        agent = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK + uplink)
        # A busy machine may stand still once; paho itself gives a handshake 5 s every time.
        assert any(_seconds_to_stop(agent, black_hole) < 4 for _ in range(3))


def _seconds_to_stop(agent: AgentProcess, black_hole: socket.socket) -> float:
    """How long an agent takes to stop while it waits for an answer."""
    connected = agent.events("broker.connected")
    agent.start().wait_for("broker.connected", connected + 1)
    connection, _ = black_hole.accept()
    with connection:
        connection.recv(1)
        asked_s = time.monotonic()
        assert agent.stop() == 0
        return time.monotonic() - asked_s


def test_a_refused_login_is_said_clearly(tmp_path: Path, bundles: Path) -> None:
    strict = Mosquitto(tmp_path / "strict", "allow_anonymous false")
    agent = AgentProcess(tmp_path / "agent", strict.port, bundles, QUICK).start()
    agent.wait_for("broker.refused")
    assert '"reason": "not authorized"' in agent.log.read_text()
    agent.stop()
    strict.stop()


def test_with_an_uplink_no_will_is_left_where_nobody_says_online(
    tmp_path: Path, broker: Broker, bundles: Path
) -> None:
    """A cut connection in the van must not leave "offline" there for ever."""
    uplink, proxy = Mosquitto(tmp_path / "uplink"), Proxy(broker.port)
    extra = QUICK + f"[uplink]\nport = {uplink.port}\n"
    agent = AgentProcess(tmp_path / "agent", proxy.port, bundles, extra).start()
    agent.wait_for("broker.connected", 2)
    heard: list[str] = []
    with client(broker) as ear:
        ear.on_message = lambda *message: heard.append(message[2].topic)
        ear.subscribe([("respire/#", 1), ("end", 1)])
        proxy.cut()
        agent.wait_for("broker.connected", 3)
        ear.publish("end", b"", qos=1)
        wait_until(lambda: heard)
    assert heard == ["end"]
    agent.kill()
    wait_until(lambda: retained(uplink, "respire/van-1/status") == b"offline", what="the will")
    uplink.stop()
    proxy.close()
