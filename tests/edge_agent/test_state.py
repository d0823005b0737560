"""The state directory: one agent at a time, and a damaged journal replaced by one that continues it."""

import os
import resource
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from edge_agent.archive import Archive
from edge_agent.change import Change
from edge_agent.core.errors import BadSettings, JournalUnavailable
from edge_agent.journal import Journal, Mean
from edge_agent.salvage import build
from edge_agent.state import only_agent, open_journal
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
from tests.support.needs import require
from tests.support.processes import run_program

NOBODY = 65_534


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
    journal, aside, _ = open_journal(tmp_path, WINDOW_MS, "power-loss", 1_706_778_000_000, again_s=0)
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
    journal, aside, _ = open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=5, again_s=0)
    with closing(journal):
        assert aside
        assert journal.closed_until() == {"5A2D": 3 * WINDOW_MS}
        [made] = journal.commit(Change(estimates=[estimate(window=3)]), now_ms=0)
        assert sequence(made.payload) == ("5A2D", 4)


def test_what_is_written_after_a_damaged_start_stays(tmp_path: Path) -> None:
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate(window=0)]), now_ms=0)
    _spoil(tmp_path, "batch")
    journal, _, _ = open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=5, again_s=0)
    journal.commit(Change(readings=[reading(WINDOW_MS)]), now_ms=0)
    assert (tmp_path / "journal.db-wal").stat().st_size > 0
    with journal_in(tmp_path) as beside:
        assert open_readings(beside) == [reading(WINDOW_MS)]
    journal.close()


def test_a_damaged_row_costs_itself_and_no_other(tmp_path: Path) -> None:
    """Readings, the outbox, the numbers and the facts around it are in the new journal."""
    with journal_in(tmp_path) as journal:
        for n in range(3):
            journal.commit(Change(readings=[reading(WINDOW_MS + n)]), now_ms=0)
        made = journal.commit(Change(estimates=[estimate("5CB6", n) for n in range(3)]), now_ms=0)
        journal.commit(Change(boot="one", held=[reading(9)], facts={"dropped": 3}), now_ms=0)
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        db.execute("UPDATE batch SET readings = x'93c1' WHERE id = 2")
        db.execute("UPDATE estimate SET payload = x'7b' WHERE id = 2")
        db.execute("UPDATE sensor SET seq = 0")
        db.commit()
    journal, aside, reason = open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=5, again_s=0)
    with closing(journal):
        assert aside
        assert reason == f"{tmp_path}/journal.db: expected sound rows, got 1 damaged in batch"
        assert open_readings(journal) == [reading(WINDOW_MS), reading(WINDOW_MS + 2)]
        assert journal.outbox.waiting(0, 9) == [made[0], made[2]]
        assert journal.held("one") == ([reading(9)], [], 0)
        assert journal.dropped == 3
        assert journal.closed_until() == {"5CB6": 3 * WINDOW_MS}
        [next_] = journal.commit(Change(estimates=[estimate("5CB6", 3)]), now_ms=0)
        assert sequence(next_.payload) == ("5CB6", 4)


def test_readings_of_closed_windows_are_kept_although_their_mark_is_damaged(tmp_path: Path) -> None:
    """`rebuild_from` says which batches open windows need; a wrong one must not cost the others."""
    with journal_in(tmp_path) as journal:
        for n in range(5):
            journal.commit(Change(readings=[reading(n * WINDOW_MS)]), now_ms=0)
        journal.commit(Change(estimates=[estimate(window=n) for n in range(3)]), now_ms=0)
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        db.execute("UPDATE fact SET value = 99 WHERE name = 'rebuild_from'")
        db.commit()
    journal, aside, _ = open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=5, again_s=0)
    with closing(journal):
        assert aside
        assert open_readings(journal) == [reading(3 * WINDOW_MS), reading(4 * WINDOW_MS)]
    with closing(Archive(tmp_path)) as archive:
        assert list(archive.batches()) == [[reading(n * WINDOW_MS)] for n in range(5)]


def test_the_past_is_kept_although_its_rows_are_damaged(tmp_path: Path) -> None:
    """The estimates have the temperatures, too; such windows are not revised."""
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate(window=n) for n in range(3)]), now_ms=0)
    _spoil(tmp_path, "closed")
    journal, _, _ = open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=5, again_s=0)
    with closing(journal):
        assert journal.means("5A2D", "op1", 0) == [Mean(n * WINDOW_MS, 231.4, 15) for n in range(3)]
        assert journal.closed_windows.one("5A2D", WINDOW_MS)[5], "final"  # type: ignore[index]


def test_only_the_newest_damaged_journals_are_kept(tmp_path: Path) -> None:
    """A card that fails again and again does not fill itself with them."""
    for now_ms in range(1, 7):
        (tmp_path / "journal.db").write_bytes(b"not a database" * 1_000)
        open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms, again_s=0)[0].close()
    names = sorted(path.name for path in tmp_path.glob("*.corrupt-*[0-9]"))
    assert names == [f"journal.db.corrupt-{now_ms}" for now_ms in (4, 5, 6)]


def test_a_crash_between_the_renames_is_finished_at_the_next_start(tmp_path: Path) -> None:
    """The old log must not come into the new file."""
    journal = opened(tmp_path)
    journal.commit(Change(readings=[reading(5)]), now_ms=0)
    log = (tmp_path / "journal.db-wal").read_bytes()
    journal.close()
    (tmp_path / "journal.db").rename(tmp_path / "journal.db.new")
    (tmp_path / "journal.db-wal").write_bytes(log)
    journal, aside, _ = open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=5, again_s=0)
    with closing(journal):
        assert (aside, open_readings(journal)) == (None, [reading(5)])
    assert (tmp_path / "journal.db.corrupt-5-wal").read_bytes() == log


@pytest.mark.parametrize("place", [18, 19, 47, 59, 63])
@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_in_the_header_ends_in_service(tmp_path: Path, place: int, bit: int) -> None:
    """SQLite says read-only, not a database, unsupported or nothing; the numbers go on after each."""
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate(window=n) for n in range(3)]), now_ms=0)
    path = tmp_path / "journal.db"
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)
    journal, _, _ = open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=5, again_s=0)
    with closing(journal):
        [made] = journal.commit(Change(estimates=[estimate(window=3)]), now_ms=0)
        assert sequence(made.payload) == ("5A2D", 4)


def test_a_damaged_word_in_the_schema_ends_in_service(tmp_path: Path) -> None:
    """SQLite quotes it in an error that is no UTF-8."""
    with journal_in(tmp_path) as journal:
        journal.commit(Change(readings=[reading(5)], estimates=[estimate()]), now_ms=0)
    path = tmp_path / "journal.db"
    data = bytearray(path.read_bytes())
    data[data.index(b"ROWID") + 1] ^= 0x80
    path.write_bytes(data)
    journal, aside, _ = open_journal(tmp_path, WINDOW_MS, "process-crash", now_ms=0, again_s=0)
    with closing(journal):
        assert aside
        [after] = journal.commit(Change(estimates=[estimate(window=1)]), now_ms=0)
        assert sequence(after.payload) == ("5A2D", 2)


def test_a_damaged_journal_on_a_full_disk_stays_where_it_is(tmp_path: Path) -> None:
    """The new one is made first, so that without room nothing is renamed and no number is lost."""
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate(window=n) for n in range(60)]), now_ms=0)
    _spoil(tmp_path, "batch")
    damaged = (tmp_path / "journal.db").read_bytes()
    with (
        disk_without_room(33_000),  # enough for SQLite's 32 kB of shared memory
        pytest.raises(JournalUnavailable, match=r"; it cannot be replaced: .* is the disk full"),
    ):
        open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=5, again_s=0)
    assert (tmp_path / "journal.db").read_bytes() == damaged
    assert list(tmp_path.glob("*.corrupt-*")) == []
    journal, aside, _ = open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=6, again_s=0)
    with closing(journal):
        assert aside
        assert len(journal.outbox.waiting(0, 99)) == 60
        assert journal.closed_until() == {"5A2D": 60 * WINDOW_MS}


def test_lost_commits_are_said_although_the_journal_cannot_be_opened_yet(tmp_path: Path) -> None:
    """SQLite forgets the loss as soon as it has opened the file, so the next start cannot say it."""
    (tmp_path / "work").mkdir()
    with journal_in(tmp_path / "work") as journal:
        for count in (3_000, 1):
            journal.commit(Change(readings=[reading(n) for n in range(count)]), now_ms=0)
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(tmp_path / "work" / f"journal.db{suffix}", tmp_path)
    log = tmp_path / "journal.db-wal"
    log.write_bytes(log.read_bytes()[:-1])
    words = rf"disk full or read-only\?; {log}: the last commits are damaged and lost$"
    with disk_without_room(33_000), pytest.raises(JournalUnavailable, match=words):
        open_journal(tmp_path, WINDOW_MS, "power-loss", now_ms=5, again_s=0)


def test_a_journal_of_another_user_is_waited_for() -> None:
    """SQLite opens it read-only; the agent must not start like that, because a chown would not help it."""
    require("root")
    with tempfile.TemporaryDirectory() as place:
        state = Path(place)
        opened(state).close()
        state.chmod(0o777)
        words = _as_nobody(state)
        assert "JournalUnavailable" in words
        assert words.endswith(
            "readonly database; is the disk full, or does the file belong to another user? Try sudo"
        )
        for file in state.iterdir():
            os.chown(file, NOBODY, NOBODY)
        assert _as_nobody(state) == ""


def _as_nobody(directory: Path) -> str:
    """The last line of an account without rights that opens the journal."""
    program = (
        "import os, sys, pathlib\n"
        "from edge_agent.state import open_journal\n"
        f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "open_journal(pathlib.Path(sys.argv[1]), 900_000, 'power-loss', 5)[0].close()"
    )
    done = run_program([sys.executable, "-c", program, directory], capture_output=True, text=True)
    return str((done.stderr.splitlines() or [""])[-1])


def test_readings_that_were_too_late_stay_so_in_a_new_journal(tmp_path: Path) -> None:
    with journal_in(tmp_path) as journal:
        journal.commit(Change(late=[reading(1)], too_late=[reading(2)]), now_ms=0)
    build(tmp_path / "new.db", tmp_path / "journal.db", "process-crash")
    with closing(Journal(tmp_path / "new.db", WINDOW_MS, "process-crash")) as journal:
        late = journal.closed_windows.late("5A2D", 0)
        assert late
        assert late.readings == [reading(1)]
