"""One session with one agent that does most of what docs/mqtt.md describes."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgpack  # type: ignore[import-untyped]
from paho.mqtt.client import Client, MQTTMessage

from edge_agent.core import bundle
from edge_agent.core.messages import format_time
from tests.conftest import make_model, make_warming_model
from tests.support.broker import AgentProcess, Mosquitto, client, subscribe, wait_until

SETTINGS = """
[windows]
grace_s = 1
patience_s = 3600
revise_after_s = 0.2
max_readings = 40
[health]
interval_s = 0.2
[estimates]
means = true
[consensus]
patience_s = 0.2
[position]
topic = "van/position"
[reference]
[limits]
max_sensors = 2
[journal]
commit_ms = 50
[[alerts]]
name = "co-8h"
above = 0.1
below = 0.0
"""
ROOT = "respire/van-1"
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
NORMAL = {"op1": 231.0, "op2": 206.0, "temperature": 24.0}
# Windows of 5A2D that are not as the others.
SUSPECT, FAILED, STUCK, POOR, MOVING = 4, 5, 6, 7, 2
# A payload, and the reading that it is; all in one window, AT being its start.
FORMS: tuple[tuple[str, Any, dict[str, float]], ...] = (
    ("op1", lambda at: json.dumps({"value": 1.5, "at": format_time(at)}), {"op1": 1.5}),
    ("op1", lambda at: json.dumps({"value": 2, "at": at}), {"op1": 2.0}),
    ("op2", lambda at: json.dumps({"value": 3.5, "at": at / 1000, "board": [7]}), {"op2": 3.5}),
    ("", lambda at: json.dumps({"at": at, "op1": 4.5, "op2": None}), {"op1": 4.5}),
    ("", lambda at: msgpack.packb({"at": msgpack.Timestamp(at // 1000), "op2": 5.5}), {"op2": 5.5}),
    ("", lambda at: json.dumps({"at": _local(at, "+05:30"), "temperature": 6.5}), {"temperature": 6.5}),
    ("", lambda at: json.dumps({"at": format_time(at)[:-1], "op1": 7.5}), {"op1": 7.5}),
)


def _local(at_ms: int, offset: str) -> str:
    hours, minutes = map(int, offset[1:].split(":"))
    return format_time(at_ms + hours * HOUR_MS + minutes * MINUTE_MS)[:-1] + offset


class Heard(NamedTuple):
    """One message as a subscriber gets it."""

    topic: str
    payload: bytes
    qos: int


@dataclass
class Session:
    """What was published, what a newcomer gets, and the answers to requests."""

    base_ms: int
    messages: list[Heard] = field(default_factory=list)
    newcomer: dict[str, bytes] = field(default_factory=dict)

    def of(self, topic: str) -> list[Any]:
        """The maps that were published on a topic below the root, in order."""
        return [json.loads(m.payload) for m in self.messages if m.topic == f"{ROOT}/{topic}" and m.payload]

    def estimates(self, *sensors: str) -> list[dict[str, Any]]:
        return [each for name in sensors for each in self.of(f"calibrated/{name}/co")]

    @property
    def counts(self) -> dict[str, int]:
        counts: dict[str, int] = self.of("health")[-1]["readings"]
        return counts


class Van:
    """Sends what sensors send."""

    def __init__(self, publisher: Client, base_ms: int) -> None:
        self._publisher, self.base_ms = publisher, base_ms

    def send(self, topic: str, payload: bytes | str) -> None:
        self._publisher.publish(topic, payload, qos=1)

    def minute(self, sensor: str, minute: int, **values: float) -> None:
        at_ms = self.base_ms + minute * MINUTE_MS + 5_000
        wobble = {name: level + minute % 7 / 10 for name, level in NORMAL.items()}
        self.send(f"sensors/{sensor}", json.dumps({"at": at_ms, **wobble, **values}))

    def fix(self, minute: int, speed_kmh: float) -> None:
        at_ms = self.base_ms + minute * MINUTE_MS
        self.send("van/position", json.dumps({"lat": 52.5, "lon": 13.4, "at": at_ms, "speed_kmh": speed_kmh}))

    def ask(self, **request: Any) -> None:
        self.send(f"{ROOT}/request", json.dumps(request))


@contextmanager
def session(directory: Path) -> Iterator[Session]:
    """Everything, once; the agent is killed before the end."""
    broker, bundles = Mosquitto(directory / "broker"), directory / "bundles"
    bundles.mkdir()
    for model in (make_model("5A2D"), make_warming_model("5CB6", valid_until_ms=1_706_778_000_000)):
        (bundles / f"{model.sensor}.bundle").write_bytes(bundle.encode(model))
    agent = AgentProcess(directory / "agent", broker.port, bundles, SETTINGS).start()
    agent.wait_for("broker.connected")
    now_ms = time.time_ns() // 1_000_000
    told = Session(now_ms - now_ms % HOUR_MS - 11 * HOUR_MS)
    with client(broker) as ear, client(broker) as publisher:
        ear.on_message = lambda _client, _data, m: told.messages.append(
            Heard(m.topic, bytes(m.payload), m.qos)
        )
        subscribe(ear, f"{ROOT}/#")
        van = Van(publisher, told.base_ms)
        _measure(van)
        for topic in ("8h", "score"):
            wait_until(lambda topic=topic: told.of(f"calibrated/5A2D/co/{topic}"), what=topic)  # type: ignore[misc]
        _err(van, now_ms)
        wait_until(lambda: all(told.counts[kind] for kind in ("revising", "too_late", "refused", "future")))
        wait_until(lambda: any(each["revision"] for each in told.estimates("5A2D")), what="a revision")
        _ask(van, told)
        told.newcomer = _newcomer(broker)
        (bundles / "5CB6.bundle").unlink()
        agent.hang_up()
        card = f"{ROOT}/calibrated/5CB6/model"
        wait_until(lambda: any((m.topic, m.payload) == (card, b"") for m in told.messages), what="no card")
        agent.kill()
        wait_until(lambda: told.messages[-1][:2] == (f"{ROOT}/status", b"offline"), what="offline")
    broker.stop()
    yield told


def _measure(van: Van) -> None:
    """Nine hours of one sensor, and a few windows of two others."""
    for minute in range(0, 45, 5):
        van.fix(minute, 50.0 if minute // 15 == MOVING else 0.4)
    odd = {SUSPECT: {"op1": 310.0}, FAILED: {"op1": 900.0}, STUCK: {"op1": 231.0}}
    for minute in range(9 * 60 + 2):
        if minute // 15 != POOR or minute % 15 < 5:
            van.minute("5A2D", minute, **odd.get(minute // 15, {}))
        if minute > 8 * 60 - 90:
            value = {"value": 0.8 + minute % 5 / 10, "at": van.base_ms + minute * MINUTE_MS}
            van.send("reference/co", json.dumps(value))
    for minute in range(32):
        van.minute("5CB6", minute)
        van.minute("0000", minute)
    for place, (channel, payload, _) in enumerate(FORMS):
        at_ms = van.base_ms + place * MINUTE_MS
        van.send(f"sensors/FORM/{channel}".rstrip("/"), payload(at_ms))


def _err(van: Van, now_ms: int) -> None:
    """Readings that are not accepted, and some that come late."""
    van.minute("5A2D", 9 * 60 + 1)
    van.send("sensors/5A2D/op1", json.dumps({"value": 1.0, "at": now_ms + HOUR_MS}))
    van.send("sensors/5A2D/op1", json.dumps({"value": 1.0, "at": now_ms - 48 * HOUR_MS}))
    van.send("sensors/5A2D/op1", "high")
    van.send("sensors/9999/op1", "1.0")
    for place in range(50):
        van.send("sensors/0000/op1", json.dumps({"value": 1.0, "at": now_ms + place}))
    for minute in range(5, 15):
        van.minute("5A2D", POOR * 15 + minute)


def _ask(van: Van, told: Session) -> None:
    """Every kind of request; the last one is answered last."""
    hour = {"from": format_time(told.base_ms), "to": format_time(told.base_ms + HOUR_MS)}
    van.ask(id="last", sensor="5A2D", last=3)
    van.ask(id="times", sensor="5A2D", **hour)
    van.ask(id="after", sensor="5A2D", after_seq=30)
    van.ask(id="agreed", what="consensus", last=2)
    van.ask(id="readings", sensor="FORM", what="readings", **hour)
    wait_until(lambda: told.of("response/readings"), what="an answer")
    van.ask(id="none", sensor="0001")
    van.ask(id="wrong", sensor="5A2D", last=0)
    van.ask(id="a/b", sensor="5A2D")
    for number in range(40):
        van.ask(id=f"many{number}", sensor="5A2D", last=20)
    wait_until(lambda: _answered(told) >= {"last", "times", "after", "none", "wrong", "many39"})


def _answered(told: Session) -> set[str]:
    return {m.topic.rpartition("/")[2] for m in told.messages if m.topic.startswith(f"{ROOT}/response/")}


def _newcomer(broker: Mosquitto) -> dict[str, bytes]:
    """What a client that subscribes now gets at once."""
    found: dict[str, bytes] = {}
    with client(broker) as new:

        def keep(_client: Client, _data: object, message: MQTTMessage) -> None:
            if message.retain:
                found[message.topic] = bytes(message.payload)

        new.on_message = keep
        new.subscribe("respire/#", qos=1)
        wait_until(lambda: f"{ROOT}/status" in found and f"{ROOT}/health" in found, what="retained messages")
        new.publish("respire/end", b"", qos=1).wait_for_publish(10)
    return found
