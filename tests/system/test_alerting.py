"""Alerts of a real agent: transitions only, retained, the same after a kill, removed with their setting."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client, MQTTMessage

from edge_agent.core import bundle
from edge_agent.core.messages import Reading
from tests.conftest import make_model
from tests.support.agents import START_MS, publish, retained
from tests.support.broker import AgentProcess, Broker, client, subscribe, wait_until

TOPIC = "respire/van-1/alert/5A2D/co-high"
LIMIT = """
[[alerts]]
name = "co-high"
above = 0.6
below = 0.4
raise_after_s = 1800
clear_after_s = 900
"""
HIGH, LOW = 235.0, 200.0  # of op1: about 0.9 and 0.1 ppm


class Ear:
    """What a consumer hears of alerts, without what was retained when it came."""

    def __init__(self, consumer: Client) -> None:
        self.records: list[dict[str, Any]] = []
        consumer.on_message = self._on_message
        subscribe(consumer, "respire/+/alert/#")

    def _on_message(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        if not message.retain:
            self.records.append(json.loads(message.payload or b'{"state": "gone"}'))

    @property
    def states(self) -> list[str]:
        return [record["state"] for record in self.records]


def hour(windows: range, op1: float) -> list[Reading]:
    """Every minute of some windows, and one of the next, which closes the last."""
    return [
        Reading("5A2D", channel, START_MS + minute * 60_000 + 5_000, value)
        for minute in range(windows.start * 15, windows.stop * 15 + 2)
        for channel, value in (("op1", op1 + minute % 3 / 10), ("op2", 206.0), ("temperature", 24.0))
    ]


@pytest.fixture
def agent(tmp_path: Path, durable_broker: Broker) -> Iterator[AgentProcess]:
    directory = tmp_path / "bundles"
    directory.mkdir()
    (directory / "5A2D.bundle").write_bytes(bundle.encode(make_model()))
    quick = f"{LIMIT}[windows]\ngrace_s = 1.0\npatience_s = 60.0\n[health]\ninterval_s = 0.2\n"
    process = AgentProcess(tmp_path / "agent", durable_broker.port, directory, quick).start()
    process.wait_for("broker.connected")
    yield process
    process.stop()


def test_an_alert_is_raised_once_kept_over_a_kill_and_cleared_once(
    agent: AgentProcess, durable_broker: Broker
) -> None:
    with client(durable_broker) as publisher, client(durable_broker) as consumer:
        ear = Ear(consumer)
        publish(publisher, hour(range(4), HIGH))
        wait_until(lambda: ear.records, what="an alert")
        [raised] = ear.records
        assert {key: raised[key] for key in ("alert", "sensor", "state", "since", "at", "unit")} == {
            "alert": "co-high",
            "sensor": "5A2D",
            "state": "raised",
            "since": "2024-02-01T09:00:00Z",
            "at": "2024-02-01T09:30:00Z",
            "unit": "ppm",
        }
        agent.wait_for("window.closed", 4)
        before = retained(durable_broker, TOPIC)
        assert json.loads(before) == raised

        agent.kill()
        agent.start().wait_for("broker.connected", 2)
        wait_until(lambda: len(ear.records) == 2, what="the state again after a connection")
        assert ear.records == [raised, raised]
        publish(publisher, hour(range(6, 8), LOW))
        wait_until(lambda: len(ear.records) == 3, what="the end of the alert")
        assert (ear.states[-1], ear.records[-1]["since"]) == ("cleared", "2024-02-01T10:30:00Z")
        assert agent.events("alert.raised") == agent.events("alert.cleared") == 1


@pytest.mark.parametrize("instead", ["", LIMIT + 'sensors = ["5CB6"]\n'], ids=["no alert", "another sensor"])
def test_an_alert_that_is_no_longer_set_is_removed(
    agent: AgentProcess, durable_broker: Broker, instead: str
) -> None:
    with client(durable_broker) as publisher, client(durable_broker) as consumer:
        ear = Ear(consumer)
        publish(publisher, hour(range(3), HIGH))
        wait_until(lambda: ear.states == ["raised"], what="an alert")
        agent.stop()
        agent.config.write_text(agent.config.read_text().replace(LIMIT, instead))
        agent.start().wait_for("broker.connected", 2)
        wait_until(lambda: ear.states[1:], what="the state after the restart")
        assert ear.states == ["raised", "gone"]
