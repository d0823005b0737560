"""The intake: what enters, with which stamp, and everything counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.errors import BadReading
from edge_agent.core.messages import Decoder, Reading
from edge_agent.intake import REMEMBERED, Intake, Taken
from edge_agent.mqtt import Message

OFFSET_MS = 1_706_778_000_000


def intake(admitted: str | None = None) -> Intake:
    return Intake(Decoder(), lambda sensor: admitted is None or sensor == admitted)


def message(
    payload: bytes = b"231.4", mid: int = 1, arrived_ms: int = 5_000, dup: bool = False, qos: int = 1
) -> Message:
    return Message("sensors/5A2D/op1", payload, qos, mid, dup, 1, arrived_ms)


def test_a_reading_with_a_stamp_keeps_it() -> None:
    taken = intake().take(message(b'{"value": 231.4, "at": 1706782530}'), OFFSET_MS)
    assert taken == Taken([Reading("5A2D", "op1", 1_706_782_530_000, 231.4)], [], own_stamp=True)


def test_a_reading_without_a_stamp_takes_its_arrival_and_leaves_a_trace() -> None:
    taken = intake().take(message(), OFFSET_MS)
    expected = [Reading("5A2D", "op1", OFFSET_MS + 5_000, 231.4)]
    assert taken == Taken(expected, [(1, "5A2D", "op1", 231.4)], own_stamp=False)


def test_a_combined_message_has_one_stamp_for_all() -> None:
    combined = message(b'{"op1": 1, "temperature": 2}')._replace(topic="sensors/5A2D")
    assert [r.at_ms for r in intake().take(combined, 0).readings] == [5_000, 5_000]


def test_a_redelivery_without_a_stamp_is_known_by_its_packet() -> None:
    """Also after a restart, from the traces that the journal kept."""
    before = intake()
    traces = before.take(message(), OFFSET_MS).traces
    after = intake()
    after.remember(traces)
    for each in (before, after):
        again = each.take(message(dup=True, arrived_ms=9_000), OFFSET_MS)
        assert again == Taken([], [], own_stamp=False)
        assert each.counts == {"duplicate": 1}


def test_a_retained_reading_counts_only_with_a_stamp_of_its_own() -> None:
    """It comes with every connection, and nobody knows when it was said."""
    mine = intake()
    assert mine.take(message()._replace(retain=True), OFFSET_MS) == Taken([], [], own_stamp=False)
    assert mine.counts == {"duplicate": 1}
    stamped = message(b'{"value": 231.4, "at": 1706782530}')._replace(retain=True)
    assert mine.take(stamped, OFFSET_MS).readings == [Reading("5A2D", "op1", 1_706_782_530_000, 231.4)]


def test_the_same_value_in_another_packet_is_another_reading() -> None:
    mine = intake()
    mine.take(message(mid=1), OFFSET_MS)
    assert mine.take(message(mid=2, dup=True), OFFSET_MS).readings
    assert mine.take(message(mid=1, dup=False), OFFSET_MS).readings, "a broker may use a number again"


def test_a_message_that_can_never_come_again_leaves_no_trace() -> None:
    assert intake().take(message(qos=0), OFFSET_MS).traces == []


def test_only_so_many_deliveries_are_remembered() -> None:
    mine = intake()
    mine.remember([(n, "5A2D", "op1", 1.0) for n in range(REMEMBERED + 1)])
    forgotten, kept = (message(b"1.0", mid=mid, dup=True) for mid in (0, REMEMBERED))
    assert mine.take(forgotten, 0).readings
    assert not mine.take(kept, 0).readings


@given(arrivals=st.lists(st.integers(0, 50), max_size=40))
def test_a_burst_never_shares_a_stamp(arrivals: list[int]) -> None:
    """Many readings of one channel within a millisecond all count, in order, hardly moved."""
    mine = intake()
    stamps = [
        mine.take(message(mid=mid, arrived_ms=at_ms), 0).readings[0].at_ms
        for mid, at_ms in enumerate(sorted(arrivals))
    ]
    assert len(set(stamps)) == len(stamps)
    assert stamps == sorted(stamps)
    moved = [stamp - at_ms for stamp, at_ms in zip(stamps, sorted(arrivals), strict=True)]
    assert all(0 <= each <= len(arrivals) for each in moved)


def test_after_a_step_backwards_stamps_follow_the_clock() -> None:
    mine = intake()
    mine.take(message(mid=1), OFFSET_MS)
    assert mine.take(message(mid=2), OFFSET_MS - 3_600_000).readings[0].at_ms == OFFSET_MS - 3_595_000


def test_what_is_not_a_reading_is_counted_and_said() -> None:
    mine = intake()
    with pytest.raises(BadReading, match="expected a finite number, got b'nan'"):
        mine.take(message(b"nan"), 0)
    assert mine.counts == {"rejected": 1}


def test_a_sensor_that_is_not_admitted_is_counted_and_said() -> None:
    mine = intake(admitted="5CB6")
    with pytest.raises(BadReading) as caught:
        mine.take(message(), 0)
    assert str(caught.value) == "sensors/5A2D/op1: too many sensors, 5A2D is not admitted; see max_sensors"
    assert mine.counts == {"refused": 1}
