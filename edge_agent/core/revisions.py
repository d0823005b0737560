"""When closed windows are revised: late readings wait until no more come, and then change all at once."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from edge_agent.core.messages import LAST_MS
from edge_agent.core.windows import IMPLAUSIBLE_MS

MOST = 8  # revisions of one window; the waits of `_rest_ms` keep to it
LONGEST_WAIT = 8  # late readings that never pause wait for this part of the time until a window is final


class Due(NamedTuple):
    """The windows of one sensor to revise now."""

    sensor: str
    starts_ms: list[int]


@dataclass(slots=True)
class _Late:
    """Late readings of one window that no revision has yet."""

    last_ms: int = 0  # the steady clock when the last one came


@dataclass(slots=True)
class _Sensor:
    waiting: dict[int, _Late] = field(default_factory=dict)  # by the window's start
    since_ms: int = 0  # the steady clock when the first of them came
    counts: dict[int, Counter[str]] = field(default_factory=dict)  # of every late reading, by start
    revised: dict[int, int] = field(default_factory=dict)  # start -> revision, where it is not 0
    revised_ms: int = 0  # the wall clock of the last revision


class Revisions:
    """The late readings of every sensor, by window; time comes in as an argument, never from a clock.

    Late readings wait until none has come for `revise_after_ms`. The windows of a sensor are then revised
    together, because a temperature changes the warming of later windows. The wait before the next time grows
    with the number of revisions, so that no window has more than MOST.

    >>> revisions = Revisions(length_ms=900_000, revise_after_ms=600_000, final_ms=86_400_000)
    >>> revisions.note("5A2D", 0, "op1", steady_ms=5_000)
    True
    >>> revisions.due(now_ms=2_000_000, steady_ms=604_000)
    >>> revisions.due(now_ms=2_001_000, steady_ms=605_000)
    Due(sensor='5A2D', starts_ms=[0])
    """

    def __init__(
        self, length_ms: int, revise_after_ms: int, final_ms: int, max_readings: int = 1_800
    ) -> None:
        """A window is final `final_ms` after its end; `max_readings` limits one channel in one window."""
        self._most_windows = final_ms // length_ms + 2
        self._length_ms = length_ms
        self._revise_after_ms = revise_after_ms
        self._final_ms = final_ms
        self._max_readings = max_readings
        self._sensors: dict[str, _Sensor] = {}

    def is_final(self, start_ms: int, now_ms: int) -> bool:
        """Whether a window is so old that readings change it no more."""
        return start_ms + self._length_ms + self._final_ms <= now_ms

    @property
    def any_wait(self) -> bool:
        """Whether any late reading waits."""
        return any(sensor.waiting for sensor in self._sensors.values())

    def waits(self, sensor: str, start_ms: int) -> bool:
        """Whether a window has late readings that no revision has yet."""
        return sensor in self._sensors and start_ms in self._sensors[sensor].waiting

    def note(self, sensor: str, start_ms: int, channel: str, steady_ms: int) -> bool:
        """A late reading of a window that is not final; False if there is no room for it."""
        state = self._sensors.setdefault(sensor, _Sensor())
        if start_ms not in state.waiting and len(state.waiting) >= self._most_windows:
            return False
        counts = state.counts.setdefault(start_ms, Counter())
        if len(state.counts) > 2 * self._most_windows:
            del state.counts[min(state.counts)]
        counts[channel] += 1
        if counts[channel] > self._max_readings:
            return False
        state.since_ms = state.since_ms if state.waiting else steady_ms
        state.waiting.setdefault(start_ms, _Late()).last_ms = steady_ms
        return True

    def resume(self, sensor: str, revised: Mapping[int, int], revised_ms: int) -> None:
        """Windows were revised, now or before a restart: start -> revision."""
        state = self._sensors.setdefault(sensor, _Sensor())
        state.revised_ms = max(state.revised_ms, revised_ms)
        known = {**state.revised, **revised}
        oldest_ms = state.revised_ms - 3 * self._final_ms
        state.revised = {start_ms: number for start_ms, number in known.items() if start_ms > oldest_ms}

    def settle(self, sensor: str, starts_ms: Iterable[int], steady_ms: int) -> None:
        """The late readings of these windows wait no more, if they came before `steady_ms`."""
        waiting = self._sensors[sensor].waiting
        for start_ms in starts_ms:
            if start_ms in waiting and waiting[start_ms].last_ms < steady_ms:
                del waiting[start_ms]

    def due(
        self, now_ms: int, steady_ms: int, closed_until: Mapping[str, int] = MappingProxyType({})
    ) -> Due | None:
        """The windows of the next sensor that are due.

        `closed_until` has the start of the first window of each sensor that is not closed. After a time from
        far ahead a window can open again, and its late readings wait until it is closed.
        """
        for name, sensor in self._sensors.items():
            open_ = range(closed_until.get(name, LAST_MS), now_ms + IMPLAUSIBLE_MS)
            quiet = sorted(
                start_ms
                for start_ms, late in sensor.waiting.items()
                if steady_ms - late.last_ms >= self._revise_after_ms and start_ms not in open_
            )
            waited_ms = steady_ms - sensor.since_ms
            paused = len(quiet) == len(sensor.waiting) or waited_ms >= self._final_ms // LONGEST_WAIT
            if quiet and paused and abs(now_ms - sensor.revised_ms) >= self._rest_ms(sensor, quiet[0]):
                return Due(name, quiet)
        return None

    def _rest_ms(self, sensor: _Sensor, from_ms: int) -> int:
        """How long a sensor rests after its last revisions, of which windows from `from_ms` on have some.

        A 64th of the time until a window is final after the first revision, twice as long after the second,
        and so on: six rests are as long as that time, and so is each that follows.
        """
        number = max((number for start, number in sensor.revised.items() if start >= from_ms), default=0)
        return self._final_ms >> max(0, MOST - 1 - number) if number else 0
