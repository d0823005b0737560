"""The journal on real files: what is committed is there again, whatever happened in between."""

import tempfile
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.archive import newest_health
from edge_agent.change import Change
from edge_agent.core.errors import JournalCorrupt, JournalUnavailable
from edge_agent.core.messages import Reading
from edge_agent.core.windows import ChannelMean
from edge_agent.journal import Journal, Mean
from edge_agent.state import open_journal
from tests.support.journals import (
    WINDOW_MS,
    disk_without_room,
    estimate,
    journal_in,
    open_readings,
    opened,
    reading,
    sequence,
)


@dataclass
class Oracle:
    """All that was ever committed, kept the obvious way."""

    readings: list[Reading] = field(default_factory=list)
    closed: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def note(self, change: Change) -> None:
        self.readings += change.readings
        for each in change.estimates:
            self.closed[each.sensor] = max(self.closed.get(each.sensor, 0), each.end_ms)
            self.counts[each.sensor] = self.counts.get(each.sensor, 0) + 1

    def open(self) -> list[Reading]:
        return [r for r in self.readings if r.at_ms >= self.closed.get(r.sensor, 0)]


commits = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 8 * WINDOW_MS - 1)), max_size=4),
        st.lists(st.sampled_from("ABC"), max_size=2, unique=True),
        st.integers(0, 20_000),
        st.booleans(),
    ),
    max_size=25,
)


@given(story=commits)
@settings(max_examples=60)
def test_after_any_commits_reopening_gives_the_sameopen_readings_and_numbers(
    story: list[tuple[list[tuple[str, int]], list[str], int, bool]],
) -> None:
    """Readings come, windows close, the agent restarts: nothing open is lost, no number falls."""
    oracle, now_ms = Oracle(), 0
    with tempfile.TemporaryDirectory() as place:
        journal = opened(Path(place))
        for arrivals, closing_, passed_ms, restart in story:
            now_ms += passed_ms
            fresh = [reading(at_ms, sensor) for sensor, at_ms in arrivals]
            change = Change(
                readings=[r for r in fresh if r.at_ms >= oracle.closed.get(r.sensor, 0)],
                estimates=[estimate(s, oracle.closed.get(s, 0) // WINDOW_MS) for s in closing_],
            )
            journal.commit(change, now_ms)
            oracle.note(change)
            if restart:
                journal.close()
                journal = opened(Path(place))
                assert open_readings(journal) == oracle.open()
        assert journal.closed_until() == oracle.closed
        journal.close()
        with journal_in(Path(place)) as again:
            assert open_readings(again) == oracle.open()
            assert again.closed_until() == oracle.closed
            next_ = again.commit(Change(estimates=[estimate(sensor, 99) for sensor in "ABC"]), now_ms)
            numbers = {sensor: oracle.counts.get(sensor, 0) + 1 for sensor in "ABC"}
            assert dict(sequence(each.payload) for each in next_) == numbers


def test_an_estimate_waits_until_it_is_delivered(tmp_path: Path) -> None:
    with journal_in(tmp_path) as journal:
        made = journal.commit(Change(estimates=[estimate(window=n) for n in range(5)]), now_ms=1_000)
        assert journal.outbox.waiting(after=0, most=3) == made[:3]
        assert journal.outbox.waiting(after=made[2].id, most=3) == made[3:]
        assert journal.outbox.depth() == (5, 1_000)
        journal.commit(Change(delivered=[made[0].id, made[3].id]), now_ms=2_000)
    with journal_in(tmp_path) as journal:
        assert [each.id for each in journal.outbox.waiting(0, 10)] == [made[1].id, made[2].id, made[4].id]
        journal.commit(Change(delivered=[each.id for each in made]), now_ms=3_000)
        assert journal.outbox.depth() == (0, None)


def test_history_is_the_last_windows_oldest_first(tmp_path: Path) -> None:
    with journal_in(tmp_path) as journal:
        for sensor in ("5A2D", "5CB6"):
            journal.commit(Change(estimates=[estimate(sensor, n) for n in range(4)]), now_ms=0)
        assert [sequence(payload) for payload in journal.outbox.last("5A2D", 3)] == [
            ("5A2D", 2),
            ("5A2D", 3),
            ("5A2D", 4),
        ]
        assert journal.outbox.last("none", 3) == []
        assert [sequence(each.payload) for each in journal.outbox.newest()] == [("5A2D", 4), ("5CB6", 4)]


def test_the_newest_is_what_was_made_last_whatever_its_stamp_says(tmp_path: Path) -> None:
    """One window of a stamp from 2096 must not be the newest for seventy years."""
    with journal_in(tmp_path) as journal:
        for window in (5, 4_444_444, 6):
            horizon = {"5A2D": (window + 1) * WINDOW_MS}
            journal.commit(Change(estimates=[estimate(window=window)], closed_until=horizon), now_ms=0)
        assert [sequence(payload)[1] for payload in journal.outbox.last("5A2D", 2)] == [2, 3]
        assert journal.last_closed("5A2D", 2) == [6 * WINDOW_MS, 4_444_444 * WINDOW_MS]
        assert [sequence(each.payload)[1] for each in journal.outbox.newest()] == [3]


def test_what_is_closed_is_what_the_change_says(tmp_path: Path) -> None:
    """The windows know better than the estimates, whose stamps may be far ahead; also without any."""
    with journal_in(tmp_path) as journal:
        change = Change(estimates=[estimate(window=4_444_444)], closed_until={"5A2D": 5 * WINDOW_MS})
        journal.commit(change, now_ms=0)
        journal.commit(Change(closed_until={"5CB6": 7 * WINDOW_MS}), now_ms=0)
    with journal_in(tmp_path) as journal:
        assert journal.closed_until() == {"5A2D": 5 * WINDOW_MS, "5CB6": 7 * WINDOW_MS}
        made = journal.commit(Change(estimates=[estimate("5A2D", 6), estimate("5CB6", 7)]), now_ms=0)
        assert [sequence(each.payload) for each in made] == [("5A2D", 2), ("5CB6", 1)]


def test_a_commit_that_the_disk_refuses_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """The same change goes through later, with the same numbers."""
    change = Change(readings=[reading(5)], estimates=[estimate(window=0)])
    with journal_in(tmp_path) as journal:
        with disk_without_room(), pytest.raises(JournalUnavailable, match="is the disk full or read"):
            journal.commit(change, now_ms=0)
        assert (journal.outbox.depth(), journal.closed_until()) == ((0, None), {})
        [made] = journal.commit(change, now_ms=0)
        assert sequence(made.payload) == ("5A2D", 1)


def test_held_readings_are_kept_for_this_boot_and_counted_once_for_others(tmp_path: Path) -> None:
    traces = [(7, "5A2D", "op1", 231.4)]
    with journal_in(tmp_path) as journal:
        journal.commit(Change(boot="one", held=[reading(5), reading(6)], traces=traces), now_ms=0)
        journal.commit(Change(boot="one", held=[reading(7)]), now_ms=0)
    with journal_in(tmp_path) as journal:
        assert journal.held("one") == ([reading(5), reading(6), reading(7)], traces, 0)
        journal.commit(Change(boot="two", held=[reading(1)]), now_ms=0)
    with journal_in(tmp_path) as journal:
        assert journal.held("two") == ([reading(1)], traces, 3), "what is lost may be delivered again"
        assert journal.held("two") == ([reading(1)], [], 0), "nobody can stamp them, so they are let go"
        journal.commit(Change(boot="two", readings=[reading(1_001)], released=True), now_ms=0)
    with journal_in(tmp_path) as journal:
        assert journal.held("two") == ([], [], 0)
        assert open_readings(journal) == [reading(1_001)]


def test_traces_come_back_with_the_readings_they_tell_apart(tmp_path: Path) -> None:
    traces = [(7, "5A2D", "op1", 231.4)]
    with journal_in(tmp_path) as journal:
        journal.commit(Change(readings=[reading(5)], traces=traces), now_ms=0)
    with journal_in(tmp_path) as journal:
        assert list(journal.rebuild()) == [([reading(5)], traces)]


def test_the_newest_health_is_there_for_others_to_read(tmp_path: Path) -> None:
    with pytest.raises(JournalUnavailable, match="expected the journal of an agent that has run"):
        newest_health(tmp_path)
    with journal_in(tmp_path) as journal:
        with pytest.raises(JournalUnavailable, match="no health record yet; try again in a minute"):
            newest_health(tmp_path)
        journal.commit(Change(facts={"health": '{"v": 1}'}), now_ms=0)
        journal.commit(Change(facts={"health": '{"v": 2}'}), now_ms=0)
        assert newest_health(tmp_path) == '{"v": 2}'
    assert newest_health(tmp_path) == '{"v": 2}'


def test_both_durabilities_keep_what_they_were_given(tmp_path: Path) -> None:
    for durability in ("power-loss", "process-crash"):
        path = tmp_path / f"{durability}.db"
        with closing(Journal(path, WINDOW_MS, durability)) as journal:
            journal.commit(Change(readings=[reading(5)]), now_ms=0)
        with closing(Journal(path, WINDOW_MS, durability)) as journal:
            assert open_readings(journal) == [reading(5)]


def test_a_channels_means_are_those_of_the_newest_revisions(tmp_path: Path) -> None:
    """Of one sensor, from some start on, oldest first, whenever they were made."""
    journal = Journal(tmp_path / "journal.db", WINDOW_MS)
    made = [
        replace(estimate("5A2D", n), channels={"op1": ChannelMean(20.0 + n, 15, 15, 0.0, 99.0)})
        for n in range(5)
    ]
    journal.commit(Change(estimates=[*made, estimate("D3EB", 9)]), now_ms=0)
    again = replace(made[3], revision=1, channels={"op1": ChannelMean(33.0, 14, 14, 0.0, 99.0)})
    journal.commit(Change(estimates=[again]), now_ms=0)
    expected = [Mean(n * WINDOW_MS, mean, minutes) for n, mean, minutes in ((2, 22.0, 15), (3, 33.0, 14))]
    assert journal.means("5A2D", "op1", 2 * WINDOW_MS)[:2] == expected
    assert journal.means("5A2D", "temperature", 0) == []


def test_a_journal_that_went_back_in_time_keeps_its_numbers(tmp_path: Path) -> None:
    """The numbers are also beside the file: a lost log or an old copy cannot make them fall."""
    path = tmp_path / "journal.db"
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate(window=0)]), now_ms=0)
    old = path.read_bytes()
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate(window=n) for n in (1, 2)]), now_ms=0)
    path.write_bytes(old)
    with journal_in(tmp_path) as journal:
        assert journal.damage == [f"{path}: older than sequences, 2 estimates are missing"]
        assert journal.closed_until() == {"5A2D": 3 * WINDOW_MS}
        [made] = journal.commit(Change(estimates=[estimate(window=3)]), now_ms=0)
        assert sequence(made.payload) == ("5A2D", 4)
    with journal_in(tmp_path) as journal:
        assert journal.damage == []


def test_damaged_numbers_beside_the_journal_are_written_again(tmp_path: Path) -> None:
    beside = tmp_path / "sequences"
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate()]), now_ms=0)
    sound = beside.read_bytes()
    for damaged in (b"", b"\xff\n0\n", sound.replace(b",1]", b",9]"), sound[:9]):
        beside.write_bytes(damaged)
        with journal_in(tmp_path) as journal:
            assert len(journal.damage) == 1
            assert str(beside) in journal.damage[0]
        assert beside.read_bytes() == sound


def test_a_journal_deleted_at_work_is_noticed_and_comes_back(tmp_path: Path) -> None:
    """SQLite would write to the nameless file for ever; all of it is there at the next start."""
    journal = opened(tmp_path)
    journal.commit(Change(readings=[reading(5)], estimates=[estimate("5CB6")]), now_ms=0)
    (tmp_path / "journal.db").unlink()
    with pytest.raises(JournalCorrupt, match="expected the file that was opened, got another or none"):
        journal.commit(Change(readings=[reading(6)]), now_ms=0)
    # Killed here: nothing is closed.
    again, aside, _ = open_journal(tmp_path, WINDOW_MS, "process-crash", now_ms=7)
    with closing(again):
        assert aside is None
        assert open_readings(again) == [reading(5)]
        assert again.closed_until() == {"5CB6": WINDOW_MS}
    journal.close()
