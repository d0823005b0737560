"""The end of a certificate, from any bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.core.certificate import expires_ms
from edge_agent.core.messages import LAST_MS, parse_time


def certificate(ends: bytes, tag: int) -> bytes:
    """The parts of a certificate that matter."""

    def element(kind: int, body: bytes) -> bytes:
        return bytes((kind, 0x82, len(body) >> 8, len(body) & 0xFF)) + body

    validity = element(0x30, element(0x17, b"240201000000Z") + element(tag, ends))
    fields = element(0xA0, b"\x02\x01\x02") + element(2, b"\x07") + element(0x30, b"") * 2 + validity
    return element(0x30, element(0x30, fields))


@pytest.mark.parametrize(
    ("ends", "tag", "expected"),
    [
        (b"270201093000Z", 0x17, parse_time("2027-02-01T09:30:00Z")),
        (b"991231000000Z", 0x17, parse_time("1999-12-31T00:00:00Z")),
        (b"20510101000000Z", 0x18, parse_time("2051-01-01T00:00:00Z")),
        (b"99991231235959Z", 0x18, LAST_MS - 1),
    ],
)
def test_the_end_is_read(ends: bytes, tag: int, expected: int) -> None:
    assert expires_ms(certificate(ends, tag)) == expected


@settings(max_examples=100)
@given(st.binary(max_size=60), st.integers(0, 80))
def test_any_bytes_give_a_time_or_a_value_error(noise: bytes, at: int) -> None:
    sound = certificate(b"270201093000Z", 0x17)
    for data in (noise, sound[:at], sound[:at] + noise + sound[at:]):
        try:
            assert expires_ms(data) < LAST_MS
        except ValueError:
            continue
