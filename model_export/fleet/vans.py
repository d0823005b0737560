"""What the vans say of themselves: the retained health and model cards of all agents at a broker."""

import json
import ssl
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from edge_agent.core.errors import RespireError
from edge_agent.core.topics import ROOT, OwnTopics

EVERY = OwnTopics(ROOT.format(agent="+"))
FILTERS = (EVERY.health, EVERY.model("+"))
QUIET_S = 1.0  # after so long without a message there is no further retained one
ANSWER_S = 20.0


@dataclass(frozen=True, slots=True)
class Broker:
    """Where the vans publish, and how to log in."""

    host: str
    port: int
    username: str | None = None
    password: str | None = None
    ca: Path | None = None  # with it, over TLS


@dataclass(slots=True)
class Heard:
    """The records by agent, and cards by agent and sensor; `bad` counts messages that are no such record."""

    health: dict[str, dict[str, Any]] = field(default_factory=dict)
    cards: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    bad: int = 0

    def take(self, topic: str, payload: bytes) -> None:
        """Store one retained message; anybody may publish anything."""
        agent, *rest = topic.removeprefix(ROOT.partition("{")[0]).split("/")
        try:
            record = json.loads(payload) if payload else None
        except (ValueError, RecursionError):
            record = []
        if record is None:  # the model was removed
            return
        if not isinstance(record, dict):
            self.bad += 1
        elif rest == ["health"] and isinstance(record.get("sensors"), dict):
            self.health[agent] = record
        elif len(rest) == 3 and rest[2] == "model":
            self.cards[agent, rest[1]] = record
        else:
            self.bad += 1


def listen(broker: Broker) -> Heard:
    """All retained records, read in a session that leaves nothing at the broker."""
    heard, last, ready = Heard(), [time.monotonic()], threading.Event()
    refusal: list[str] = []

    def connected(client: mqtt.Client, _data: Any, _flags: Any, answer: Any, _properties: Any) -> None:
        if answer.is_failure:
            refusal.append(str(answer))
            ready.set()
            return
        client.subscribe([(each, 0) for each in FILTERS])

    def subscribed(*_: Any) -> None:
        last[0] = time.monotonic()
        ready.set()

    def arrived(_client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        last[0] = time.monotonic()
        heard.take(message.topic, bytes(message.payload))

    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.on_connect, client.on_subscribe, client.on_message = connected, subscribed, arrived
    _open(client, broker)
    try:
        client.loop_start()
        if not ready.wait(ANSWER_S) or refusal:
            words = refusal[0] if refusal else "no answer"
            raise RespireError(f"{broker.host}:{broker.port}: {words}; check --broker and the password")
        until = time.monotonic() + ANSWER_S
        while time.monotonic() < min(until, last[0] + QUIET_S):
            time.sleep(0.05)
    finally:
        client.disconnect()
        client.loop_stop()
    return heard


def _open(client: mqtt.Client, broker: Broker) -> None:
    try:
        if broker.username is not None:
            client.username_pw_set(broker.username, broker.password)
        if broker.ca is not None:
            client.tls_set_context(ssl.create_default_context(cafile=str(broker.ca)))
        client.connect(broker.host, broker.port)
    except (OSError, ValueError) as error:
        got = str(getattr(error, "strerror", None) or error).lower()
        raise RespireError(f"{broker.host}:{broker.port}: expected an MQTT broker, got {got}") from error
