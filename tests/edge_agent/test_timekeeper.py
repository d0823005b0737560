"""The timekeeper: how far the wall clock may be believed, told with a clock that we turn by hand."""

from dataclasses import dataclass

from edge_agent.clock import Clock
from edge_agent.timekeeper import Every, Timekeeper


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


def test_after_a_step_the_wall_clock_is_doubted_for_a_while() -> None:
    clock = HandClock()
    time = Timekeeper(clock, doubt_ms=960_000)
    assert (time.look(), time.trusted) == (0, True)
    clock.step_ms(-3_600_000)
    assert (time.look(), time.trusted) == (-3_600_000, False)
    clock.pass_ms(959_999)
    assert (time.look(), time.trusted) == (0, False)
    clock.pass_ms(1)
    assert (time.look(), time.trusted) == (0, True)


def test_an_unsynchronised_clock_is_never_trusted_and_a_change_is_told_once() -> None:
    clock = HandClock(good=False)
    time = Timekeeper(clock, doubt_ms=0)
    assert (time.trusted, time.ask()) == (False, False)
    clock.good = True
    assert (time.ask(), time.ask(), time.trusted) == (True, False, True)


def test_the_offset_leads_from_time_since_boot_to_wall_time() -> None:
    clock = HandClock(wall_ms=100_000, since_boot_ms=2_000)
    time = Timekeeper(clock, doubt_ms=0)
    clock.pass_ms(500)
    time.look()
    assert time.elapsed_ms + time.offset_ms == time.now_ms == 100_500


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
    time = Timekeeper(clock, doubt_ms=960_000)
    clock.pass_ms(10)
    time.look()
    assert time.ask()
    assert time.offset_ms == 1_100_000 - 5_000
    assert time.look() == 1_000_000, "and it is noticed as one"
    assert not time.trusted


def test_a_clock_that_was_right_once_still_places_readings_when_the_network_is_gone() -> None:
    """After hours without NTP the kernel calls it unsynchronised; only a step makes it a riddle again."""
    clock = HandClock(good=False)
    time = Timekeeper(clock, doubt_ms=0)
    assert not time.placed
    clock.good = True
    time.ask()
    clock.good = False
    time.ask()
    assert (time.placed, time.synchronised, time.trusted) == (True, False, False)
    clock.step_ms(3_600_000)
    time.look()
    assert not time.placed


def test_a_step_makes_us_ask_at_once_whether_the_clock_is_still_good() -> None:
    """Setting a clock by hand makes the kernel call it unsynchronised; no reading may be stamped with it."""
    clock = HandClock()
    time = Timekeeper(clock, doubt_ms=0)
    clock.step_ms(3_600_000)
    clock.good = False
    time.look()
    assert not time.synchronised
    assert (time.ask(), time.ask()) == (True, False), "and it is still told"
