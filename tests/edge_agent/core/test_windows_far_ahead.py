"""Windows of timestamps far in the future."""

import pytest

from edge_agent.core.windows import (
    MINUTE_MS,
    Outcome,
    Windows,
)
from tests.edge_agent.core.test_windows import GRACE_MS, LENGTH_MS, reading, starts


def test_one_stamp_from_the_future_cannot_close_real_windows() -> None:
    windows = Windows(LENGTH_MS, GRACE_MS, future_ms=300_000)
    assert windows.add(reading(5), now_ms=5) is Outcome.ACCEPTED
    assert windows.add(reading(300_006), now_ms=5) is Outcome.FUTURE
    assert windows.add(reading(300_005), now_ms=5) is Outcome.ACCEPTED
    assert windows.close() == []
    assert windows.add(reading(10 * LENGTH_MS), now_ms=5, trusted=False) is Outcome.ACCEPTED


def test_a_stamp_from_far_ahead_moves_nothing_for_good() -> None:
    """Nor does coming back from it open a window that was closed before."""
    windows = Windows(LENGTH_MS, GRACE_MS)
    for at_ms in (5, LENGTH_MS, 4_000_000_000_000):
        windows.add(reading(at_ms), now_ms=LENGTH_MS, trusted=False)
    assert starts(windows.close()) == [0, LENGTH_MS]
    now_ms = LENGTH_MS + MINUTE_MS
    assert windows.add(reading(now_ms), now_ms) is Outcome.TOO_LATE
    assert windows.add(reading(2 * LENGTH_MS), now_ms + LENGTH_MS) is Outcome.ACCEPTED
    assert len(windows.close()) == 1, "that of the implausible timestamp"
    assert windows.take_closed_until() == {"5A2D": 2 * LENGTH_MS}
    assert windows.take_closed_until() == {}, "told once"


FAR_MS = 4_000_000_000_000


def after_a_far_stamp() -> Windows:
    """A far stamp was accepted without a clock; then the clock was set, and a real reading came."""
    windows = Windows(LENGTH_MS, GRACE_MS)
    windows.add(reading(FAR_MS, 9.0), now_ms=0, trusted=False)
    assert windows.add(reading(LENGTH_MS), now_ms=LENGTH_MS) is Outcome.ACCEPTED
    assert starts(windows.close()) == [FAR_MS - FAR_MS % LENGTH_MS]
    return windows


@pytest.mark.parametrize("others", [0, 50])
def test_a_window_far_ahead_that_is_closed_opens_only_once(others: int) -> None:
    """Also when the clock is lost again, and however many windows were closed since."""
    windows = after_a_far_stamp()
    last_ms = LENGTH_MS
    for number in range(2, others + 2):
        last_ms = number * LENGTH_MS
        windows.add(reading(last_ms), now_ms=last_ms)
        windows.close()
    assert windows.add(reading(FAR_MS + 1, 10.0), now_ms=last_ms, trusted=False) is Outcome.TOO_LATE
    assert windows.add(reading(last_ms + 1), now_ms=last_ms, trusted=False) is Outcome.ACCEPTED


def test_after_a_restart_a_closed_window_far_ahead_moves_nothing() -> None:
    """Its readings come again from the journal, before those of open windows."""
    windows = Windows(LENGTH_MS, GRACE_MS)
    far_start_ms = FAR_MS - FAR_MS % LENGTH_MS
    windows.resume("5A2D", closed_until_ms=LENGTH_MS, closed=[0, far_start_ms])
    outcomes = [windows.add(reading(at_ms), 0, trusted=False) for at_ms in (5, FAR_MS, LENGTH_MS)]
    assert outcomes == [Outcome.TOO_LATE, Outcome.TOO_LATE, Outcome.ACCEPTED]
    assert windows.close() == []


@pytest.mark.parametrize("far", [1, 9, 90])
def test_however_many_windows_were_far_ahead_no_closed_one_opens_again(far: int) -> None:
    """A sensor with a wrong year sends for a day, until its clock and ours are set."""
    windows = Windows(LENGTH_MS, GRACE_MS)
    windows.add(reading(5), now_ms=5, trusted=False)
    stamps = [FAR_MS + number * LENGTH_MS for number in range(far)]
    for at_ms in stamps:
        windows.add(reading(at_ms), now_ms=5, trusted=False)
        windows.close()
    assert windows.add(reading(6), now_ms=6) is Outcome.TOO_LATE
    assert windows.add(reading(LENGTH_MS), now_ms=LENGTH_MS) is Outcome.ACCEPTED
    windows.close()
    outcomes = {windows.add(reading(at_ms + 1), now_ms=6, trusted=False) for at_ms in stamps}
    assert outcomes == {Outcome.TOO_LATE}
