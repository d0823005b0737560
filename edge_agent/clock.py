"""The gateway's clocks: wall time, time since boot, and how far the wall clock can be trusted."""

import ctypes
import os
import time
from pathlib import Path

TIME_ERROR = 5  # adjtimex(2): the kernel's clock is not synchronised
TIMEX_BYTES = 512  # struct timex has 208 on 64-bit Linux; with modes = 0 in the first word it only reads
BOOT_ID = "BOOT_ID"  # variable of the unit; systemd writes the kernel's boot id without dashes
HEX_DIGITS = frozenset("0123456789abcdef")
STEP_MS = 1_000  # NTP slews less than this; more at once is a step


class Clock:
    """Time in milliseconds; `trusted` is for gateways whose clock is right without NTP."""

    def __init__(self, trusted: bool = False) -> None:
        self._trusted = trusted

    def now_ms(self) -> int:
        """Wall time, UTC."""
        return time.time_ns() // 1_000_000

    def elapsed_ms(self) -> int:
        """Time since boot; it counts through sleep and never steps."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000

    def synchronised(self) -> bool:
        """Whether the kernel reports a synchronised clock; False if the kernel refuses to answer."""
        return self._trusted or 0 <= _adjtimex() < TIME_ERROR

    def boot_id(self) -> str:
        """Which boot elapsed_ms counts from; under systemd from the unit, whose /proc has no such file."""
        passed = os.environ.get(BOOT_ID, "")
        if len(passed) == 32 and {*passed} <= HEX_DIGITS:
            return "-".join((passed[:8], passed[8:12], passed[12:16], passed[16:20], passed[20:]))
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


class Steps:
    """Detects jumps of the wall time against the elapsed time.

    >>> steps = Steps(now_ms=5_000, elapsed_ms=0)
    >>> steps.detect(now_ms=6_000, elapsed_ms=1_000)
    0
    >>> steps.detect(now_ms=3_607_000, elapsed_ms=2_000)
    3600000
    """

    def __init__(self, now_ms: int, elapsed_ms: int) -> None:
        self._offset_ms = now_ms - elapsed_ms

    def detect(self, now_ms: int, elapsed_ms: int) -> int:
        """The step of the wall clock since the last call, in ms; 0 for a slew."""
        moved_ms = now_ms - elapsed_ms - self._offset_ms
        self._offset_ms += moved_ms
        return moved_ms if abs(moved_ms) >= STEP_MS else 0


class Timekeeper:
    """The time of one iteration of the loop, read once so that all its parts agree.

    `synchronised` is the kernel's answer. `trusted` says that the wall clock may close windows and reject
    readings from the future. `wall_time_known` says that the clock was synchronised once and not stepped
    since: it may drift, but it can stamp readings.
    """

    def __init__(self, clock: Clock, doubt_ms: int) -> None:
        """The clock is not trusted for `doubt_ms` after a step."""
        self._clock = clock
        self._doubt_ms = doubt_ms
        self._doubt_until_ms = 0
        self.synchronised = self.wall_time_known = self._reported = clock.synchronised()
        self._read()
        self._steps = Steps(self.now_ms, self.elapsed_ms)

    def update(self) -> int:
        """Read the clocks; returns the step of the wall clock in ms, mostly 0."""
        self._read()
        stepped_ms = self._steps.detect(self.now_ms, self.elapsed_ms)
        if stepped_ms:
            self._doubt_until_ms = self.elapsed_ms + self._doubt_ms
            # A clock that was set by hand may be wrong now.
            self.synchronised = self.wall_time_known = self._clock.synchronised()
            self._judge()
        return stepped_ms

    def ask_kernel(self) -> bool:
        """Ask whether the clock is synchronised; True if the answer has changed since the last call."""
        self.synchronised = self._clock.synchronised()
        self.wall_time_known = self.wall_time_known or self.synchronised
        # Read after the answer: synchronisation often comes with a step, which stamps must include.
        self._read()
        before, self._reported = self._reported, self.synchronised
        return before != self._reported

    def _read(self) -> None:
        self.now_ms, self.elapsed_ms = self._clock.now_ms(), self._clock.elapsed_ms()
        self.offset_ms = self.now_ms - self.elapsed_ms
        self._judge()

    def _judge(self) -> None:
        self.trusted = self.synchronised and self.elapsed_ms >= self._doubt_until_ms


class Every:
    """The schedule of a periodic task: due at once, and then once per period.

    >>> every = Every(period_ms=100)
    >>> [every.due(at_ms) for at_ms in (5, 50, 105, 110)]
    [True, False, True, False]
    """

    def __init__(self, period_ms: float) -> None:
        self._period_ms = period_ms
        self._next_ms: float = 0.0

    def due(self, elapsed_ms: int) -> bool:
        """Whether it is time; True starts the next period."""
        if elapsed_ms < self._next_ms:
            return False
        self._next_ms = elapsed_ms + self._period_ms
        return True

    def soon(self) -> None:
        """Make it due."""
        self._next_ms = 0.0


def _adjtimex() -> int:
    buffer = ctypes.create_string_buffer(TIMEX_BYTES)
    return int(ctypes.CDLL(None, use_errno=True).adjtimex(buffer))
