"""When a group is complete; held readings: limited, in order, and released all at once."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from edge_agent.commit import MAX_HELD, STALL_MS, GroupCommit
from edge_agent.core.messages import Reading
from edge_agent.inbox import Message
from edge_agent.journal import Journal


def reading(at_ms: int) -> Reading:
    return Reading("5A2D", "op1", at_ms, 231.4)


def test_what_waits_is_kept_and_gets_its_stamp_with_the_offset(tmp_path: Path) -> None:
    """Also over a restart before the clock was right."""
    path = tmp_path / "journal.db"
    with closing(Journal(path, 900_000, "process-crash")) as journal:
        group = GroupCommit(journal, "boot-1", 1_000, 20)
        assert group.hold([reading(5), reading(6)])
        group.commit(now_ms=0)
    with closing(Journal(path, 900_000, "process-crash")) as journal:
        group = GroupCommit(journal, "boot-1", 1_000, 20, journal.held("boot-1")[0])
        group.hold([reading(7)])
        assert group.release(offset_ms=1_000) == [reading(1_005), reading(1_006), reading(1_007)]
        assert (group.held, group.due(elapsed_ms=0)) == ([], True)
        group.commit(now_ms=0)
        assert journal.held("boot-1") == ([], [], 0)


def test_there_is_room_for_so_many(tmp_path: Path) -> None:
    with closing(Journal(tmp_path / "journal.db", 900_000, "process-crash")) as journal:
        group = GroupCommit(journal, "boot-1", 1_000, 20, [reading(5)] * MAX_HELD)
        assert not group.hold([reading(6)])
        group.commit(now_ms=0)
        assert (len(group.held), journal.held("boot-1")) == (MAX_HELD, ([], [], 0))


@pytest.fixture
def group(tmp_path: Path) -> Iterator[GroupCommit]:
    with closing(Journal(tmp_path / "journal.db", 900_000, "process-crash")) as journal:
        yield GroupCommit(journal, "boot-1", 60_000, 20)


def commits(group: GroupCommit, arrivals_ms: list[int], until_ms: int) -> list[int]:
    """When the group commits if messages arrive at these times and the loop looks every 100 ms."""
    done = []
    for now_ms in range(0, until_ms, 100):
        for at_ms in arrivals_ms:
            if at_ms == now_ms:
                group.add_readings([reading(at_ms)], messages=[Message("t", b"", 1, 1, False, 0, at_ms)])
        if group.due(now_ms):
            group.commit(now_ms)
            done.append(now_ms)
    return done


def test_messages_ten_seconds_apart_share_a_commit(group: GroupCommit) -> None:
    arrivals = [*range(5_000, 200_000, 10_000)]
    assert commits(group, arrivals, 200_000) == [65_000, 135_000]


def test_a_full_group_does_not_wait(group: GroupCommit) -> None:
    assert commits(group, [*range(5_000, 15_000, 500)], 60_000) == [14_500]


@pytest.mark.parametrize("window", [2, 10])
def test_a_broker_that_waits_for_acknowledgements_gets_them_after_a_second(
    group: GroupCommit, window: int
) -> None:
    """Its in-flight window is smaller than a group, so no more messages come."""
    assert commits(group, [5_000] * window, 60_000) == [5_000 + STALL_MS]


def test_a_broker_that_sends_one_message_for_an_acknowledgement_waits_a_minute_only_once(
    group: GroupCommit,
) -> None:
    """The second message comes at once after the commit: the broker has waited for it."""
    assert commits(group, [5_000, 65_100, 66_200], 80_000) == [65_000, 66_100, 67_200]


def test_facts_do_not_wait(group: GroupCommit) -> None:
    group.add_fact("health", "{}")
    assert group.due(0)
