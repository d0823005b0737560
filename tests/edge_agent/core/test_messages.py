"""The wire contract: every input form, every refusal, and estimates there and back."""

import json
import math
from dataclasses import replace

import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.errors import BadEstimate, BadReading
from edge_agent.core.messages import (
    MAX_TOPICS_REMEMBERED,
    Decoder,
    Estimate,
    Reading,
    decode_estimate,
    encode_estimate,
    topic_filter,
)

AT_MS = 1_706_782_530_000  # 2024-02-01T10:15:30Z
ARRIVED_MS = 1_706_782_599_999
OP1 = "sensors/5A2D/op1"
ALL = "sensors/5A2D"


def one(value: float = 231.4, at_ms: int = AT_MS, channel: str = "op1") -> Reading:
    return Reading("5A2D", channel, at_ms, value)


@pytest.mark.parametrize(
    ("topic", "payload", "expected"),
    [
        (OP1, b"231.4", [one(at_ms=ARRIVED_MS)]),
        (OP1, b" 231.4\n", [one(at_ms=ARRIVED_MS)]),
        (OP1, b"-3e2", [one(-300.0, ARRIVED_MS)]),
        (OP1, b'{"value": 231.4}', [one(at_ms=ARRIVED_MS)]),
        (OP1, b'{"value": 231.4, "at": null}', [one(at_ms=ARRIVED_MS)]),
        (OP1, b'{"value": 231.4, "at": "2024-02-01T10:15:30Z"}', [one()]),
        (OP1, b'{"value": 231.4, "at": "2024-02-01T10:15:30"}', [one()]),
        (OP1, b'{"value": 231.4, "at": "2024-02-01T15:45:30+05:30"}', [one()]),
        (OP1, b'{"value": 231.4, "at": "2024-02-01T10:15:30.250Z"}', [one(at_ms=AT_MS + 250)]),
        (OP1, b'{"value": 231.4, "at": 1706782530}', [one()]),
        (OP1, b'{"value": 231.4, "at": 1706782530.25}', [one(at_ms=AT_MS + 250)]),
        (OP1, b'{"value": 231.4, "at": 1706782530000}', [one()]),
        (OP1, b'{"value": 231.4} \n', [one(at_ms=ARRIVED_MS)]),
        (OP1, b'{"value": 231, "unit": "mV", "nested": {"a": [1]}}', [one(231.0, ARRIVED_MS)]),
        (OP1, msgpack.packb({"value": 231.4, "at": 1706782530}), [one()]),
        (OP1, msgpack.packb({"value": 231.4, "at": msgpack.Timestamp(1706782530)}), [one()]),
        (
            ALL,
            b'{"at": 1706782530, "op1": 231.4, "op2": 206.1, "temperature": 24.3}',
            [one(), one(206.1, channel="op2"), one(24.3, channel="temperature")],
        ),
        (ALL, b'{"at": 1706782530, "op2": null, "op1": 231.4, "humidity": "wet"}', [one()]),
        (ALL, msgpack.packb({"at": 1706782530000, "op1": 231.4}), [one()]),
    ],
)
def test_every_form_of_the_contract_is_read(topic: str, payload: bytes, expected: list[Reading]) -> None:
    assert Decoder().decode(topic, payload, ARRIVED_MS) == expected


@pytest.mark.parametrize(
    ("topic", "payload", "text"),
    [
        (OP1, b"nan", "sensors/5A2D/op1: expected a finite number, got b'nan'"),
        (OP1, b"-inf", "sensors/5A2D/op1: expected a finite number, got b'-inf'"),
        (OP1, b"1e999", "sensors/5A2D/op1: expected a finite number, got b'1e999'"),
        (OP1, b"", "sensors/5A2D/op1: expected a number or a map of JSON or msgpack, got b''"),
        (
            OP1,
            b'{"value": 1} {}',
            "sensors/5A2D/op1: expected a number or a map of JSON or msgpack, got b'{\"value\": 1} {}'",
        ),
        (OP1, b"null", "sensors/5A2D/op1: expected a number or a map of JSON or msgpack, got b'null'"),
        (OP1, b"1_000", "sensors/5A2D/op1: expected a number or a map of JSON or msgpack, got b'1_000'"),
        (OP1, b'{"value": true}', "sensors/5A2D/op1: expected a finite number, got b'{\"value\": true}'"),
        (OP1, b'{"value": "1"}', 'sensors/5A2D/op1: expected a finite number, got b\'{"value": "1"}\''),
        (
            OP1,
            b'{"at": 1706782530}',
            "sensors/5A2D/op1: expected a finite number, got b'{\"at\": 1706782530}'",
        ),
        (
            OP1,
            b'{"value": 1, "at": "noon"}',
            "sensors/5A2D/op1: expected at as ISO 8601 or epoch, got 'noon'",
        ),
        (OP1, b'{"value": 1, "at": -5}', "sensors/5A2D/op1: expected at as ISO 8601 or epoch, got -5"),
        (OP1, b'{"value": 1, "at": true}', "sensors/5A2D/op1: expected at as ISO 8601 or epoch, got True"),
        (OP1, b'{"value": 1, "at": [1]}', "sensors/5A2D/op1: expected at as ISO 8601 or epoch, got a list"),
        (OP1, b'{"value": 1, "at": NaN}', "sensors/5A2D/op1: expected at as ISO 8601 or epoch, got nan"),
        (OP1, b"1" * 9_000, "sensors/5A2D/op1: expected at most 8192 bytes, got 9000"),
        (ALL, b"231.4", "sensors/5A2D: expected a map of channels, got 231.4"),
        (ALL, b"{}", "sensors/5A2D: expected at least one of op1, op2, temperature, got ''"),
        (ALL, b'{"OP1": 1}', "sensors/5A2D: expected at least one of op1, op2, temperature, got 'OP1'"),
        (ALL, b'{"op1": [1]}', "sensors/5A2D: expected a finite number, got a list"),
        ("sensors/5A2D/ph", b"7", "'sensors/5A2D/ph': expected a channel of op1, op2, temperature"),
        ("other/5A2D/op1", b"1", "'other/5A2D/op1': expected a topic of the input templates"),
        (
            "sensors/a\x07b/op1",
            b"1",
            "'sensors/a\\x07b/op1': expected a sensor name of 1-64 printable characters",
        ),
    ],
)
def test_a_bad_message_is_refused_with_the_reason(topic: str, payload: bytes, text: str) -> None:
    with pytest.raises(BadReading) as caught:
        Decoder().decode(topic, payload, ARRIVED_MS)
    assert str(caught.value) == text


BOMBS = [
    b"[" * 100_000,
    b'{"value":' * 900 + b"1" + b"}" * 900,
    b'{"op1":' + b"[" * 990 + b"]" * 990 + b"}",
    b"9" * 400,
    b'{"value": ' + b"9" * 5_000 + b"}",
    b"\xff\xfe\x00",
    b"\xdf\xff\xff\xff\xff",
    b"\x81" * 5_000,
    b"\x81\xa5value\xc7\x0c\xff" + b"\xff" * 12,
    b"\x00" * 1_000_000,
]


@pytest.mark.parametrize("payload", BOMBS, ids=range(len(BOMBS)))
@pytest.mark.parametrize("topic", [OP1, ALL])
def test_a_bomb_is_only_a_bad_reading(topic: str, payload: bytes) -> None:
    with pytest.raises(BadReading):
        Decoder(max_bytes=2_000_000).decode(topic, payload, ARRIVED_MS)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
near_misses = st.dictionaries(st.sampled_from(["value", "at", "op1", "op2"]), json_values, max_size=4)
payloads = st.one_of(
    st.binary(max_size=64),
    near_misses.map(lambda record: json.dumps(record).encode()),
    near_misses.map(lambda record: msgpack.packb(_packable(record))),
)


def _packable(value: object) -> object:
    if isinstance(value, dict):
        return {key: _packable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_packable(inner) for inner in value]
    return value if not isinstance(value, int) or abs(value) < 2**63 else 0


@given(topic=st.sampled_from([OP1, ALL]) | st.text(max_size=30), payload=payloads)
def test_no_payload_raises_anything_but_bad_reading(topic: str, payload: bytes) -> None:
    """Decoders are total: any bytes give finite readings or the one error."""
    try:
        readings = Decoder().decode(topic, payload, ARRIVED_MS)
    except BadReading:
        return
    assert readings
    assert all(math.isfinite(reading.value) for reading in readings)


def test_templates_may_name_sensors_and_channels_anywhere() -> None:
    decoder = Decoder(templates=["van/1/{channel}/of-{sensor}"], channels=["we", "t"])
    assert decoder.decode("van/1/we/of-A", b"1", 5) == [Reading("A", "we", 5, 1.0)]
    assert topic_filter("van/1/{channel}/of-{sensor}") == "van/1/+/+"


@pytest.mark.parametrize(
    "template", ["sensors/+/op1", "sensors/{channel}", "{sensor}/{sensor}", "a/{b}/{sensor}"]
)
def test_a_template_that_cannot_work_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        Decoder(templates=[template])


def test_topics_remembered_are_bounded() -> None:
    decoder = Decoder()
    for number in range(MAX_TOPICS_REMEMBERED + 10):
        decoder.decode(f"sensors/{number}/op1", b"1", 0)
    assert len(decoder._sources) <= MAX_TOPICS_REMEMBERED


ESTIMATE = Estimate(
    sensor="5A2D",
    start_ms=1_706_782_500_000,
    end_ms=1_706_783_400_000,
    quality=1,
    reasons=(),
    inputs={"op1": 231.4, "op2": 206.1, "temperature": 24.3},
    minutes={"op1": 15, "op2": 15, "temperature": 14, "expected": 15},
    value=0.834,
    low=0.71,
    high=0.95,
    level=0.9,
    gas="CO",
    unit="ppm",
    weights={"op1": 0.0121, "op2": -0.0103, "bias": 0.04},
    model="sha256:9f3c",
    agent="van-1",
    seq=1042,
)


def test_an_estimate_describes_itself_as_the_contract_says() -> None:
    assert json.loads(encode_estimate(ESTIMATE)) == {
        "v": 1, "sensor": "5A2D", "gas": "CO", "value": 0.834, "unit": "ppm", "unit_at": None,
        "low": 0.71, "high": 0.95, "level": 0.9, "start": "2024-02-01T10:15:00Z",
        "end": "2024-02-01T10:30:00Z", "seq": 1042, "revision": 0, "supersedes": None, "cause": None,
        "status": "preliminary", "quality": 1, "reasons": [],
        "inputs": {"op1": 231.4, "op2": 206.1, "temperature": 24.3},
        "minutes": {"op1": 15, "op2": 15, "temperature": 14, "expected": 15},
        "weights": {"op1": 0.0121, "op2": -0.0103, "bias": 0.04}, "position": None, "site": None,
        "model": "sha256:9f3c", "agent": "van-1", "clock": "synchronised",
    }  # fmt: skip


@pytest.mark.parametrize(
    "estimate",
    [ESTIMATE, replace(ESTIMATE, value=None, low=None, high=None, weights=None, model=None, gas=None)],
)
def test_an_estimate_comes_back_as_it_was(estimate: Estimate) -> None:
    assert decode_estimate(encode_estimate(estimate)) == estimate


def test_an_estimate_of_a_newer_agent_may_have_more_keys() -> None:
    payload = json.dumps({**json.loads(encode_estimate(ESTIMATE)), "humidity": 40}).encode()
    assert decode_estimate(payload) == ESTIMATE


@given(payload=payloads)
def test_no_payload_raises_anything_but_bad_estimate(payload: bytes) -> None:
    with pytest.raises(BadEstimate):
        decode_estimate(payload)
