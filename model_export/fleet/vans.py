"""What the vans say of themselves: the retained health and model cards of all agents at a broker."""

import json
import ssl
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
END = EVERY.health + "/end"  # nothing is published here
QUIET_S = 1.0  # for brokers that send retained messages later than they answer
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


class Listener:
    """A session that reads what is retained and leaves nothing at the broker.

    A broker answers in order, so its answer to a second subscription comes after the retained messages of the
    first one. This needs no right to publish.
    """

    def __init__(self, broker: Broker) -> None:
        self.heard = Heard()
        self._where = f"{broker.host}:{broker.port}"
        self._refusal = ""
        self._answers = 0
        self._last = time.monotonic()
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2)
        self.client.on_connect, self.client.on_subscribe = self._connected, self._subscribed
        self.client.on_message = self._arrived
        _open(self.client, broker)

    def wait(self) -> None:
        """Until all retained messages are here."""
        while self._answers < 2 or time.monotonic() < self._last + QUIET_S:
            if self._refusal or time.monotonic() > self._last + ANSWER_S:
                words = self._refusal or f"no answer for {ANSWER_S:.0f} s"
                raise RespireError(f"{self._where}: {words}; check --broker and the password")
            time.sleep(0.05)

    def _connected(self, client: mqtt.Client, _data: Any, _flags: Any, answer: Any, _properties: Any) -> None:
        if answer.is_failure:
            self._refusal = str(answer)
            return
        self._answers = 0  # also after a lost connection: all retained messages come again
        client.subscribe([(each, 0) for each in FILTERS])

    def _subscribed(self, client: mqtt.Client, *_: Any) -> None:
        self._last = time.monotonic()
        self._answers += 1
        if self._answers == 1:
            client.subscribe(END)

    def _arrived(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        if message.retain:  # vans that publish meanwhile do not make it last longer
            self._last = time.monotonic()
        self.heard.take(message.topic, bytes(message.payload))


def listen(broker: Broker) -> Heard:
    """All retained records."""
    listener = Listener(broker)
    try:
        listener.client.loop_start()
        listener.wait()
    finally:
        listener.client.disconnect()
        listener.client.loop_stop()
    return listener.heard


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
