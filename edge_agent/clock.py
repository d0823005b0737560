"""The gateway's clocks: wall time, time since boot, and whether the wall can be trusted."""

import ctypes
import time
from pathlib import Path

TIME_ERROR = 5  # adjtimex(2): the kernel's clock is not synchronised
TIMEX_BYTES = 512  # struct timex has 208 on 64-bit Linux; modes = 0 in the first word only asks
STEP_MS = 1_000  # NTP slews less than this; more at once is a step


class Clock:
    """Time in milliseconds; `trusted` is for gateways whose clock is right although no NTP says so."""

    def __init__(self, trusted: bool = False) -> None:
        self._trusted = trusted

    def now_ms(self) -> int:
        """Wall time, UTC."""
        return time.time_ns() // 1_000_000

    def elapsed_ms(self) -> int:
        """Time since boot; it goes on through sleep and never steps."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000

    def synchronised(self) -> bool:
        """Whether the kernel says that its clock follows a better one; no if it may not be asked."""
        return self._trusted or 0 <= _adjtimex() < TIME_ERROR

    def boot_id(self) -> str:
        """Which boot elapsed_ms counts from."""
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


class Steps:
    """Notices when wall time jumps against elapsed time.

    >>> steps = Steps(now_ms=5_000, elapsed_ms=0)
    >>> steps.notice(now_ms=6_000, elapsed_ms=1_000)
    0
    >>> steps.notice(now_ms=3_607_000, elapsed_ms=2_000)
    3600000
    """

    def __init__(self, now_ms: int, elapsed_ms: int) -> None:
        self._offset_ms = now_ms - elapsed_ms

    def notice(self, now_ms: int, elapsed_ms: int) -> int:
        """By how much the wall clock has been stepped since last asked; 0 for a mere slew."""
        moved_ms = now_ms - elapsed_ms - self._offset_ms
        self._offset_ms += moved_ms
        return moved_ms if abs(moved_ms) >= STEP_MS else 0


def _adjtimex() -> int:
    buffer = ctypes.create_string_buffer(TIMEX_BYTES)
    return int(ctypes.CDLL(None, use_errno=True).adjtimex(buffer))
