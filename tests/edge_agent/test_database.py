"""The journal's file: its format has a number, and its rows have checksums."""

import gzip
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest

from edge_agent import write_ahead_log
from edge_agent.change import Change
from edge_agent.core.errors import BadSettings, JournalCorrupt, JournalUnavailable
from edge_agent.database import VERSION, trouble
from edge_agent.journal import Mean
from tests.support.journals import (
    WINDOW_MS,
    estimate,
    journal_in,
    open_readings,
    opened,
    reading,
    sequence,
)

FORMAT_0, FORMAT_1 = (Path(__file__).parent / "journals" / f"format-{n}.db.gz" for n in (0, 1))


@contextmanager
def written(directory: Path) -> Iterator[sqlite3.Connection]:
    """The tables of a journal that no agent has open, for damage that SQLite cannot see."""
    with closing(sqlite3.connect(directory / "journal.db", isolation_level=None)) as db:
        yield db


def test_a_journal_from_before_the_numbers_is_migrated_whole(tmp_path: Path) -> None:
    """Made by the agent of November 2026: open readings, traces, held readings, outbox, numbers, facts."""
    (tmp_path / "journal.db").write_bytes(gzip.decompress(FORMAT_0.read_bytes()))
    for _ in range(2):
        with journal_in(tmp_path) as journal:
            traces = [(7, "5A2D", "op1", 231.4)]
            batches = [
                ([reading(5), reading(WINDOW_MS + 5)], traces),
                ([reading(WINDOW_MS + 65_000)], []),
            ]
            assert list(journal.rebuild()) == batches
            assert journal.held("one") == ([reading(9)], [], 0)
            assert [sequence(each.payload) for each in journal.outbox.waiting(0, 9)] == [
                ("5CB6", 1),
                ("5CB6", 2),
            ]
            assert journal.closed_until() == {"5A2D": WINDOW_MS, "5CB6": 2 * WINDOW_MS}
            assert (journal.dropped, journal.damage) == (3, [])
            means = [Mean(n * WINDOW_MS, 231.4, 15) for n in range(2)]
            assert journal.means("5CB6", "op1", 0) == means, "the past of warming"
    with journal_in(tmp_path) as journal:
        [made] = journal.commit(Change(estimates=[estimate(window=1)]), now_ms=0)
        assert sequence(made.payload) == ("5A2D", 2)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    """Here a number is text, which format 1 does not store."""
    (tmp_path / "journal.db").write_bytes(gzip.decompress(FORMAT_0.read_bytes()))
    with written(tmp_path) as db:
        db.execute("UPDATE sensor SET seq = 'two' WHERE name = '5CB6'")
        before = list(db.iterdump())
    with pytest.raises(JournalCorrupt, match="cannot store TEXT value in INTEGER column"):
        opened(tmp_path)
    with written(tmp_path) as db:
        assert list(db.iterdump()) == before


def test_a_newer_journal_is_refused_in_one_line_and_left_alone(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with written(tmp_path) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
        db.execute("UPDATE fact SET value = ? WHERE name = 'format'", (VERSION + 1,))
    before = (tmp_path / "journal.db").read_bytes()
    words = f"journal.db: format {VERSION + 1}, this agent reads 0-{VERSION}; install a newer agent$"
    with pytest.raises(BadSettings, match=words):
        opened(tmp_path)
    assert (tmp_path / "journal.db").read_bytes() == before


def test_one_flipped_bit_in_the_number_is_damage_and_not_a_newer_journal(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with written(tmp_path) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 4}")
    with pytest.raises(JournalCorrupt, match=f"expected one format, got {VERSION + 4} and {VERSION}"):
        opened(tmp_path)


def test_trouble_with_locks_is_no_damage(tmp_path: Path) -> None:
    """Other processes that open the file at the same time can keep SQLite from its locks for too long."""
    error = sqlite3.OperationalError("locking protocol")
    error.sqlite_errorname = "SQLITE_PROTOCOL"
    with pytest.raises(JournalUnavailable, match="locking protocol"), trouble(tmp_path / "journal.db"):
        raise error


DAMAGE = {
    "batch": "UPDATE batch SET arrived_ms = arrived_ms + 1",
    "sensor": "UPDATE sensor SET seq = 0",
    "estimate": "UPDATE estimate SET payload = CAST(replace(payload, '0.8', '0.9') AS BLOB)",
    "held": "UPDATE held SET boot = 'two'",
    "fact": "UPDATE fact SET value = 99 WHERE name = 'rebuild_from'",
    "closed": "UPDATE closed SET revision = 1",
    "late": "UPDATE late SET start_ms = 1",
}


@pytest.mark.parametrize("table", DAMAGE)
def test_a_row_that_is_not_as_it_was_written_is_damage(tmp_path: Path, table: str) -> None:
    """SQLite is content with each of these files."""
    with journal_in(tmp_path) as journal:
        change = Change(readings=[reading(WINDOW_MS)], estimates=[estimate()], boot="one", held=[reading(1)])
        change.late = [reading(2)]
        journal.commit(change, now_ms=0)
    opened(tmp_path).close()
    with written(tmp_path) as db:
        db.execute(DAMAGE[table])
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with pytest.raises(JournalCorrupt, match=f"expected sound rows, got 1 damaged in {table}"):
        opened(tmp_path)


def test_what_is_damaged_while_the_agent_runs_is_neither_published_nor_answered(tmp_path: Path) -> None:
    """Each is noted once, and the estimates around it come as ever."""
    with journal_in(tmp_path) as journal:
        made = journal.commit(Change(estimates=[estimate(window=n) for n in range(4)]), now_ms=0)
        with written(tmp_path) as db:
            db.execute("UPDATE estimate SET payload = x'7b' WHERE id = 2")
        assert journal.outbox.waiting(after=0, most=3) == [made[0], made[2], made[3]]
        with written(tmp_path) as db:
            db.execute(
                "UPDATE estimate SET payload = CAST(replace(payload, '0.8', '0.9') AS BLOB) WHERE id = 4"
            )
        assert journal.outbox.last("5A2D", 9) == [made[0].payload, made[2].payload]
        path = tmp_path / "journal.db"
        assert journal.damage == [f"{path}: estimate 2 is damaged", f"{path}: estimate 4 is damaged"]


def test_a_damaged_batch_costs_its_own_readings(tmp_path: Path) -> None:
    with journal_in(tmp_path) as journal:
        for n in range(3):
            journal.commit(Change(readings=[reading(n)]), now_ms=0)
        with written(tmp_path) as db:
            db.execute("UPDATE batch SET readings = x'93c1' WHERE id = 2")
        assert open_readings(journal) == [reading(0), reading(2)]
        assert journal.damage == [f"{tmp_path}/journal.db: batch 2 is damaged"]


def test_a_delivered_estimate_is_still_sound(tmp_path: Path) -> None:
    with journal_in(tmp_path) as journal:
        [made] = journal.commit(Change(estimates=[estimate()]), now_ms=0)
        journal.commit(Change(delivered=[made.id]), now_ms=0)
        journal.commit(Change(delivered=[made.id]), now_ms=0)
    with journal_in(tmp_path) as journal:
        assert (journal.outbox.last("5A2D", 1), journal.outbox.depth()) == ([made.payload], (0, None))


def test_a_format_0_batch_of_nonsense_is_skipped(tmp_path: Path) -> None:
    """It had no checksums: a flipped stamp was an OverflowError at every start."""
    good = ["5A2D", "op1", WINDOW_MS + 5, 231.4]
    nonsense: list[list[Any]] = [
        ["5A2D", "op1", 1 << 62, 231.4],
        ["5A2D", "op1", -5, 231.4],
        ["5A2D", "op1", "5", 231.4],
        ["5A2D", "op1", 5, "231.4"],
        ["5A2D", "op1", 5, float("nan")],
        ["5A2D", 7, 5, 231.4],
        [7, "op1", 5, 231.4],
        ["5A/D", "op1", 5, 231.4],
        ["5A2D", "op1", 5],
    ]
    (tmp_path / "journal.db").write_bytes(gzip.decompress(FORMAT_0.read_bytes()))
    with written(tmp_path) as db:
        db.execute("DELETE FROM batch")
        blobs = [(msgpack.packb(([good, each], [])),) for each in nonsense]
        blobs += [(b"\x93\xc1",), (msgpack.packb(([b"\xff"], [])),), (msgpack.packb(([good], [])),)]
        db.executemany("INSERT INTO batch (arrived_ms, readings) VALUES (0, ?)", blobs)
    with journal_in(tmp_path) as journal:
        assert open_readings(journal) == [reading(WINDOW_MS + 5)]
        assert len(journal.damage) == len(blobs) - 1


def killed_agent(directory: Path, index_after: int = 5, checkpoint_after: int = 0) -> tuple[Path, Path]:
    """The log and its index of an agent that was killed after 5 commits; the index may be older."""
    (directory / "work").mkdir()
    with journal_in(directory / "work") as journal:
        for n in range(1, 6):
            journal.commit(Change(readings=[reading(n)]), now_ms=0)
            if n == index_after:
                shutil.copy(directory / "work" / "journal.db-shm", directory)
            if n == checkpoint_after:
                with written(directory / "work") as db:
                    db.execute("PRAGMA wal_checkpoint")
        for suffix in ("", "-wal"):
            shutil.copy(directory / "work" / f"journal.db{suffix}", directory)
    return directory / "journal.db-wal", directory / "journal.db-shm"


def flip(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("place", [17, 99, -9], ids=["header", "first frame", "last frame"])
def test_a_flipped_bit_in_the_log_is_noticed(tmp_path: Path, place: int) -> None:
    """SQLite silently drops what comes after a damaged frame."""
    log, _ = killed_agent(tmp_path)
    flip(log, place)
    with journal_in(tmp_path) as journal:
        assert journal.damage == [f"{log}: the last commits are damaged and lost"]
        assert len(open_readings(journal)) == (4 if place == -9 else 0)


@pytest.mark.parametrize("left", [None, 0, 20, 32, -1_200, -1])
def test_a_log_that_is_cut_or_deleted_is_noticed(tmp_path: Path, left: int | None) -> None:
    log, _ = killed_agent(tmp_path)
    if left is None:
        log.unlink()
    else:
        log.write_bytes(log.read_bytes()[:left])
    with journal_in(tmp_path) as journal:
        assert journal.damage == [f"{log}: the last commits are damaged and lost"]
        assert len(open_readings(journal)) < 5


def test_the_log_of_a_file_that_was_cut_to_nothing_is_lost(tmp_path: Path) -> None:
    """SQLite deletes it."""
    log, _ = killed_agent(tmp_path)
    (tmp_path / "journal.db").write_bytes(b"")
    with journal_in(tmp_path) as journal:
        assert journal.damage == [f"{log}: the last commits are damaged and lost"]


def test_a_log_that_somebody_else_merges_while_it_is_looked_at_is_no_damage(tmp_path: Path) -> None:
    """As a person who leaves sqlite3 at the very moment: then the log is gone, and its commits are not."""
    killed_agent(tmp_path)
    before = write_ahead_log.read(tmp_path / "journal.db")
    with written(tmp_path) as db:
        db.execute("SELECT * FROM batch").fetchall()
    assert not before.has_lost(0, write_ahead_log.salts(tmp_path / "journal.db"))
    with journal_in(tmp_path) as journal:
        assert (len(open_readings(journal)), journal.damage) == (5, [])


@pytest.mark.parametrize("index_after", [0, 2], ids=["none", "older"])
def test_a_power_cut_tears_the_last_commit_and_this_is_no_damage(tmp_path: Path, index_after: int) -> None:
    """Nobody was told of that commit. The index may be older than the log, because it is never synced."""
    log, _ = killed_agent(tmp_path, index_after)
    flip(log, -9)
    with journal_in(tmp_path) as journal:
        assert (len(open_readings(journal)), journal.damage) == (4, [])


def test_the_index_of_an_earlier_log_says_nothing_of_this_one(tmp_path: Path) -> None:
    """It counts more commits than the log has after it began anew."""
    killed_agent(tmp_path, index_after=4, checkpoint_after=4)
    with journal_in(tmp_path) as journal:
        assert (len(open_readings(journal)), journal.damage) == (5, [])


@pytest.mark.parametrize("place", [16, 33, 41, 64])
def test_a_damaged_index_costs_nothing(tmp_path: Path, place: int) -> None:
    _, index = killed_agent(tmp_path)
    flip(index, place)
    with journal_in(tmp_path) as journal:
        assert (len(open_readings(journal)), journal.damage) == (5, [])


def test_a_journal_of_format_1_keeps_its_temperatures_and_revises_nothing_for_a_day(tmp_path: Path) -> None:
    """Models need the last day's temperatures; which batches hold the readings is not known."""
    (tmp_path / "journal.db").write_bytes(gzip.decompress(FORMAT_1.read_bytes()))
    with journal_in(tmp_path) as journal:
        assert open_readings(journal) == [reading(3 * WINDOW_MS + 5)]
        assert [sequence(each.payload) for each in journal.outbox.newest()] == [("5A2D", 3)]
        assert (journal.revise_from_ms, journal.damage) == (3 * WINDOW_MS + 86_400_000, [])
        means = [Mean(n * WINDOW_MS, 20.5 + n, 14) for n in range(3)]
        assert journal.means("5A2D", "temperature", 0) == means
        assert all(each.final for each in journal.closed_windows.between("5A2D", 0, 9 * WINDOW_MS))
        assert journal.last_closed("5A2D", 2) == [WINDOW_MS, 2 * WINDOW_MS]
