"""One session with one agent that does most of what docs/mqtt.md describes."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from paho.mqtt.client import Client, MQTTMessage

from edge_agent.core import bundle
from edge_agent.core.messages import format_time, parse_time
from tests.conftest import make_model, make_warming_model
from tests.support.broker import AgentProcess, Mosquitto, client, subscribe, wait_until
from tests.support.contract_sent import (
    ALONE,
    DOUBTS,
    HOUR_MS,
    KINDS,
    LATE,
    MINUTE_MS,
    ROOT,
    Van,
    ask,
    ask_in_vain,
    err,
    measure,
    retain,
)

SETTINGS = """
[windows]
grace_s = 1
patience_s = 3600
revise_after_s = 1
max_readings = 40
[health]
interval_s = 0.2
[estimates]
means = true
[consensus]
patience_s = 0.2
[position]
topic = "van/position"
[[sites]]
name = "T"
latitude = 52.5
longitude = 13.4
[reference]
[limits]
max_sensors = 2
[journal]
commit_ms = 50
[[alerts]]
name = "co-8h"
above = 0.1
below = 0.0
mean = "8h"
[[alerts]]
name = "peak"
above = 2.0
below = 1.5
sensors = ["5A2D"]
"""
OLD_MS = 1_706_778_000_000
MADE = (
    make_model("5A2D", calibrated_ms=OLD_MS),
    make_warming_model("5CB6", valid_until_ms=OLD_MS),
    make_model("1FEA"),
    make_model("5092"),
    make_model("B5FF", interval=None),
    make_model("D3EB", unit="ppb"),
    make_model("QUIET"),
)
MODELS = {each.sensor: bundle.decode(bundle.encode(each)) for each in MADE}
LATER = bundle.decode(bundle.encode(make_model("1FEA", seed=1)))  # replaces a model during the session


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
        return [each for name in sensors or (*MODELS, "0000") for each in self.of(f"calibrated/{name}/co")]

    def newest(self, topic: str) -> dict[int, dict[str, Any]]:
        """The highest revision of each window of a topic below the root, by its number."""
        revisions = sorted(self.of(topic), key=lambda each: each["revision"])
        return {self.number(each["start"]): each for each in revisions}

    def number(self, start: str) -> int:
        """Which window starts then."""
        return (parse_time(start) - self.base_ms) // (15 * MINUTE_MS)

    def start(self, number: int) -> str:
        return format_time(self.base_ms + number * 15 * MINUTE_MS)

    @property
    def health(self) -> dict[str, Any]:
        """The last record."""
        record: dict[str, Any] = self.of("health")[-1]
        return record

    @property
    def counts(self) -> dict[str, int]:
        counts: dict[str, int] = self.health["readings"]
        return counts


@contextmanager
def session(directory: Path) -> Iterator[Session]:
    """Everything, once; the agent is killed before the end."""
    broker, bundles = Mosquitto(directory / "broker"), directory / "bundles"
    bundles.mkdir()
    (bundles / "bad.bundle").write_bytes(b"no bundle")
    for model in MODELS.values():
        (bundles / f"{model.sensor}.bundle").write_bytes(bundle.encode(model))
    now_ms = time.time_ns() // 1_000_000
    told = Session(now_ms - now_ms % HOUR_MS - 11 * HOUR_MS)
    with client(broker) as ear, client(broker, in_flight=0) as publisher:
        ear.on_message = lambda _client, _data, m: told.messages.append(
            Heard(m.topic, bytes(m.payload), m.qos)
        )
        subscribe(ear, f"{ROOT}/#")
        van = Van(publisher, told.base_ms)
        retain(van)
        agent = AgentProcess(directory / "agent", broker.port, bundles, SETTINGS).start()
        wait_until(lambda: told.of("health") and told.counts["duplicate"], what="a retained reading")
        measure(van)
        _wait_for_measurements(told)
        err(van, now_ms)
        _wait_for_corrections(told)
        (bundles / "1FEA.bundle").write_bytes(bundle.encode(LATER))
        agent.hang_up()
        _wait_for_card(told, "id", LATER.id)
        van.window("1FEA", LATE + 2, last=16)
        _wait_for_card(told, "first_window", told.start(LATE + 1))
        _wait_for_consensus(told, (LATE + 1, 2), (LATE + 2, 2))
        ask(van)
        wait_until(lambda: told.of("response/readings"), what="an answer")
        ask_in_vain(van)
        wait_until(
            lambda: _answered(told) >= {"default", "agreed", "none", "wrong", "many39"}, what="answers"
        )
        told.newcomer = _newcomer(broker)
        (bundles / "5CB6.bundle").unlink()
        agent.hang_up()
        card = f"{ROOT}/calibrated/5CB6/model"
        wait_until(lambda: any((m.topic, m.payload) == (card, b"") for m in told.messages), what="no card")
        wait_until(
            lambda: told.health["bundles"]["loaded"] == len(MODELS) - 1, what="health without a bundle"
        )
        agent.kill()
        wait_until(lambda: told.messages[-1][:2] == (f"{ROOT}/status", b"offline"), what="offline")
    broker.stop()
    yield told


def _wait_for_measurements(told: Session) -> None:
    for topic in ("8h", "score"):
        wait_until(lambda topic=topic: told.of(f"calibrated/5A2D/co/{topic}"), what=topic)  # type: ignore[misc]
    _wait_for_consensus(told, (0, 2), (1, 2), (KINDS, 5), (DOUBTS, 5), (ALONE, 2), (LATE, 2))


def _wait_for_corrections(told: Session) -> None:
    wait_until(lambda: any(each["revision"] for each in told.estimates("5A2D")), what="a revision")
    for number, cause in ((ALONE, "late_readings"), (LATE, "late_sensor")):
        wait_until(lambda n=number, c=cause: told.newest("consensus/co")[n]["cause"] == c, what=cause)  # type: ignore[misc]
    wait_until(lambda: told.counts["refused"], what="the last reading")
    wait_until(lambda: told.health["position"]["fixes"]["rejected"] >= 2, what="the last fix")


def _wait_for_card(told: Session, name: str, value: str) -> None:
    wait_until(lambda: told.of("calibrated/1FEA/model")[-1][name] == value, what=f"{name} in a card")


def _wait_for_consensus(told: Session, *windows: tuple[int, int]) -> None:
    """Each is a window, and how many sensors its consensus knows in the end."""
    for number, sensors in windows:
        wait_until(lambda n=number, s=sensors: _took(told, n) >= s, what=f"consensus {number}")  # type: ignore[misc]


def _took(told: Session, number: int) -> int:
    """How many sensors the consensus of a window knows."""
    found = told.newest("consensus/co").get(number)
    return len(found["sensors"]) + len(found["left_out"]) if found else 0


def _answered(told: Session) -> set[str]:
    return {m.topic.rpartition("/")[2] for m in told.messages if m.topic.startswith(f"{ROOT}/response/")}


def _newcomer(broker: Mosquitto) -> dict[str, bytes]:
    """What a client that subscribes now gets, until its own message comes."""
    found: dict[str, bytes] = {}
    ended: list[str] = []
    with client(broker) as new:

        def keep(_client: Client, _data: object, message: MQTTMessage) -> None:
            if message.retain:
                found[message.topic] = bytes(message.payload)
            elif message.topic == "respire/end":
                ended.append(message.topic)

        new.on_message = keep
        new.subscribe("respire/#", qos=1)
        new.publish("respire/end", b"end", qos=1)
        wait_until(lambda: ended, what="retained messages")
    return found
