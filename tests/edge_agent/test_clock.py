"""The clocks: the kernel's answer, steps and slews, and how far the wall clock is trusted."""

import json
import sys
import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.clock import STEP_MS, Clock, Every, Steps, Timekeeper
from tests.support.needs import require
from tests.support.processes import run_program

ASK = "from edge_agent.clock import Clock; print(Clock().synchronised())"


@dataclass
class HandClock(Clock):
    """A gateway's clocks, turned by hand."""

    wall_ms: int = 1_706_778_000_000
    since_boot_ms: int = 5_000
    good: bool = True
    boot: str = "boot-1"

    def now_ms(self) -> int:
        return self.wall_ms

    def elapsed_ms(self) -> int:
        return self.since_boot_ms

    def synchronised(self) -> bool:
        return self.good

    def boot_id(self) -> str:
        return self.boot

    def pass_ms(self, passed_ms: int) -> None:
        """Time goes by, on both clocks."""
        self.wall_ms += passed_ms
        self.since_boot_ms += passed_ms

    def step_ms(self, moved_ms: int) -> None:
        """Somebody sets the wall clock."""
        self.wall_ms += moved_ms


def asked(denied: list[str]) -> str:
    """What a process that may not use some system calls is told."""
    confined = [sys.executable, "-m", "tests.support.confine", json.dumps({"deny": denied})]
    program = [*confined, sys.executable, "-c", ASK]
    return str(run_program(program, capture_output=True, text=True, check=True).stdout).strip()


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


def test_a_boot_has_the_same_id_from_systemd_and_from_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readings that the journal holds survive an upgrade to a unit that passes the id."""
    kernel = Clock().boot_id()
    monkeypatch.setenv("BOOT_ID", kernel.replace("-", ""))
    assert Clock().boot_id() == kernel
    monkeypatch.setenv("BOOT_ID", "0123456789abcdef" * 2)
    assert Clock().boot_id() == "01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize("other", ["", "%b", "0123456789ABCDEF" * 2, "0123456789abcdef"])
def test_a_variable_of_another_form_is_no_boot_id(monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    kernel = Clock().boot_id()
    monkeypatch.setenv("BOOT_ID", other)
    assert Clock().boot_id() == kernel


@given(moves=st.lists(st.tuples(st.integers(0, 60_000), st.integers(-(10**10), 10**10)), max_size=20))
def test_every_step_is_noticed_once_and_no_slew_ever(moves: list[tuple[int, int]]) -> None:
    """Whatever the wall clock does: what is told are exactly its moves of a second or more."""
    now_ms, elapsed_ms, told = 0, 0, []
    steps = Steps(now_ms, elapsed_ms)
    for passed_ms, moved_ms in moves:
        now_ms, elapsed_ms = now_ms + passed_ms + moved_ms, elapsed_ms + passed_ms
        told.append(steps.detect(now_ms, elapsed_ms))
    assert told == [moved if abs(moved) >= STEP_MS else 0 for _, moved in moves]


def test_after_a_step_the_wall_clock_is_doubted_for_a_while() -> None:
    clock = HandClock()
    keeper = Timekeeper(clock, doubt_ms=960_000)
    assert (keeper.update(), keeper.trusted) == (0, True)
    clock.step_ms(-3_600_000)
    assert (keeper.update(), keeper.trusted) == (-3_600_000, False)
    clock.pass_ms(959_999)
    assert (keeper.update(), keeper.trusted) == (0, False)
    clock.pass_ms(1)
    assert (keeper.update(), keeper.trusted) == (0, True)


def test_an_unsynchronised_clock_is_never_trusted_and_a_change_is_told_once() -> None:
    clock = HandClock(good=False)
    keeper = Timekeeper(clock, doubt_ms=0)
    assert (keeper.trusted, keeper.ask_kernel()) == (False, False)
    clock.good = True
    assert (keeper.ask_kernel(), keeper.ask_kernel(), keeper.trusted) == (True, False, True)


def test_the_offset_leads_from_time_since_boot_to_wall_time() -> None:
    clock = HandClock(wall_ms=100_000, since_boot_ms=2_000)
    keeper = Timekeeper(clock, doubt_ms=0)
    clock.pass_ms(500)
    keeper.update()
    assert keeper.elapsed_ms + keeper.offset_ms == keeper.now_ms == 100_500


def test_a_chore_can_be_hurried() -> None:
    every = Every(period_ms=100)
    assert [every.due(0), every.due(50)] == [True, False]
    every.soon()
    assert [every.due(51), every.due(52)] == [True, False]


class SteppedWhenAsked(HandClock):
    """Synchronisation and a step come between two looks, as from systemd-timesyncd."""

    def synchronised(self) -> bool:
        if not self.good and self.since_boot_ms > 5_000:
            self.good = True
            self.step_ms(1_000_000)
        return self.good


def test_the_step_that_came_with_synchronisation_is_in_the_offset_at_once() -> None:
    clock = SteppedWhenAsked(wall_ms=100_000, since_boot_ms=5_000, good=False)
    keeper = Timekeeper(clock, doubt_ms=960_000)
    clock.pass_ms(10)
    keeper.update()
    assert keeper.ask_kernel()
    assert keeper.offset_ms == 1_100_000 - 5_000
    assert keeper.update() == 1_000_000, "and it is noticed as one"
    assert not keeper.trusted


def test_a_clock_that_was_right_once_still_places_readings_when_the_network_is_gone() -> None:
    """After hours without NTP the kernel calls it unsynchronised; only a step makes it a riddle again."""
    clock = HandClock(good=False)
    keeper = Timekeeper(clock, doubt_ms=0)
    assert not keeper.wall_time_known
    clock.good = True
    keeper.ask_kernel()
    clock.good = False
    keeper.ask_kernel()
    assert (keeper.wall_time_known, keeper.synchronised, keeper.trusted) == (True, False, False)
    clock.step_ms(3_600_000)
    keeper.update()
    assert not keeper.wall_time_known


def test_a_step_makes_us_ask_at_once_whether_the_clock_is_still_good() -> None:
    """Setting a clock by hand makes the kernel call it unsynchronised; no reading may be stamped with it."""
    clock = HandClock()
    keeper = Timekeeper(clock, doubt_ms=0)
    clock.step_ms(3_600_000)
    clock.good = False
    keeper.update()
    assert not keeper.synchronised
    assert (keeper.ask_kernel(), keeper.ask_kernel()) == (True, False), "and it is still told"
