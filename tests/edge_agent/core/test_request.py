"""Whatever is asked: a request, an error with its id, or nothing."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.core.errors import BadRequest
from edge_agent.core.messages import LAST_MS
from edge_agent.core.request import Request, decode_request

END_MS = LAST_MS - 1


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, Request("a", "5A2D", last=96)),
        ({"last": 1_000}, Request("a", "5A2D", last=1_000)),
        ({"after_seq": 0}, Request("a", "5A2D")),
        (
            {"after_seq": 7, "from": 1_706_782_500},
            Request("a", "5A2D", "estimates", 1_706_782_500_000, END_MS, 7),
        ),
        (
            {
                "what": "readings",
                "from": "2024-02-01T10:15:00Z",
                "to": "2024-02-01T11:15:00+01:00",
                "last": 5,
            },
            Request("a", "5A2D", "readings", 1_706_782_500_000, 1_706_782_500_000, 0, 5),
        ),
    ],
)
def test_requests(asked: dict[str, object], expected: Request) -> None:
    assert decode_request(json.dumps({"id": "a", "sensor": "5A2D", **asked}).encode()) == expected


def test_the_consensus_is_asked_for_without_a_sensor() -> None:
    asked = b'{"id": "a", "what": "consensus", "after_seq": 7}'
    assert decode_request(asked) == Request("a", "consensus/co", "consensus", after_seq=7)
    assert decode_request(b'{"id": "a", "what": "consensus"}') == Request(
        "a", "consensus/co", "consensus", last=96
    )


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"sensor": None}, "expected a sensor"),
        ({"sensor": 7}, "expected a sensor"),
        ({"sensor": "\ud800"}, "expected a sensor"),
        ({"sensor": "x" * 65}, "expected a sensor"),
        ({"what": "windows"}, "expected what to be estimates, readings or consensus"),
        ({"what": ["readings"]}, "expected what to be estimates, readings or consensus"),
        ({"what": "consensus"}, "expected no sensor, because the consensus is of all"),
        ({"last": 0}, "expected last from 1 to 1000"),
        ({"last": 1_001}, "expected last from 1 to 1000"),
        ({"last": True}, "expected last from 1 to 1000"),
        ({"after_seq": -1}, "expected after_seq from 0 on"),
        ({"after_seq": 1e300}, "expected after_seq from 0 on"),
        ({"after_seq": 1, "last": 1}, "expected after_seq without last, and not for readings"),
        ({"after_seq": 1, "what": "readings"}, "expected after_seq without last, and not for readings"),
        ({"from": "yesterday"}, "expected from and to as ISO 8601 or epoch"),
        ({"to": [1]}, "expected from and to as ISO 8601 or epoch"),
        ({"to": 1e300}, "expected from and to as ISO 8601 or epoch"),
    ],
)
def test_a_request_that_cannot_be_answered_says_why(asked: dict[str, object], reason: str) -> None:
    with pytest.raises(BadRequest) as caught:
        decode_request(json.dumps({"id": "a", "sensor": "5A2D", **asked}).encode())
    assert (caught.value.id, str(caught.value)) == ("a", reason)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"sensor": "5A2D"}',
        b'{"id": 1, "sensor": "5A2D"}',
        b'{"id": "x/y", "sensor": "5A2D"}',
        b'{"id": "\\ud800", "sensor": "5A2D"}',
        b"[" * 100_000,
        b'{"id": "a", "sensor": "5A2D", "pad": "' + b"x" * 2_000 + b'"}',
    ],
)
def test_a_request_without_a_usable_id_is_none(payload: bytes) -> None:
    assert decode_request(payload) is None


ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers()))
KEYS = st.sampled_from(("id", "sensor", "what", "from", "to", "last", "after_seq"))


@settings(max_examples=50)
@given(st.dictionaries(KEYS, ANYTHING))
def test_any_map_gives_a_request_an_error_or_nothing(asked: dict[str, object]) -> None:
    try:
        request = decode_request(json.dumps(asked).encode())
    except BadRequest:
        return
    assert request is None or 0 <= request.from_ms < LAST_MS
