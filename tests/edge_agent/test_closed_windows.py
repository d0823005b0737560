"""Closed windows in the journal: their readings are all there, or the window is not revised."""

import sqlite3
from contextlib import closing
from pathlib import Path

from edge_agent.change import Change
from tests.support.journals import DAY_MS, WINDOW_MS, estimate, journal_in, reading

NOW_MS = 20_000 * DAY_MS


def test_readings_in_time_come_from_the_batches_up_to_the_commit_that_closed_the_window(
    tmp_path: Path,
) -> None:
    """The last batch is the newest one, whether or not the commit has readings."""
    with journal_in(tmp_path) as journal:
        for n in range(3):
            journal.commit(Change(readings=[reading(n), reading(n, "5CB6")]), now_ms=0)
        journal.commit(Change(estimates=[estimate(window=0)]), now_ms=0)
        change = Change(readings=[reading(WINDOW_MS)], estimates=[estimate("5CB6", window=0)])
        journal.commit(change, now_ms=0)
        for sensor in ("5A2D", "5CB6"):
            window = journal.closed_windows.one(sensor, 0)
            assert window
            expected = [reading(n, sensor) for n in range(3)]
            assert list(journal.closed_windows.in_time(sensor, window)) == [expected]


def test_a_window_with_a_gap_in_its_batches_has_lost_readings(tmp_path: Path) -> None:
    """A batch from a boot in 1970 is deleted sooner than the batches around it."""
    with journal_in(tmp_path) as journal:
        for n, now_ms in enumerate((NOW_MS, 5_000, NOW_MS)):
            journal.commit(Change(readings=[reading(n)]), now_ms)
        journal.commit(Change(estimates=[estimate(window=0)]), NOW_MS)
        window = journal.closed_windows.one("5A2D", 0)
        assert window
        journal.forget(keep_after_ms=NOW_MS - 30 * DAY_MS)
        assert list(journal.closed_windows.in_time("5A2D", window)) == [None]


def test_a_window_whose_readings_are_damaged_is_not_revised_and_that_is_an_event(tmp_path: Path) -> None:
    """A start does not read old batches, so a revision is the first to see the damage."""
    with journal_in(tmp_path) as journal:
        journal.commit(Change(readings=[reading(0)]), now_ms=0)
        journal.commit(Change(estimates=[estimate(window=0)]), now_ms=0)
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db, db:
        db.execute("UPDATE batch SET readings = x'00'")
    with journal_in(tmp_path) as journal:
        assert journal.damage == []
        window = journal.closed_windows.one("5A2D", 0)
        assert window
        assert list(journal.closed_windows.in_time("5A2D", window)) == [None]
        expected = f"{journal.path}: readings of 5A2D are damaged; 1970-01-01T00:00:00Z is not revised"
        assert journal.damage == [expected]
