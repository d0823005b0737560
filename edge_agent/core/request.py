"""Requests for history: any bytes become a request, an error that can be answered, or nothing."""

import json
from dataclasses import dataclass
from typing import Any

from edge_agent.core.errors import BadRequest
from edge_agent.core.messages import LAST_MS, is_sensor, parse_time
from edge_agent.core.topics import CONSENSUS

MAX_BYTES = 1_024
MOST = 1_000  # answers to one request
LAST = 96  # without any limits: a day of windows
WHAT = ("estimates", "readings", "consensus")


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants to know of one sensor; `last` counts from the end, the rest from the start.

    The consensus is no sensor's: its name in the journal takes that place.
    """

    id: str
    sensor: str
    what: str = "estimates"
    from_ms: int = 0
    to_ms: int = LAST_MS - 1
    after_seq: int = 0
    last: int | None = None


def decode_request(payload: bytes) -> Request | None:
    """The request; None without an id to answer to, BadRequest if it cannot be answered.

    >>> decode_request(b'{"id": "q7", "sensor": "5A2D", "from": "2024-02-01T10:15Z", "after_seq": 1042}')
    Request(id='q7', sensor='5A2D', what='estimates', from_ms=1706782500000, to_ms=4102444799999, \
after_seq=1042, last=None)
    """
    try:
        asked = json.loads(payload[:MAX_BYTES])
        id_ = asked["id"]
        if not (isinstance(id_, str) and is_sensor(id_)):
            return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return _request(id_, asked)


def _request(id_: str, asked: dict[str, Any]) -> Request:
    what = asked.get("what", WHAT[0])
    last, after_seq = asked.get("last"), asked.get("after_seq")
    if what not in WHAT:
        raise BadRequest(id_, f"expected what to be {', '.join(WHAT[:-1])} or {WHAT[-1]}")
    sensor = _sensor(id_, what, asked)
    if after_seq is not None and (last is not None or what == "readings"):
        raise BadRequest(id_, "expected after_seq without last, and not for readings")
    if last is None and not {"from", "to", "after_seq"} & {*asked}:
        last = LAST
    if last is not None and not (type(last) is int and 1 <= last <= MOST):
        raise BadRequest(id_, f"expected last from 1 to {MOST}")
    if after_seq is not None and not (type(after_seq) is int and 0 <= after_seq < 1 << 62):
        raise BadRequest(id_, "expected after_seq from 0 on")
    try:
        between = parse_time(asked.get("from", 0)), parse_time(asked.get("to", LAST_MS - 1))
    except (ValueError, TypeError, OverflowError):
        raise BadRequest(id_, "expected from and to as ISO 8601 or epoch") from None
    return Request(id_, sensor, what, *between, after_seq or 0, last)


def _sensor(id_: str, what: str, asked: dict[str, Any]) -> str:
    sensor = asked.get("sensor")
    if what == "consensus":
        if sensor is not None:
            raise BadRequest(id_, "expected no sensor, because the consensus is of all")
        return CONSENSUS
    if not (isinstance(sensor, str) and is_sensor(sensor)):
        raise BadRequest(id_, "expected a sensor")
    return sensor
