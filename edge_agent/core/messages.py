"""The wire contract, both ways: readings in, estimates out (and back in, for consumers)."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgpack  # type: ignore[import-untyped]

from edge_agent.core.errors import BadEstimate, BadReading
from edge_agent.core.places import Position, decode_position
from edge_agent.core.units import Conditions, decode_conditions

CHANNELS = ("op1", "op2", "temperature")
TEMPLATES = ("sensors/{sensor}/{channel}", "sensors/{sensor}")
TIMESTAMP, SENSOR = "timestamp", "sensor"  # columns of a recording, beside its channels

LIMIT = 1e15  # larger than any real value, and sums of such values stay finite
LAST_MS = 4_102_444_800_000  # the year 2100
UNSTAMPED = -1  # the at_ms of readings without a timestamp, for callers that stamp them later
EPOCH_SECONDS_BELOW = 1e11  # as seconds the year 5138, as milliseconds 1973: no timestamp is both
MAX_TOPICS_REMEMBERED = 4_096
PRELIMINARY, FINAL = "preliminary", "final"  # the status of an estimate
LATE_READINGS = "late_readings"  # the cause of a revision

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
# json.loads takes three times as long.
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_MSGPACK_MAPS = frozenset((*range(0x80, 0x90), 0xDE, 0xDF))


class Reading(NamedTuple):
    """One value of one channel of one sensor; a tuple, because thousands arrive per second."""

    sensor: str
    channel: str
    at_ms: int
    value: float


class Field(NamedTuple):
    """Where a channel or the time is in a message of another shape: keys from outside in."""

    keys: tuple[str, ...]
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The calibrated gas over one window, with everything needed to judge it."""

    sensor: str
    start_ms: int
    end_ms: int
    quality: int
    reasons: tuple[str, ...]
    inputs: Mapping[str, float]
    minutes: Mapping[str, int]
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    gas: str | None = None
    unit: str | None = None
    weights: Mapping[str, float] | None = None
    model: str | None = None
    agent: str = ""
    clock: str = "synchronised"
    seq: int = 0
    revision: int = 0
    position: Position | None = None
    site: str | None = None
    unit_at: Conditions | None = None
    supersedes: int | None = None
    cause: str | None = None
    status: str = PRELIMINARY
    channels: Mapping[str, tuple[float, ...]] = field(default_factory=dict, compare=False)  # not published


class Decoder:
    """Turns any topic and any bytes into readings, or raises BadReading and no other error.

    >>> decoder = Decoder()
    >>> decoder.decode("sensors/5A2D/op1", b"231.4", arrived_ms=1706782530000)
    [Reading(sensor='5A2D', channel='op1', at_ms=1706782530000, value=231.4)]
    >>> decoder.decode("sensors/5A2D", b'{"at": "2024-02-01T10:15:30Z", "op2": 206, "humidity": 40}', 0)
    [Reading(sensor='5A2D', channel='op2', at_ms=1706782530000, value=206.0)]
    """

    def __init__(
        self,
        templates: Iterable[str] = TEMPLATES,
        channels: Iterable[str] = CHANNELS,
        max_bytes: int = 8_192,
        fields: Mapping[str, Field] | None = None,
        sensors: Mapping[str, str] | None = None,
    ) -> None:
        """`fields` says where `at` and channels are, if not under their names; `sensors` renames boards."""
        self.channels = tuple(channels)
        self._fields, self._sensors = fields or {}, sensors or {}
        self.max_bytes = max_bytes
        self._patterns = [_pattern(template) for template in templates]
        self._sources: dict[str, tuple[str, str | None]] = {}

    def takes(self, topic: str) -> bool:
        """Whether a topic matches a template of readings."""
        try:
            return bool(self._source(topic))
        except BadReading:
            return False

    def decode(self, topic: str, payload: bytes, arrived_ms: int = UNSTAMPED) -> list[Reading]:
        """The readings of one message; without a timestamp they get `arrived_ms`."""
        sensor, channel = self._sources.get(topic) or self._source(topic)
        if len(payload) > self.max_bytes:
            raise BadReading(f"{topic}: expected at most {self.max_bytes} bytes, got {len(payload)}", "size")
        record = parse_payload(topic, payload)
        if channel is None:
            return self._combined(topic, sensor, record, arrived_ms)
        at_ms = arrived_ms
        if isinstance(record, dict):
            at_ms = parse_at(topic, record.get("at"), arrived_ms)
            record = record.get("value")
        return [Reading(sensor, channel, at_ms, parse_number(topic, record, payload))]

    def _combined(self, topic: str, sensor: str, record: Any, arrived_ms: int) -> list[Reading]:
        if not isinstance(record, dict):
            raise BadReading(f"{topic}: expected a map of channels, got {_shown(record)}", "map")
        if self._fields:
            record = self._mapped(topic, record)
        at_ms = parse_at(topic, record.get("at"), arrived_ms)
        readings = [
            Reading(sensor, name, at_ms, parse_number(topic, record[name], record[name]))
            for name in self.channels
            if record.get(name) is not None
        ]
        if not readings:
            expected, found = ", ".join(self.channels), ", ".join(map(str, record))
            raise BadReading(f"{topic}: expected at least one of {expected}, got {_shown(found)}", "channels")
        return readings

    def _mapped(self, topic: str, record: dict[Any, Any]) -> dict[str, Any]:
        """A message of another shape as one of ours; what it does not have is left out."""
        found = {name: record.get(name) for name in ("at", *self.channels) if name not in self._fields}
        for name, (keys, scale, offset) in self._fields.items():
            value: Any = record
            for key in keys:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None and name != "at":
                value = parse_number(topic, value, value) * scale + offset
            found[name] = value
        return {name: value for name, value in found.items() if value is not None}

    def _source(self, topic: str) -> tuple[str, str | None]:
        """The sensor and channel of a topic; cached, because the same few topics repeat."""
        for pattern in self._patterns:
            if match := pattern.fullmatch(topic):
                break
        else:
            raise BadReading(f"{_shown(topic)}: expected a topic of the input templates", "topic")
        sensor, channel = match["sensor"], match.groupdict().get("channel")
        sensor = self._sensors.get(sensor, sensor)
        if not is_sensor(sensor):
            raise BadReading(
                f"{_shown(topic)}: expected a sensor name of 1-64 printable characters", "sensor"
            )
        if channel is not None and channel not in self.channels:
            raise BadReading(f"{_shown(topic)}: expected a channel of {', '.join(self.channels)}", "channel")
        if len(self._sources) >= MAX_TOPICS_REMEMBERED:
            self._sources.clear()
        self._sources[topic] = sensor, channel
        return sensor, channel


def is_sensor(name: str) -> bool:
    """Whether a name can stand in a topic, a log line and a file."""
    return 0 < len(name) <= 64 and name.isprintable() and not set(name) & set("/+#")


def topic_filter(template: str) -> str:
    """The MQTT filter that covers a template.

    >>> topic_filter("sensors/{sensor}/{channel}")
    'sensors/+/+'
    """
    return "/".join("+" if "{" in level else level for level in template.split("/"))


def _pattern(template: str) -> re.Pattern[str]:
    names = re.findall(r"\{(\w*)\}", template)
    if names.count("sensor") != 1 or not {*names} <= {"sensor", "channel"} or names.count("channel") > 1:
        raise ValueError(f"{template!r}: expected {{sensor}} once and {{channel}} at most once")
    if set(template) & set("+#") or not template.isprintable():
        raise ValueError(f"{template!r}: expected no wildcard; write {{sensor}} or {{channel}} instead")
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(template))
    return re.compile(pattern)


def parse_payload(topic: str, payload: bytes) -> Any:
    """A number or a map, from text or msgpack."""
    try:
        if payload[:1] == b"{":
            return _parse_json(payload.decode())
        if payload and payload[0] in _MSGPACK_MAPS:
            return msgpack.unpackb(payload, max_map_len=64, max_array_len=64)
        # float() accepts 1_000.
        if b"_" in payload:
            raise ValueError("not a number")
        return float(payload)
    except (ValueError, TypeError, OverflowError, RecursionError, StopIteration, msgpack.UnpackException):
        expected = "a number or a map of JSON or msgpack"
        raise BadReading(f"{topic}: expected {expected}, got {_shown(payload)}", "payload") from None


def _parse_json(text: str) -> Any:
    record, end = _scan(text, 0)
    if end != len(text) and text[end:].strip():
        raise ValueError("more than one value")
    return record


def parse_number(topic: str, value: Any, given: Any) -> float:
    """A finite number, or BadReading."""
    if type(value) not in (float, int) or not -LIMIT < value < LIMIT:
        raise BadReading(f"{topic}: expected a finite number, got {_shown(given)}", "number")
    return float(value)


def parse_at(topic: str, at: Any, arrived_ms: int) -> int:
    """The time of a message, `arrived_ms` if it has none, or BadReading."""
    if at is None:
        return arrived_ms
    try:
        at_ms = parse_time(at)
    except (ValueError, TypeError, OverflowError):
        raise BadReading(f"{topic}: expected at as ISO 8601 or epoch, got {_shown(at)}", "time") from None
    return at_ms


def parse_time(at: Any) -> int:
    """Milliseconds UTC from ISO 8601 (UTC unless it has an offset), epoch seconds or milliseconds.

    >>> parse_time("2024-02-01T15:45:30+05:30"), parse_time(1706782530), parse_time(1706782530000)
    (1706782530000, 1706782530000, 1706782530000)
    """
    if type(at) is str:
        moment = datetime.fromisoformat(at)
        at_ms = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MS
    elif type(at) in (int, float):
        at_ms = round(at * 1000 if abs(at) < EPOCH_SECONDS_BELOW else at)
    elif isinstance(at, msgpack.Timestamp):
        at_ms = at.to_unix_nano() // 1_000_000
    else:
        raise TypeError(f"{type(at).__name__} is not a time")
    if not 0 <= at_ms < LAST_MS:
        raise ValueError("not between 1970 and 2100")
    return at_ms


def format_time(at_ms: int) -> str:
    """ISO 8601 in UTC, with milliseconds only if they are not zero.

    >>> format_time(1706782500000)
    '2024-02-01T10:15:00Z'
    """
    precision = "milliseconds" if at_ms % 1000 else "seconds"
    return (_EPOCH + at_ms * _MS).isoformat(timespec=precision).replace("+00:00", "Z")


def _shown(value: Any) -> str:
    """A value for an error text, shortened."""
    if isinstance(value, list | dict):
        return f"a {type(value).__name__}"
    text = repr(value[:41] if isinstance(value, str | bytes) else value)
    return text if len(text) <= 48 else text[:47] + "…"


def encode_estimate(estimate: Estimate, seq: int | None = None) -> bytes:
    """An estimate as JSON; numbers have nine decimals. `seq` is its number, if it has none yet."""
    record = estimate_record(estimate)
    if seq is not None:
        record["seq"] = seq
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode()


def estimate_record(estimate: Estimate) -> dict[str, Any]:
    """An estimate as the map of the wire contract."""
    return {
        "v": 1,
        "sensor": estimate.sensor,
        "gas": estimate.gas,
        "value": _rounded(estimate.value),
        "unit": estimate.unit,
        "unit_at": estimate.unit_at and estimate.unit_at._asdict(),
        "low": _rounded(estimate.low),
        "high": _rounded(estimate.high),
        "level": estimate.level,
        "start": format_time(estimate.start_ms),
        "end": format_time(estimate.end_ms),
        "seq": estimate.seq,
        "revision": estimate.revision,
        "supersedes": estimate.supersedes,
        "cause": estimate.cause,
        "status": estimate.status,
        "quality": estimate.quality,
        "reasons": list(estimate.reasons),
        "inputs": {name: _rounded(value) for name, value in estimate.inputs.items()},
        "minutes": dict(estimate.minutes),
        "weights": estimate.weights and {name: _rounded(value) for name, value in estimate.weights.items()},
        "position": estimate.position and estimate.position._asdict(),
        "site": estimate.site,
        "model": estimate.model,
        "agent": estimate.agent,
        "clock": estimate.clock,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 9)


def decode_estimate(payload: bytes) -> Estimate:
    """The estimate of a payload; unknown keys are ignored, so that newer agents can add some."""
    try:
        record = json.loads(payload)
        if record["v"] != 1:
            raise BadEstimate(f"estimate: expected version 1, got {_shown(record['v'])}")
        return _estimate(record)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise BadEstimate(f"estimate: expected a map of the wire contract, got {_shown(payload)}") from error


def _estimate(record: Mapping[str, Any]) -> Estimate:
    weights = record["weights"]
    return Estimate(
        sensor=str(record["sensor"]),
        start_ms=parse_time(record["start"]),
        end_ms=parse_time(record["end"]),
        quality=int(record["quality"]),
        reasons=tuple(str(reason) for reason in record["reasons"]),
        inputs={str(name): float(value) for name, value in record["inputs"].items()},
        minutes={str(name): int(value) for name, value in record["minutes"].items()},
        value=_float_or_none(record["value"]),
        low=_float_or_none(record["low"]),
        high=_float_or_none(record["high"]),
        level=_float_or_none(record["level"]),
        gas=record["gas"],
        unit=record["unit"],
        weights=None if weights is None else {str(name): float(value) for name, value in weights.items()},
        model=record["model"],
        agent=str(record["agent"]),
        clock=str(record["clock"]),
        seq=int(record["seq"]),
        revision=int(record["revision"]),
        position=decode_position(record.get("position")),
        site=record.get("site"),
        unit_at=decode_conditions(record.get("unit_at")),
        supersedes=record.get("supersedes"),
        cause=record.get("cause"),
        status=str(record.get("status", PRELIMINARY)),
    )


def _float_or_none(value: Any) -> float | None:
    return None if value is None else float(value)
