"""What the sensors, the receiver and the reference of the session in `contract` send."""

import json
from typing import Any

import msgpack  # type: ignore[import-untyped]
from paho.mqtt.client import Client

from edge_agent.core.messages import format_time

ROOT = "respire/van-1"
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
NORMAL = {"op1": 231.0, "op2": 206.0, "temperature": 24.0}
# Windows of 5A2D that are not as the others.
SPREAD, MOVING, SUSPECT, FAILED, STUCK, POOR = 1, 2, 4, 5, 6, 7
# Windows of the whole van: with a sensor of each kind, with doubtful ones, with one value, and the last.
KINDS, DOUBTS, ALONE, LATE = 20, 21, 22, 23
HALF = 5  # minutes that an incomplete window has in time
# Minute, latitude, longitude, speed.
FIXES = (
    *((0, 52.5, 13.4, 0.4), (5, 52.5002, 13.4, 0.0), (10, 52.5001, 13.4, None)),
    *((15, 52.5, 13.4, 0.4), (20, 52.503, 13.4, 0.4), (30, 52.6, 13.5, 50.0), (40, 52.6, 13.5, 50.0)),
    *((182, 52.5, 13.4, 0.4), (200, 52.5, 13.4, None)),
)
REFERENCE = {minute: 0.8 + minute % 5 / 10 for minute in range(391, 542)}
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


class Van:
    """Sends what sensors send."""

    def __init__(self, publisher: Client, base_ms: int) -> None:
        self._publisher, self.base_ms = publisher, base_ms

    def send(self, topic: str, payload: bytes | str, retain: bool = False) -> None:
        self._publisher.publish(topic, payload, qos=1, retain=retain)

    def minute(self, sensor: str, minute: int, **values: float) -> None:
        at_ms = self.base_ms + minute * MINUTE_MS + 5_000
        wobble = {name: level + minute % 7 / 10 for name, level in NORMAL.items()}
        self.send(f"sensors/{sensor}", json.dumps({"at": at_ms, **wobble, **values}))

    def window(self, sensor: str, number: int, first: int = 0, last: int = 15, **values: float) -> None:
        """Some minutes of a window; the one after it closes it."""
        for minute in range(first, last):
            self.minute(sensor, number * 15 + minute, **values)

    def far(self, sensor: str, number: int) -> None:
        """A window of a sensor that differs from the others."""
        for minute in range(number * 15, number * 15 + 15):
            self.minute(sensor, minute, op1=NORMAL["op1"] + 44.0 + minute % 7)

    def fix(self, minute: int, lat: float, lon: float, speed_kmh: float | None) -> None:
        at_ms = self.base_ms + minute * MINUTE_MS
        self.send("van/position", json.dumps({"lat": lat, "lon": lon, "at": at_ms, "speed_kmh": speed_kmh}))

    def reference(self, at_ms: int, value: float | str) -> None:
        self.send("reference/co", json.dumps({"value": value, "at": at_ms}))

    def ask(self, **request: Any) -> None:
        self.send(f"{ROOT}/request", json.dumps(request))


def retain(van: Van) -> None:
    """Messages without a time that the broker has retained: nobody knows when they were sent."""
    for topic, payload in (
        ("sensors/5A2D/op1", "231.0"),
        ("reference/co", "0.8"),
        ("van/position", '{"lat": 1.0, "lon": 1.0}'),
    ):
        van.send(topic, payload, retain=True)


def measure(van: Van) -> None:
    """Nine hours of one sensor, and a few windows of others."""
    for fix in FIXES:
        van.fix(*fix)
    odd = {SUSPECT: {"op1": 310.0}, FAILED: {"op1": 900.0}, STUCK: {"op1": 231.0}}
    for minute in range(9 * 60 + 2):
        if minute // 15 != POOR or minute % 15 < HALF:
            van.minute("5A2D", minute, **odd.get(minute // 15, {}))
    for minute, value in REFERENCE.items():
        van.reference(van.base_ms + minute * MINUTE_MS, value)
    for minute in range(32):
        van.minute("5CB6", minute)
        van.minute("0000", minute)
    for place, (channel, payload, _) in enumerate(FORMS):
        at_ms = van.base_ms + place * MINUTE_MS
        van.send(f"sensors/FORM/{channel}".rstrip("/"), payload(at_ms))
    _measure_together(van)


def _measure_together(van: Van) -> None:
    """Four sensors beside 5A2D: one goes away with another's interval, unit, fault or gap at a time."""
    van.window("1FEA", KINDS)
    van.far("5092", KINDS)
    van.window("1FEA", DOUBTS, op1=900.0)
    van.window("5092", DOUBTS, op1=231.0)
    for sensor in ("B5FF", "D3EB"):
        van.window(sensor, KINDS)
        van.window(sensor, DOUBTS)
        van.minute(sensor, ALONE * 15)
    van.window("1FEA", ALONE, last=HALF)
    van.window("1FEA", LATE, last=16)
    van.minute("5092", LATE * 15)


def err(van: Van, now_ms: int) -> None:
    """What is not accepted, and some that comes late."""
    full_ms = now_ms - now_ms % (15 * MINUTE_MS)
    van.minute("5A2D", 9 * 60 + 1)
    van.send("sensors/5A2D/op1", json.dumps({"value": 1.0, "at": now_ms + HOUR_MS}))
    van.send("sensors/5A2D/op1", json.dumps({"value": 1.0, "at": now_ms - 48 * HOUR_MS}))
    for topic, payload in (
        ("5A2D/op1", "high"),
        ("5A2D/op3", "1"),
        ("reference/op1", "1"),
        ("9999/op1", "1"),
    ):
        van.send(f"sensors/{topic}", payload)
    for place in range(50):
        van.send("sensors/0000/op1", json.dumps({"value": 1.0, "at": full_ms + place}))
        van.reference(full_ms + place, 0.8)
    van.window("5A2D", POOR, first=HALF)
    van.window("1FEA", ALONE, first=HALF)
    van.window("5092", LATE, first=1, last=16)
    first_ms = van.base_ms + min(REFERENCE) * MINUTE_MS
    for at_ms, value in ((full_ms, 9.0), (now_ms + HOUR_MS, 9.0), (now_ms, "high"), (first_ms + 1, 9.0)):
        van.reference(at_ms, value)
    for fix in ((0, 1.0, 1.0, 1.0), (24 * 60, 52.5, 13.4, 0.4), (1, 91.0, 0.0, 0.0), (1, 0.0, 0.0, 0.0)):
        van.fix(*fix)


def ask(van: Van) -> None:
    """Every kind of request that can be answered."""
    hour = {"from": format_time(van.base_ms), "to": format_time(van.base_ms + HOUR_MS)}
    van.ask(id="last", sensor="5A2D", last=3)
    van.ask(id="times", sensor="5A2D", **hour)
    van.ask(id="after", sensor="5A2D", after_seq=30)
    van.ask(id="default", sensor="5A2D")
    van.ask(id="agreed", what="consensus", last=2)
    van.ask(id="readings", sensor="FORM", what="readings", **hour)


def ask_in_vain(van: Van) -> None:
    """Requests that cannot be served, and more than wait at a time."""
    van.ask(id="none", sensor="0001")
    van.ask(id="wrong", sensor="5A2D", last=0)
    van.ask(id="a/b", sensor="5A2D")
    for number in range(40):
        van.ask(id=f"many{number}", sensor="5A2D", last=20)
