"""Readings of a reference instrument that stands beside the van."""

from edge_agent.core.errors import BadReading
from edge_agent.core.messages import UNSTAMPED, Reading, is_sensor, parse_at, parse_number, parse_payload

FACT = "reference"  # in the journal: the unit of its values, and the conditions of a cubic metre
REFERENCE = "reference"  # the sensor under which the journal has its readings; the channel is the gas
GAS = "{gas}"


def gas_of(template: str, topic: str) -> str:
    """What a topic has in place of {gas}; empty if the topic is not of the template.

    >>> gas_of("lab/{gas}", "lab/co"), gas_of("lab/{gas}", "lab/5A2D/op1")
    ('co', '')
    """
    before, _, after = template.partition(GAS)
    gas = topic.removeprefix(before).removesuffix(after)
    return gas if topic == before + gas + after and "/" not in gas else ""


def decode_reference(template: str, topic: str, payload: bytes, max_bytes: int = 8_192) -> Reading:
    """A reading of the reference, UNSTAMPED if it has no time; BadReading for anything else.

    >>> decode_reference("reference/{gas}", "reference/co", b'{"value": 0.83, "at": 1706782530}')
    Reading(sensor='reference', channel='co', at_ms=1706782530000, value=0.83)
    """
    gas = gas_of(template, topic)
    if not is_sensor(gas):
        raise BadReading(f"{topic!r:.80}: expected the topic {template}", "topic")
    if len(payload) > max_bytes:
        raise BadReading(f"{topic}: expected at most {max_bytes} bytes, got {len(payload)}", "size")
    record, at_ms = parse_payload(topic, payload), UNSTAMPED
    if isinstance(record, dict):
        at_ms = parse_at(topic, record.get("at"), UNSTAMPED)
        record = record.get("value")
    return Reading(REFERENCE, gas.lower(), at_ms, parse_number(topic, record, payload))
