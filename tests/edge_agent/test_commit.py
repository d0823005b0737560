"""Held readings: limited, in order, and released all at once."""

from contextlib import closing
from pathlib import Path

from edge_agent.commit import MAX_HELD, GroupCommit
from edge_agent.core.messages import Reading
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
