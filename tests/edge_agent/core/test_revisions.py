"""When late readings revise windows: batched, with rests that grow, and never more than eight times."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.core.revisions import MOST, Due, Revisions

LENGTH_MS, MINUTE_MS, HOUR_MS, DAY_MS = 900_000, 60_000, 3_600_000, 86_400_000


def revisions() -> Revisions:
    return Revisions(LENGTH_MS, revise_after_ms=10 * MINUTE_MS, final_ms=DAY_MS, max_readings=3)


def test_a_backlog_is_revised_once_when_it_has_ended() -> None:
    """Ten minutes behind the last late reading of the sensor, all windows together."""
    late = revisions()
    for window in range(40):
        assert late.due(HOUR_MS, window * MINUTE_MS) is None
        assert late.note("5A2D", window * LENGTH_MS, "op1", window * MINUTE_MS)
    assert late.due(HOUR_MS, 49 * MINUTE_MS - 1) is None
    assert late.due(HOUR_MS, 49 * MINUTE_MS) == Due("5A2D", [n * LENGTH_MS for n in range(40)])
    late.settle("5A2D", [n * LENGTH_MS for n in range(40)], 49 * MINUTE_MS)
    assert late.due(HOUR_MS, DAY_MS) is None


def test_late_readings_that_never_pause_wait_for_three_hours_at_most() -> None:
    """Then only the windows that are quiet are revised."""
    late, due = Revisions(LENGTH_MS, 10 * MINUTE_MS, DAY_MS, max_readings=15), None
    for minute in range(24 * 60):
        late.note("5A2D", minute // 15 * LENGTH_MS, "op1", minute * MINUTE_MS)
        due = late.due(DAY_MS, minute * MINUTE_MS)
        if due:
            break
    assert due == Due("5A2D", [n * LENGTH_MS for n in range(11)])
    assert minute == 180


def test_one_sensor_does_not_wait_for_another() -> None:
    late = revisions()
    late.note("5A2D", 0, "op1", 0)
    late.note("D3EB", 0, "op1", 9 * MINUTE_MS)
    assert late.due(HOUR_MS, 10 * MINUTE_MS) == Due("5A2D", [0])


def test_what_waits_is_bounded() -> None:
    """A sensor that sends the same minute a thousand times, or every window of a year."""
    late = revisions()
    assert [late.note("5A2D", 0, "op1", 0) for _ in range(4)] == [True, True, True, False]
    late.settle("5A2D", [0], steady_ms=1)
    assert not late.note("5A2D", 0, "op1", 0), "also after a revision"
    taken = [late.note("5A2D", n * LENGTH_MS, "op1", 0) for n in range(1, 40_000)]
    assert sum(taken) == DAY_MS // LENGTH_MS + 2


def test_readings_that_come_while_their_window_is_revised_wait_for_the_next_time() -> None:
    late = revisions()
    late.note("5A2D", 0, "op1", 0)
    late.note("5A2D", LENGTH_MS, "op1", 0)
    due = late.due(HOUR_MS, 10 * MINUTE_MS)
    assert due == Due("5A2D", [0, LENGTH_MS])
    late.note("5A2D", LENGTH_MS, "op1", 10 * MINUTE_MS)
    late.settle("5A2D", due.starts_ms, steady_ms=10 * MINUTE_MS)
    assert late.due(HOUR_MS, 20 * MINUTE_MS) == Due("5A2D", [LENGTH_MS])


@given(
    delays=st.lists(st.integers(0, DAY_MS), min_size=1, max_size=6),
    seed=st.integers(0, 1 << 32),
    pause=st.integers(1, 90),
)
@settings(max_examples=25)
def test_no_window_has_more_than_eight_revisions(delays: list[int], seed: int, pause: int) -> None:
    """However late readings come, and although each revision changes every later window of a day."""
    late, counts, chance = revisions(), dict[int, int](), random.Random(seed)
    now_ms = 10 * DAY_MS
    while now_ms < 14 * DAY_MS:
        now_ms += chance.randrange(1, pause + 1) * MINUTE_MS
        at_ms = now_ms - chance.choice(delays)
        start_ms = at_ms - at_ms % LENGTH_MS
        if not late.is_final(start_ms, now_ms):
            late.note("5A2D", start_ms, chance.choice("abcdefgh"), now_ms)
        if due := late.due(now_ms, now_ms):
            closed = range(due.starts_ms[0], min(due.starts_ms[-1] + DAY_MS, now_ms - LENGTH_MS), LENGTH_MS)
            for each in {*due.starts_ms, *closed}:
                counts[each] = counts.get(each, 0) + 1
            late.settle("5A2D", due.starts_ms, now_ms + 1)
            late.resume("5A2D", {each: counts[each] for each in {*due.starts_ms, *closed}}, now_ms)
    assert max(counts.values(), default=0) <= MOST
