"""The state directory: one agent at a time, and a damaged journal replaced by one that continues it."""

import os
import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from edge_agent.core.errors import BadSettings, JournalCorrupt
from edge_agent.journal import Change
from edge_agent.state import only_agent, open_journal, replace_journal
from tests.edge_agent.test_journal import WINDOW_MS, estimate, journal_in, open_readings, reading, sequence


def test_a_state_has_one_agent_at_a_time(tmp_path: Path) -> None:
    state = tmp_path / "new" / "state"
    with only_agent(state):
        words = f"expected no other agent here, got process {os.getpid()}; stop it"
        with pytest.raises(BadSettings, match=words), only_agent(state):
            pass
    with only_agent(state):
        assert (state / "lock").read_text() == f"{os.getpid()}\n"


def test_an_agent_that_failed_holds_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), only_agent(tmp_path):
        raise ZeroDivisionError
    with only_agent(tmp_path):
        pass


def test_a_full_disk_keeps_nobody_out(tmp_path: Path) -> None:
    """The number in the file is for people; the lock needs no room."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with only_agent(tmp_path):
            assert (tmp_path / "lock").read_bytes() == b""
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_place_that_is_no_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(BadSettings, match="expected a state directory that can"),
        only_agent(tmp_path / "file"),
    ):
        pass


def test_a_file_that_is_no_journal_is_set_aside_whole(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_bytes(b"not a database" * 1_000)
    journal, aside = open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=1_706_778_000_000)
    with closing(journal):
        assert aside == tmp_path / "journal.db.corrupt-1706778000000"
        assert aside.read_bytes() == b"not a database" * 1_000
        assert journal.closed_until() == {}


def _spoil(directory: Path, table: str) -> None:
    """Overwrite the page where a table begins."""
    path = directory / "journal.db"
    with closing(sqlite3.connect(path)) as db:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        page, size = db.execute(query, (table,)).fetchone()[0], db.execute("PRAGMA page_size").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


def test_a_journal_damaged_in_part_keeps_its_sequence_numbers(tmp_path: Path) -> None:
    """Consumers see no number fall, and no closed window opens again."""
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate(window=n) for n in range(3)]), now_ms=0)
    _spoil(tmp_path, "batch")
    journal, aside = open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=5)
    with closing(journal):
        assert aside
        assert journal.closed_until() == {"5A2D": 3 * WINDOW_MS}
        [made] = journal.commit(Change(estimates=[estimate(window=3)]), now_ms=0)
        assert sequence(made.payload) == ("5A2D", 4)


def test_what_is_written_after_a_damaged_start_stays(tmp_path: Path) -> None:
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate(window=0)]), now_ms=0)
    _spoil(tmp_path, "batch")
    journal, _ = open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=5)
    journal.commit(Change(readings=[reading(WINDOW_MS)]), now_ms=0)
    assert (tmp_path / "journal.db-wal").stat().st_size > 0
    with journal_in(tmp_path) as beside:
        assert open_readings(beside) == [reading(WINDOW_MS)]
    journal.close()


def test_damage_inside_a_row_is_damage(tmp_path: Path) -> None:
    """SQLite cannot see it; the agent would otherwise die of it at every start."""
    with journal_in(tmp_path) as journal:
        journal.commit(Change(readings=[reading(5)], estimates=[estimate("5CB6")]), now_ms=0)
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        db.execute("UPDATE batch SET readings = x'93c1'")
        db.commit()
    with journal_in(tmp_path) as journal, pytest.raises(JournalCorrupt, match="a batch of readings is dam"):
        list(journal.rebuild())
    aside = replace_journal(tmp_path, now_ms=9)
    assert aside.is_file()
    with journal_in(tmp_path) as journal:
        assert list(journal.rebuild()) == []
        assert journal.closed_until() == {"5CB6": WINDOW_MS}
