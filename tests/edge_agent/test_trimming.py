"""What the journal deletes: the old, and the least worth when there is too much."""

from contextlib import closing
from pathlib import Path

from edge_agent.archive import Archive
from edge_agent.change import Change
from edge_agent.core.messages import LAST_MS, Reading
from tests.support.journals import DAY_MS, WINDOW_MS, estimate, journal_in, open_readings, reading


def test_what_is_too_old_goes_but_never_what_is_open_or_waits(tmp_path: Path) -> None:
    with journal_in(tmp_path) as journal:
        [first] = journal.commit(Change(readings=[reading(1)], estimates=[estimate(window=0)]), now_ms=0)
        journal.commit(Change(readings=[reading(WINDOW_MS)], delivered=[first.id]), now_ms=20_000)
        journal.commit(Change(estimates=[estimate("5CB6", 0)]), now_ms=40_000)
        journal.forget(keep_after_ms=DAY_MS)
        assert journal.outbox.last("5A2D", 10) == []
        assert [each.sensor for each in journal.outbox.waiting(0, 10)] == ["5CB6"]
    with journal_in(tmp_path) as journal:
        assert open_readings(journal) == [reading(WINDOW_MS)]


def test_what_a_clock_of_the_past_stamped_is_as_old_as_it_says_itself(tmp_path: Path) -> None:
    """A van that was off for months boots without network: its clock goes on from its last shutdown."""
    today_ms, wrong_ms = 20_000 * DAY_MS, 19_940 * DAY_MS
    with journal_in(tmp_path) as journal:
        made = estimate(window=today_ms // WINDOW_MS)
        values = [Reading("reference", "co", today_ms, 0.8)]
        change = Change(readings=[reading(today_ms)], estimates=[made], too_late=values)
        [sent] = journal.commit(change, now_ms=wrong_ms)
        journal.commit(Change(delivered=[sent.id]), now_ms=wrong_ms)
        assert not journal.forget(today_ms - 30 * DAY_MS, now_ms=today_ms + DAY_MS)
        assert len(journal.outbox.last("5A2D", 10)) == 1
    with closing(Archive(tmp_path)) as archive:
        assert [*archive.batches()] == [[reading(today_ms)], values]


def test_what_is_too_much_goes_in_order_of_worth_and_drops_are_counted_for_ever(tmp_path: Path) -> None:
    """Readings of closed windows first, then delivered estimates, and only then those that wait."""
    with journal_in(tmp_path) as journal:
        empty = journal.size_bytes()
        for n in range(2_000):
            now_ms = n * WINDOW_MS
            change = Change(readings=[reading(now_ms)], estimates=[estimate(window=n)])
            made = journal.commit(change, now_ms)
            if n < 1_000:
                journal.commit(Change(delivered=[each.id for each in made]), now_ms)
        full = journal.size_bytes()
        assert journal.shrink(full - 20_000) == (0, 0, False)
        assert len(journal.outbox.last("5A2D", 5_000)) == 2_000, "readings of closed windows were enough"
        assert journal.shrink(full - (full - empty) // 2) == (0, 0, False)
        assert journal.outbox.depth()[0] == 1_000
        assert journal.shrink(empty + 350_000).estimates > 0
        depth = journal.outbox.depth()[0]
        assert 0 < depth < 1_000
        assert journal.dropped == 1_000 - depth
    with journal_in(tmp_path) as journal:
        assert journal.dropped == 1_000 - depth


def test_what_is_too_much_goes_in_parts(tmp_path: Path) -> None:
    """A smaller max_mb deletes for minutes on a card; new readings do not wait for all of it."""
    with journal_in(tmp_path) as journal:
        empty = journal.size_bytes()
        for n in range(0, 4_000, 500):
            change = Change(estimates=[estimate(window=n + m) for m in range(500)])
            made = journal.commit(change, now_ms=0)
            if n < 2_000:
                journal.commit(Change(delivered=[each.id for each in made]), now_ms=0)
        parts = [journal.shrink(empty + 200_000, seconds=0.0)]
        while parts[-1].more:
            parts.append(journal.shrink(empty + 200_000, seconds=0.0))
        dropped = [part.estimates for part in parts]
        assert dropped[:4] == [0] * 4, "delivered ones go first"
        assert {*dropped[4:]} <= {0, 500}
        assert journal.dropped == sum(dropped) == 2_000 - journal.outbox.depth()[0]
        assert journal.size_bytes() <= empty + 200_000


def test_what_must_be_dropped_is_dropped_from_the_sensor_that_has_most_waiting(tmp_path: Path) -> None:
    """One flood does not push out what every other sensor has to say, although that is older."""
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate("5A2D", n) for n in range(300)]), now_ms=0)
        journal.commit(Change(estimates=[estimate("FLOOD", n) for n in range(4_000)]), now_ms=1)
        assert journal.shrink(journal.size_bytes() // 2).estimates > 0
        assert len(journal.outbox.last("5A2D", 1_000)) == 300


def test_a_flood_of_old_windows_neither_grows_for_ever_nor_pushes_out_what_waits(tmp_path: Path) -> None:
    """Stamps from 1970 on close thousands of windows a second, and revisions do not need these rows."""
    now_ms, most = 20_000 * DAY_MS, 400_000
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate("5A2D", now_ms // WINDOW_MS)]), now_ms)
        for first in range(0, 10_000, 500):
            flood = [estimate("FLOOD", n) for n in range(first, first + 500)]
            made = journal.commit(Change(estimates=flood), now_ms)
            journal.commit(Change(delivered=[each.id for each in made]), now_ms)
            journal.shrink(most)
            assert journal.size_bytes() <= most
        assert len(journal.outbox.last("5A2D", 9)) == 1
        temperatures_from_ms = 10_000 * WINDOW_MS - DAY_MS
        last_day = journal.closed_windows.between("FLOOD", temperatures_from_ms, now_ms)
        assert len(last_day) == DAY_MS // WINDOW_MS


def test_late_readings_that_wait_are_deleted_last_but_one_and_counted(tmp_path: Path) -> None:
    """Their windows are not revised; settled ones go before them, and queued estimates after."""
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate(window=n) for n in range(200)]), now_ms=200 * WINDOW_MS)
        before = journal.size_bytes()
        for n in range(200):
            change = Change(late=[reading(n * WINDOW_MS + at_ms) for at_ms in range(50)])
            change.settled = [("5A2D", (n - 1) * WINDOW_MS, 1 << 40)] if n <= 100 else []
            journal.commit(change, now_ms=200 * WINDOW_MS)
        assert journal.shrink(journal.size_bytes() - 20_000) == (0, 0, False)
        assert len(list(journal.closed_windows.waiting())) == 5_000
        assert journal.shrink(before + 20_000) == (0, 5_000, False)
        assert journal.revise_from_ms > 199 * WINDOW_MS
        assert journal.outbox.depth()[0] == 200


def test_what_is_too_old_goes_in_parts_and_a_clock_of_2099_keeps_nothing(tmp_path: Path) -> None:
    """A van that was off for weeks does not delay its loop; and most journals are not read as a whole."""
    later_ms = 20 * DAY_MS
    made_at = (LAST_MS, range(600)), (0, range(600, 1_300)), (later_ms, range(1_300, 1_400))
    with journal_in(tmp_path) as journal:
        for now_ms, windows in made_at:
            made = journal.commit(Change(estimates=[estimate(window=n) for n in windows]), now_ms)
            journal.commit(Change(delivered=[each.id for each in made]), now_ms)
        parts = 1
        while journal.forget(keep_after_ms=later_ms, now_ms=later_ms + DAY_MS):
            parts += 1
        assert parts == 4
        assert len(journal.outbox.last("5A2D", 2_000)) == 700
        assert not journal.forget(keep_after_ms=0, now_ms=LAST_MS)


def test_a_clock_that_was_a_year_ahead_ends_no_later_revision(tmp_path: Path) -> None:
    """Somebody typed a wrong year. What follows what was deleted is revised again after a day."""
    now_ms = 20_000 * DAY_MS
    wrong_ms = now_ms + 365 * DAY_MS
    last = now_ms // WINDOW_MS
    with journal_in(tmp_path) as journal:
        journal.commit(Change(estimates=[estimate(window=last - 2), estimate(window=last - 1)]), now_ms)
        journal.forget(wrong_ms - 30 * DAY_MS, wrong_ms - 4 * DAY_MS, now_ms=wrong_ms)
        assert journal.revise_from_ms == (last - 2) * WINDOW_MS + 1 + DAY_MS


def test_batches_are_numbered_on_although_all_were_trimmed_away(tmp_path: Path) -> None:
    """A van that stood for months, restarted twice and then crashed, still has the window it had begun."""
    with journal_in(tmp_path) as journal:
        for n in range(9):
            journal.commit(
                Change(readings=[reading(n * WINDOW_MS)], estimates=[estimate(window=n)]), now_ms=n * 20_000
            )
        journal.commit(Change(estimates=[estimate("5CB6", 0)]), now_ms=200_000)
    with journal_in(tmp_path) as journal:
        assert open_readings(journal) == []
        journal.forget(keep_after_ms=DAY_MS * 90)
    with journal_in(tmp_path) as journal:
        journal.commit(Change(readings=[reading(99 * WINDOW_MS)]), now_ms=DAY_MS * 90)
    with journal_in(tmp_path) as journal:
        assert open_readings(journal) == [reading(99 * WINDOW_MS)]


def test_a_clock_that_was_set_back_does_not_keep_readings_of_closed_windows(tmp_path: Path) -> None:
    """One batch stamped a year ahead; from then on windows close as ever, and their batches may go."""
    with journal_in(tmp_path) as journal:
        journal.commit(Change(readings=[reading(0)]), now_ms=365 * DAY_MS)
        for n in range(1, 20):
            journal.commit(Change(readings=[reading(n * WINDOW_MS)]), now_ms=n * 20_000)
            journal.commit(Change(estimates=[estimate(window=n - 1)]), now_ms=n * 20_000)
    with journal_in(tmp_path) as journal:
        rebuilt = [each for readings, _ in journal.rebuild() for each in readings]
        assert rebuilt == [reading(19 * WINDOW_MS)]


def test_estimates_are_numbered_on_although_all_were_deleted(tmp_path: Path) -> None:
    """A row of a closed window still names the last one."""
    with journal_in(tmp_path) as journal:
        made = journal.commit(Change(estimates=[estimate(window=n) for n in range(3)]), now_ms=0)
        journal.commit(Change(delivered=[each.id for each in made]), now_ms=0)
        journal.forget(LAST_MS)
        assert journal.outbox.last("5A2D", 9) == []
    with journal_in(tmp_path) as journal:
        [after] = journal.commit(Change(estimates=[estimate(window=9)]), now_ms=0)
        assert after.id == made[-1].id + 1
