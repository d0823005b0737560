"""A van as consumers see it: estimates, cards, health and history by the wire contract, in plain paho.

It replaces the agent, so that the dashboard is tested against the contract and not against our encoder.
"""

import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

from tests.support.broker import AT_MOST_S

Json = dict[str, Any]

WINDOW_S = 900
MODEL = "sha256:9f3c01ab23cd4567"
WEIGHTS = {"op1": 0.0121, "op2": -0.0103, "bias": 0.04}
CONSENSUS = "consensus/co"  # among the names of sensors
CHANNELS = ("op1", "op2", "temperature")


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()


def estimate(sensor: str, start_s: float, length_s: int = WINDOW_S, **changes: Any) -> Json:
    """A plausible estimate; any field can be changed."""
    hour = start_s / 3600 % 24
    phase = sum(sensor.encode()) % 7
    temperature = 17 + 8 * math.sin((hour - 9) / 24 * math.tau) + phase / 7
    weights = {name: weight_at(name, temperature) for name in WEIGHTS}
    peaks = sum(math.exp(-((hour - peak) ** 2) / 3) for peak in (8.5, 18.5))
    value = 0.32 + 0.55 * peaks + 0.05 * math.sin(hour * 5 + phase) + 0.03 * math.sin(hour * 13 + 2 * phase)
    op2 = 206.0 + phase
    op1 = (value - weights["bias"] - weights["op2"] * op2) / weights["op1"]
    return {
        "v": 1,
        "sensor": sensor,
        "gas": "CO",
        "value": round(value, 4),
        "unit": "ppm",
        "low": round(value - 0.12, 4),
        "high": round(value + 0.12, 4),
        "level": 0.9,
        "start": iso(start_s),
        "end": iso(start_s + length_s),
        "seq": int(start_s // length_s),
        "revision": 0,
        "quality": 1,
        "reasons": [],
        "inputs": {"op1": round(op1, 2), "op2": op2, "temperature": round(temperature, 2)},
        "minutes": {"op1": 15, "op2": 15, "temperature": 14, "expected": 15},
        "weights": {name: round(weight, 6) for name, weight in weights.items()},
        "model": MODEL,
        "agent": "van-1",
        "clock": "synchronised",
    } | changes


def weight_at(name: str, temperature: float) -> float:
    slope = {"op1": -4.2e-5, "op2": 2.4e-5, "bias": 0.004}[name]
    return WEIGHTS[name] + slope * (temperature - 20) + 0.04 * abs(WEIGHTS[name]) * math.sin(temperature / 5)


def card(sensor: str, **changes: Any) -> Json:
    temperatures = [round(2 + 0.8 * i, 2) for i in range(41)]
    curves = {name: [round(weight_at(name, t), 6) for t in temperatures] for name in WEIGHTS}
    return {
        "v": 1,
        "sensor": sensor,
        "id": MODEL,
        "gas": "CO",
        "unit": "ppm",
        "channels": ["op1", "op2"],
        "auxiliary": "temperature",
        "kernel": "matern32",
        "support": 24,
        "domain": {"op1": [170.0, 330.0], "op2": [190.0, 230.0], "temperature": [6.0, 31.0]},
        "interval": {"half_width": 0.12, "level": 0.9},
        "provenance": {"dataset": "T-W", "windows": 2431, "r2": 0.941, "exporter": "0.1.0"},
        "curves": {"temperature": temperatures, **curves},
    } | changes


def consensus(start_s: float, sensors: dict[str, float], left_out: dict[str, str], **changes: Any) -> Json:
    """The consensus of a window, of sensors with their shares."""
    value = estimate("5A2D", start_s)["value"]
    return {
        "v": 1,
        "gas": "CO",
        "value": value,
        "unit": "ppm",
        "unit_at": None,
        "low": round(value - 0.06, 4),
        "high": round(value + 0.06, 4),
        "level": 0.9,
        "spread": 0.02,
        "start": iso(start_s),
        "end": iso(start_s + WINDOW_S),
        "seq": int(start_s // WINDOW_S),
        "revision": 0,
        "supersedes": None,
        "cause": None,
        "status": "preliminary",
        "quality": 1,
        "reasons": [],
        "sensors": sensors,
        "left_out": left_out,
        "position": None,
        "site": None,
        "agent": "van-1",
    } | changes


def score(sensor: str, to_s: float, **changes: Any) -> Json:
    """A day beside a reference."""
    return {
        "v": 1,
        "agent": "van-1",
        "sensor": sensor,
        "gas": "CO",
        "from": iso(to_s - 86_400),
        "to": iso(to_s),
        "windows": 96,
        "bias": 0.021,
        "rmse": 0.064,
        "unit": "ppm",
        "r2": 0.953,
        "coverage": 0.885417,
        "level": 0.9,
        "model": MODEL,
    } | changes


def health(at_s: float, sensors: Json, **changes: Any) -> Json:
    return {
        "v": 1,
        "agent": "van-1",
        "version": "0.1.0",
        "at": iso(at_s),
        "interval_s": 60.0,
        "uptime_s": 187_320,
        "clock": "synchronised",
        "readings": {
            "accepted": 280_980,
            "duplicate": 12,
            "too_late": 3,
            "future": 0,
            "excess": 0,
            "rejected": 0,
        },
        "outbox": {"depth": 0, "oldest_s": None, "dropped": 0},
        "sensors": sensors,
        "rss_bytes": 52_300_000,
        "written_bytes": 41_200_000,
        "journal_bytes": 6_400_000,
    } | changes


def sensor_health(
    at_s: float,
    silent: tuple[str, ...] = (),
    stuck: tuple[str, ...] = (),
    suspected: tuple[str, ...] = (),
) -> Json:
    lists = {"silent": [*silent], "stuck": [*stuck], "suspected": [*suspected]}
    return {"model": MODEL, "last_reading": iso(at_s), **lists}


@dataclass(slots=True)
class Van:
    """An agent as its broker sees it, with its last will; `past` answers requests for history."""

    port: int
    name: str = "van-1"
    past: dict[str, list[Json]] = field(default_factory=dict)
    busy: int = 0  # the number of requests to refuse first
    client: Client = field(default_factory=lambda: Client(CallbackAPIVersion.VERSION2))

    def connect(self) -> None:
        self.client.will_set(f"respire/{self.name}/status", "offline", qos=1, retain=True)
        self.client.on_message = self._answer
        self.client.connect("127.0.0.1", self.port)
        self.client.loop_start()
        self.client.subscribe(f"respire/{self.name}/request", qos=1)
        self._send(f"respire/{self.name}/status", "online", retain=True)

    def publish(self, message: Json) -> None:
        """Publish one estimate, and the newest as retained, as the contract says."""
        topic = f"respire/{self.name}/calibrated/{message['sensor']}/co"
        self._send(topic, json.dumps(message))
        self._send(f"{topic}/latest", json.dumps(message), retain=True)

    def publish_consensus(self, message: Json) -> None:
        topic = f"respire/{self.name}/consensus/co"
        self._send(topic, json.dumps(message))
        self._send(f"{topic}/latest", json.dumps(message), retain=True)

    def publish_score(self, message: Json) -> None:
        topic = f"respire/{self.name}/calibrated/{message['sensor']}/co/score"
        self._send(topic, json.dumps(message), retain=True)

    def publish_card(self, sensor: str, **changes: Any) -> None:
        self._send(
            f"respire/{self.name}/calibrated/{sensor}/model", json.dumps(card(sensor, **changes)), retain=True
        )

    def publish_health(self, message: Json) -> None:
        self._send(f"respire/{self.name}/health", json.dumps(message), retain=True)

    def send_raw(self, topic: str, payload: bytes) -> None:
        self._send(topic, payload)

    def clear(self, topic: str) -> None:
        """Remove the retained messages."""
        self._send(topic, "", retain=True)

    def die(self) -> None:
        """Close the socket without a disconnect, so that the broker publishes the last will."""
        self.client.loop_stop()
        if (socket := self.client.socket()) is not None:
            socket.close()

    def leave(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def _send(self, topic: str, payload: str | bytes, retain: bool = False) -> None:
        sent = self.client.publish(topic, payload, qos=1, retain=retain)
        sent.wait_for_publish(AT_MOST_S)
        assert sent.is_published(), f"the broker did not take {topic}"

    def _answer(self, client: Client, _: object, message: MQTTMessage) -> None:
        request = json.loads(message.payload)
        topic = f"respire/{self.name}/response/{request['id']}"
        if self.busy > 0:
            self.busy -= 1
            refusal = {"id": request["id"], "error": "too many requests wait; ask again later"}
            client.publish(topic, json.dumps(refusal), qos=1)
            return
        found, more = self._found(request)
        kind = request.get("what", "estimate")
        none: Json = {"id": request["id"], "index": 0, "of": 0, "more": False, kind: None}
        answers = [
            {"id": request["id"], "index": i, "of": len(found), "more": more, kind: e}
            for i, e in enumerate(found)
        ]
        for answer in answers or [none]:
            client.publish(topic, json.dumps(answer), qos=1)

    def _found(self, request: Json) -> tuple[list[Json], bool]:
        """The estimates that a request is for, and whether there are more after them."""
        past = self.past.get(request.get("sensor", CONSENSUS), [])
        if "last" in request:
            return past[-request["last"] :], False
        within = [e for e in past if seconds(request["from"]) <= seconds(e["start"]) < seconds(request["to"])]
        rest = [e for e in within if e["seq"] > request.get("after_seq", 0)]
        return rest[:1000], len(rest) > 1000
