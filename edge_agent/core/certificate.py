"""When a certificate ends, from its bytes; the standard library reads only those of authorities."""

from collections.abc import Iterator
from datetime import UTC, datetime

from edge_agent.core.messages import LAST_MS

EXPLICIT_VERSION, UTC_TIME = 0xA0, 0x17
VALIDITY = 3  # after serial number, algorithm and issuer


def expires_ms(der: bytes) -> int:
    """The end of a certificate in DER, at most 2099; ValueError if these bytes are none.

    Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version, serial, algorithm, issuer,
    Validity ::= SEQUENCE { notBefore, notAfter }, … }, … }   (RFC 5280, 4.1)
    """
    try:
        [(_, certificate), *_] = _elements(der)
        [(_, signed), *_] = _elements(certificate)
        fields = [body for tag, body in _elements(signed) if tag != EXPLICIT_VERSION]
        _, (tag, text) = _elements(fields[VALIDITY])
        century = "" if tag != UTC_TIME else "20" if text < b"50" else "19"
        ends = datetime.strptime(century + text.decode("ascii"), "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except (IndexError, ValueError) as error:
        raise ValueError("expected a certificate") from error
    return min(int(ends.timestamp()) * 1000, LAST_MS - 1)


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The tags and contents of the elements in a row of DER."""
    at = 0
    while at < len(data):
        tag, length, at = data[at], data[at + 1], at + 2
        if length & 0x80:
            size = length & 0x7F
            length, at = int.from_bytes(data[at : at + size]), at + size
        yield tag, data[at : at + length]
        at += length
