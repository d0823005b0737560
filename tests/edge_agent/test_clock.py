"""The clocks: the kernel's word on synchronisation, steps told from slews, trust that can be withheld."""

import json
import sys
import time

from hypothesis import given
from hypothesis import strategies as st

from edge_agent.clock import STEP_MS, Clock, Steps
from tests.support.needs import require
from tests.support.processes import run_program

ASK = "from edge_agent.clock import Clock; print(Clock().synchronised())"


def asked(denied: list[str]) -> str:
    """What a process that may not use some system calls is told."""
    confined = [sys.executable, "-m", "tests.support.confine", json.dumps({"deny": denied})]
    return run_program(
        [*confined, sys.executable, "-c", ASK], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_kernel_that_may_not_be_asked_is_not_taken_for_synchronised() -> None:
    """A sandbox that denies adjtimex(2) must not turn every doubtful clock into a good one."""
    require("libseccomp")
    assert asked(["adjtimex", "clock_adjtime"]) == "False"
    assert asked(["settimeofday"]) == str(Clock().synchronised())


def test_a_trusted_clock_needs_no_kernel_to_say_so() -> None:
    assert Clock(trusted=True).synchronised()


def test_the_clocks_are_milliseconds_and_name_their_boot() -> None:
    clock = Clock()
    before = time.time_ns() // 1_000_000, time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    now = clock.now_ms(), clock.elapsed_ms()
    after = time.time_ns() // 1_000_000, time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    assert all(b <= n <= a for b, n, a in zip(before, now, after, strict=True))
    assert clock.boot_id() == Clock().boot_id()
    assert len(clock.boot_id()) == 36


@given(moves=st.lists(st.tuples(st.integers(0, 60_000), st.integers(-(10**10), 10**10)), max_size=20))
def test_every_step_is_noticed_once_and_no_slew_ever(moves: list[tuple[int, int]]) -> None:
    """Whatever the wall clock does: what is told are exactly its moves of a second or more."""
    now_ms, elapsed_ms, told = 0, 0, []
    steps = Steps(now_ms, elapsed_ms)
    for passed_ms, moved_ms in moves:
        now_ms, elapsed_ms = now_ms + passed_ms + moved_ms, elapsed_ms + passed_ms
        told.append(steps.notice(now_ms, elapsed_ms))
    assert told == [moved if abs(moved) >= STEP_MS else 0 for _, moved in moves]
