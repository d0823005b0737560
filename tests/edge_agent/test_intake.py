"""The intake: what enters, with which stamp, and everything counted."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.clock import Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.errors import BadReading
from edge_agent.core.messages import Decoder, Reading
from edge_agent.core.model import Model
from edge_agent.core.windows import Windows
from edge_agent.inbox import Message
from edge_agent.intake import REMEMBERED, STUCK_REPEATS, Decoded, Heard, Intake
from edge_agent.journal import Journal
from tests.edge_agent.test_clock import HandClock

OFFSET_MS = AT_MS = 1_706_778_000_000


def intake(admitted: str | None = None) -> Intake:
    models, max_sensors = ({}, 256) if admitted is None else ({admitted}, 0)
    return Intake(Decoder(), Windows(), models, max_sensors)


def counted(intake: Intake) -> dict[str, int]:
    return {kind: readings for kind, readings in intake.counts.items() if readings}


def message(
    payload: bytes = b"231.4", mid: int = 1, arrived_ms: int = 5_000, dup: bool = False, qos: int = 1
) -> Message:
    return Message("sensors/5A2D/op1", payload, qos, mid, dup, 1, arrived_ms)


def test_a_reading_with_a_stamp_keeps_it() -> None:
    decoded = intake().decode(message(b'{"value": 231.4, "at": 1706782530}'), OFFSET_MS)
    assert decoded == Decoded([Reading("5A2D", "op1", 1_706_782_530_000, 231.4)], [], own_stamp=True)


def test_a_reading_without_a_stamp_takes_its_arrival_and_leaves_a_trace() -> None:
    decoded = intake().decode(message(), OFFSET_MS)
    expected = [Reading("5A2D", "op1", OFFSET_MS + 5_000, 231.4)]
    assert decoded == Decoded(expected, [(1, "5A2D", "op1", 231.4)], own_stamp=False)


def test_a_combined_message_has_one_stamp_for_all() -> None:
    combined = message(b'{"op1": 1, "temperature": 2}')._replace(topic="sensors/5A2D")
    assert [r.at_ms for r in intake().decode(combined, 0).readings] == [5_000, 5_000]


def test_a_redelivery_without_a_stamp_is_known_by_its_packet() -> None:
    """Also after a restart, from the traces that the journal kept."""
    before = intake()
    traces = before.decode(message(), OFFSET_MS).traces
    after = intake()
    after.remember(traces)
    for each in (before, after):
        again = each.decode(message(dup=True, arrived_ms=9_000), OFFSET_MS)
        assert again == Decoded([], [], own_stamp=False)
        assert counted(each) == {"duplicate": 1}


@pytest.mark.parametrize("boot", ["same", "other"])
@pytest.mark.parametrize("released", [True, False])
def test_a_held_reading_that_is_delivered_again_counts_once(
    tmp_path: Path, boot: str, released: bool
) -> None:
    """It was committed, and its acknowledgement was lost; then the agent started again."""
    clock = HandClock(wall_ms=AT_MS, good=False)
    with closing(Journal(tmp_path / "journal.db", 900_000)) as journal:
        mine, time = intake(), Timekeeper(clock, doubt_ms=0)
        commits = GroupCommit(journal, "same", 1_000, 20)
        taken = mine.take([message()], time)
        commits.add_readings(taken.accepted, taken.traces)
        commits.hold(taken.held)
        commits.commit(AT_MS)
        if released:
            taken = mine.feed_held(commits.release(time.offset_ms), time)
            commits.add_readings(taken.accepted, taken.traces)
            commits.commit(AT_MS)
    with closing(Journal(tmp_path / "journal.db", 900_000)) as journal:
        again = intake()
        restored, held, lost = again.restore(journal, boot, time)
        assert (restored, len(held), lost) == (
            released,
            not released and boot == "same",
            not released and boot == "other",
        )
        taken = again.take([message(dup=True, arrived_ms=9_000)], time)
    assert (taken.accepted, taken.held) == ([], [])
    assert again.counts["duplicate"] == 1


def test_a_retained_reading_counts_only_with_a_stamp_of_its_own() -> None:
    """It comes with every connection, and nobody knows when it was said."""
    mine = intake()
    assert mine.decode(message()._replace(retain=True), OFFSET_MS) == Decoded([], [], own_stamp=False)
    assert counted(mine) == {"duplicate": 1}
    stamped = message(b'{"value": 231.4, "at": 1706782530}')._replace(retain=True)
    assert mine.decode(stamped, OFFSET_MS).readings == [Reading("5A2D", "op1", 1_706_782_530_000, 231.4)]


def test_the_same_value_in_another_packet_is_another_reading() -> None:
    mine = intake()
    mine.decode(message(mid=1), OFFSET_MS)
    assert mine.decode(message(mid=2, dup=True), OFFSET_MS).readings
    assert mine.decode(message(mid=1, dup=False), OFFSET_MS).readings, "a broker may use a number again"


def test_a_message_that_can_never_come_again_leaves_no_trace() -> None:
    assert intake().decode(message(qos=0), OFFSET_MS).traces == []


def test_only_so_many_deliveries_are_remembered() -> None:
    mine = intake()
    mine.remember([(n, "5A2D", "op1", 1.0) for n in range(REMEMBERED + 1)])
    forgotten, kept = (message(b"1.0", mid=mid, dup=True) for mid in (0, REMEMBERED))
    assert mine.decode(forgotten, 0).readings
    assert not mine.decode(kept, 0).readings


@given(arrivals=st.lists(st.integers(0, 50), max_size=40))
def test_a_burst_never_shares_a_stamp(arrivals: list[int]) -> None:
    """Many readings of one channel within a millisecond all count, in order, hardly moved."""
    mine = intake()
    stamps = [
        mine.decode(message(mid=mid, arrived_ms=at_ms), 0).readings[0].at_ms
        for mid, at_ms in enumerate(sorted(arrivals))
    ]
    assert len(set(stamps)) == len(stamps)
    assert stamps == sorted(stamps)
    moved = [stamp - at_ms for stamp, at_ms in zip(stamps, sorted(arrivals), strict=True)]
    assert all(0 <= each <= len(arrivals) for each in moved)


def test_after_a_step_backwards_stamps_follow_the_clock() -> None:
    mine = intake()
    mine.decode(message(mid=1), OFFSET_MS)
    assert mine.decode(message(mid=2), OFFSET_MS - 3_600_000).readings[0].at_ms == OFFSET_MS - 3_595_000


def test_what_is_not_a_reading_is_counted_and_said() -> None:
    mine = intake()
    with pytest.raises(BadReading, match="expected a finite number, got b'nan'"):
        mine.decode(message(b"nan"), 0)
    assert counted(mine) == {"rejected": 1}


def test_no_sensor_has_the_name_of_the_reference() -> None:
    """The journal has the values of a reference under this name."""
    taker = intake("reference")
    with pytest.raises(BadReading, match="sensors/reference/op1: expected another name of a sensor"):
        taker.decode(message()._replace(topic="sensors/reference/op1"), OFFSET_MS)
    assert counted(taker) == {"rejected": 1}


def test_every_kind_of_wrong_message_has_its_own_word() -> None:
    """The log limits the rate of each kind."""
    mine = intake(admitted="5A2D")
    wrong = {
        "topic": ("other/5A2D", b"1"),
        "sensor": ("sensors/\x01/op1", b"1"),
        "channel": ("sensors/5A2D/op9", b"1"),
        "size": ("sensors/5A2D/op1", b"1" * 9_000),
        "payload": ("sensors/5A2D/op1", b"{"),
        "number": ("sensors/5A2D/op1", b"nan"),
        "time": ("sensors/5A2D/op1", b'{"value": 1, "at": "soon"}'),
        "map": ("sensors/5A2D", b"1"),
        "channels": ("sensors/5A2D", b'{"op9": 1}'),
        "refused": ("sensors/5CB6/op1", b"1"),
    }
    for kind, (topic, payload) in wrong.items():
        with pytest.raises(BadReading) as caught:
            mine.decode(message(payload)._replace(topic=topic), 0)
        assert caught.value.kind == kind


def test_a_sensor_that_is_not_admitted_is_counted_and_said() -> None:
    mine = intake(admitted="5CB6")
    with pytest.raises(BadReading) as caught:
        mine.decode(message(), 0)
    assert str(caught.value) == "sensors/5A2D/op1: too many sensors, 5A2D is not admitted; see max_sensors"
    assert counted(mine) == {"refused": 1}


@given(
    stream=st.lists(st.sampled_from(("unstamped", "early", "later", "future", "nan", "other")), max_size=40)
)
def test_every_reading_is_counted_once(stream: list[str]) -> None:
    payloads = {
        "unstamped": b"1",
        "early": b'{"value": 1, "at": 0}',
        "later": b'{"value": 1, "at": 2000}',
        "future": b'{"value": 1, "at": "2099-01-01"}',
        "nan": b"nan",
    }
    mine, time = intake(admitted="5A2D"), Timekeeper(HandClock(wall_ms=2_000_000), doubt_ms=0)
    for mid, kind in enumerate(stream):
        topic = "sensors/X/op1" if kind == "other" else "sensors/5A2D/op1"
        mine.take([message(payloads.get(kind, b"1"), mid)._replace(topic=topic)], time)
    assert sum(mine.counts.values()) == len(stream)
    assert mine.counts["refused"] == stream.count("other")


def test_a_channel_that_the_model_needs_and_nobody_hears_is_silent(model: Model) -> None:
    heard = Heard()
    heard.note([Reading("5A2D", "op1", AT_MS, 231.4), Reading("5A2D", "op2", AT_MS, 206.1)], elapsed_ms=1_000)
    heard.note([Reading("5A2D", "op1", AT_MS + 60_000, 231.5)], elapsed_ms=61_000)
    assert heard.describe("5A2D", model, silent_since_ms=30_000) == {
        "model": model.id,
        "valid_until": None,
        "last_reading": "2024-02-01T09:01:00Z",
        "silent": ["op2", "temperature"],
        "stuck": [],
    }
    assert heard.sensors() == ["5A2D"]


def test_a_slow_channel_is_silent_after_its_cadence(model: Model) -> None:
    """silent_s is meant for a reading a minute; one that comes every 5 minutes has 4 minutes more."""
    heard, slow = Heard(), replace(model, cadence_minutes={"op1": 5})
    readings = [Reading("5A2D", name, 0, 1.0) for name in ("op1", "op2", "temperature")]
    heard.note(readings, elapsed_ms=0)
    silent = [heard.describe("5A2D", slow, since)["silent"] for since in (0, 1, 240_000, 240_001)]
    assert silent == [[], ["op2", "temperature"], ["op2", "temperature"], ["op1", "op2", "temperature"]]


def test_a_sensor_never_heard_is_all_silent(model: Model) -> None:
    assert Heard().describe("5A2D", model, 0) == {
        "model": model.id,
        "valid_until": None,
        "last_reading": None,
        "silent": ["op1", "op2", "temperature"],
        "stuck": [],
    }


def test_readings_that_wait_for_the_clock_are_heard_but_have_no_time_yet() -> None:
    """Their stamps count from the boot: they would say 1970."""
    heard = Heard()
    heard.note([Reading("5A2D", "op1", 30_000, 231.4)], elapsed_ms=30_000, stamped=False)
    told = heard.describe("5A2D", None, silent_since_ms=0)
    assert (told["last_reading"], told["silent"]) == (None, [])
    heard.note([Reading("5A2D", "op1", AT_MS, 231.4)], elapsed_ms=60_000)
    assert heard.describe("5A2D", None, 0)["last_reading"] == "2024-02-01T09:00:00Z"


def test_an_electrode_that_repeats_itself_is_stuck_until_it_moves(model: Model) -> None:
    """A thermometer may well say the same for long."""
    heard = Heard()
    for n in range(STUCK_REPEATS):
        assert heard.describe("5A2D", model, 0)["stuck"] == []
        heard.note(
            [Reading("5A2D", "op1", AT_MS + n, 231.4), Reading("5A2D", "temperature", AT_MS + n, 24.0)], n
        )
    assert heard.describe("5A2D", model, 0)["stuck"] == ["op1"]
    assert heard.describe("5A2D", None, 0)["stuck"] == ["op1"]
    heard.note([Reading("5A2D", "op1", AT_MS + 99, 231.5)], 99)
    assert heard.describe("5A2D", model, 0)["stuck"] == []
