"""Clock-aligned windows of readings, as a pure machine that is told the time."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import fsum

from edge_agent.core.messages import Reading

MINUTE_MS = 60_000
WINDOW_MS = 900_000
IMPOSSIBLE_MS = 86_400_000  # no sensor is a day ahead of a clock that can be trusted
CLOSED_REMEMBERED = 8  # starts of closed windows, none of which may open again
# Measured: 120 to 133 bytes a reading, so 80 MB beside the agent's own 60; the unit's MemoryMax is 200 MB. It
# is enough for two hundred sensors that say three channels every second.
MAX_TOTAL = 600_000


class Outcome(StrEnum):
    """What became of a reading."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"  # same sensor, channel and at_ms: the first one counts
    LATE = "late"  # its window is closed
    FUTURE = "future"  # ahead of a clock that can be trusted
    EXCESS = "excess"  # the channel's window is full, or all windows together: more than can be meant

    __hash__ = str.__hash__  # Enum's own is written in Python, and counts are kept for every reading


@dataclass(frozen=True, slots=True)
class ChannelMean:
    """One channel over one window: the mean of its minutes' means."""

    mean: float
    minutes: int
    readings: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Window:
    """A closed window [start, end) of one sensor; channels that said nothing are absent."""

    sensor: str
    start_ms: int
    end_ms: int
    channels: Mapping[str, ChannelMean]

    @property
    def expected_minutes(self) -> int:
        """How many minutes a full window has."""
        return (self.end_ms - self.start_ms) // MINUTE_MS


@dataclass(slots=True)
class _Sensor:
    """Open windows of one sensor: start -> channel -> at_ms -> value."""

    open: dict[int, dict[str, dict[int, float]]] = field(default_factory=dict)
    horizon_ms: int = 0  # windows that start before this are closed
    arrived_ms: int = 0  # the steady clock when it last said something acceptable
    doomed: frozenset[int] = frozenset()  # open windows of stamps that cannot be true
    closed: tuple[int, ...] = ()  # the last few


class Windows:
    """Open windows of every sensor; time comes in as an argument, never from a clock.

    A window is [start, start + length), aligned to the epoch. It closes when its own sensor's event
    time passes end + grace. It also closes by the wall clock, when that is past end + grace and the
    sensor has been quiet for the patience: so a silent sensor's window closes, and yet a backlog that
    arrives hours late, or a sensor whose clock is slow, is averaged whole. Quiet is told by a second,
    steady clock that never steps, where there is one; without a wall clock to trust, a sensor quiet for
    longer than a window can last is enough.

    >>> windows = Windows(length_ms=900_000, grace_ms=60_000)
    >>> windows.add(Reading("5A2D", "op1", at_ms=60_000, value=231.4), now_ms=61_000)
    <Outcome.ACCEPTED: 'accepted'>
    >>> windows.close(now_ms=959_000)
    []
    >>> [window] = windows.close(now_ms=960_000)
    >>> window.channels["op1"].mean, window.channels["op1"].minutes
    (231.4, 1)
    """

    def __init__(
        self,
        length_ms: int = WINDOW_MS,
        grace_ms: int = 60_000,
        patience_ms: int = 120_000,
        future_ms: int = 300_000,
        max_readings: int = 1_800,
        max_total: int = MAX_TOTAL,
    ) -> None:
        """`max_readings` bounds one channel of one sensor in one window, `max_total` everything we hold."""
        self.length_ms = length_ms
        self.grace_ms = grace_ms
        self.patience_ms = patience_ms
        self.future_ms = future_ms
        self.max_readings = max_readings
        self.max_total = max_total
        self.counts: Counter[Outcome] = Counter()
        self._ripe: set[str] = set()  # sensors whose event time has passed an open window
        self._moved: set[str] = set()  # sensors whose horizon is not what it was when last taken
        self._sensors: dict[str, _Sensor] = {}
        self._total = 0  # readings in open windows

    def __contains__(self, sensor: str) -> bool:
        return sensor in self._sensors

    def __len__(self) -> int:
        return len(self._sensors)

    def add(
        self, reading: Reading, now_ms: int, synchronised: bool = True, steady_ms: int | None = None
    ) -> Outcome:
        """Put a reading in its window; `synchronised` says whether now_ms may judge the future."""
        outcome = self._add(reading, now_ms, synchronised, now_ms if steady_ms is None else steady_ms)
        self.counts[outcome] += 1
        return outcome

    def _add(self, reading: Reading, now_ms: int, synchronised: bool, steady_ms: int) -> Outcome:
        name, channel, at_ms, value = reading
        if synchronised and at_ms > now_ms + self.future_ms:
            return Outcome.FUTURE
        sensor = self._sensors.get(name)
        if sensor is None:
            sensor = self._sensors[name] = _Sensor()
        start_ms = at_ms - at_ms % self.length_ms
        if start_ms < sensor.horizon_ms:
            if synchronised and sensor.horizon_ms > now_ms + IMPOSSIBLE_MS:
                self._come_back(name, sensor, start_ms, now_ms)
            if start_ms < sensor.horizon_ms:
                return Outcome.LATE
        if self._total >= self.max_total:
            self._pass(name, sensor, at_ms)  # it still tells the time: windows close and make room
            return Outcome.EXCESS
        held = sensor.open.setdefault(start_ms, {}).setdefault(channel, {})
        if at_ms in held:
            return Outcome.DUPLICATE
        if len(held) >= self.max_readings:
            return Outcome.EXCESS
        held[at_ms] = value
        self._total += 1
        sensor.arrived_ms = steady_ms
        self._pass(name, sensor, at_ms)
        return Outcome.ACCEPTED

    def _pass(self, name: str, sensor: _Sensor, at_ms: int) -> None:
        """Event time has come so far: windows that ended a grace before it are over."""
        passed_ms = at_ms - self.grace_ms
        horizon_ms = passed_ms - passed_ms % self.length_ms
        if horizon_ms > sensor.horizon_ms:
            sensor.horizon_ms = horizon_ms
            self._ripe.add(name)

    def _come_back(self, name: str, sensor: _Sensor, start_ms: int, now_ms: int) -> None:
        """A stamp from far ahead that no clock could judge must not make a sensor late for good."""
        ends = [each + self.length_ms for each in sensor.closed if each <= now_ms + IMPOSSIBLE_MS]
        sensor.horizon_ms = max([start_ms, *ends])
        sensor.doomed |= {each for each in sensor.open if each > start_ms}
        self._ripe.add(name)
        self._moved.add(name)

    def close(self, now_ms: int | None = None, steady_ms: int | None = None) -> list[Window]:
        """The windows that are due, oldest first within a sensor; by event time alone without a clock."""
        steady_ms = now_ms if steady_ms is None else steady_ms
        names = sorted(self._ripe) if steady_ms is None else list(self._sensors)
        self._ripe.clear()
        return [window for name in names for window in self._due(name, now_ms, steady_ms)]

    def close_all(self) -> list[Window]:
        """Every open window, for the end of a recording."""
        return [
            self._pop(name, sensor, start_ms)
            for name, sensor in self._sensors.items()
            for start_ms in sorted(sensor.open)
        ]

    def next_wake_ms(self) -> int | None:
        """When `close` has something to do although nothing arrives, the two clocks being one."""
        wakes = (self._wake_ms(sensor, min(sensor.open)) for sensor in self._sensors.values() if sensor.open)
        return min(wakes, default=None)

    def resume(self, sensor: str, closed_until_ms: int, closed: Sequence[int] = ()) -> None:
        """Take up after a restart: windows that start before `closed_until_ms` were closed already.

        `closed` are the starts of the last of them, for the case that the former is of an untrue stamp.
        """
        state = self._sensors.setdefault(sensor, _Sensor())
        state.horizon_ms = max(state.horizon_ms, closed_until_ms)
        state.closed = tuple(closed[-CLOSED_REMEMBERED:])

    def take_closed_until(self) -> dict[str, int]:
        """What to `resume` with, of the sensors for which it has changed since last asked.

        Not simply the end of the newest closed window, which may be that of a stamp that cannot be true.
        """
        moved, self._moved = self._moved, set()
        return {name: self._sensors[name].horizon_ms for name in moved}

    def wait(self, steady_ms: int) -> None:
        """Have patience with every sensor from now on: after an outage readings may be on their way."""
        for sensor in self._sensors.values():
            sensor.arrived_ms = max(sensor.arrived_ms, steady_ms)

    def _due(self, name: str, now_ms: int | None, steady_ms: int | None) -> Iterator[Window]:
        sensor = self._sensors[name]
        for start_ms in sorted(sensor.open):
            passed = start_ms < sensor.horizon_ms or start_ms in sensor.doomed
            if passed or self._is_over(sensor, start_ms, now_ms, steady_ms):
                yield self._pop(name, sensor, start_ms)

    def _is_over(self, sensor: _Sensor, start_ms: int, now_ms: int | None, steady_ms: int | None) -> bool:
        """Whether the clocks say so, of a window that event time has not passed."""
        if steady_ms is None:
            return False
        quiet_ms = steady_ms - sensor.arrived_ms
        if now_ms is not None and now_ms >= start_ms + self.length_ms + self.grace_ms:
            return quiet_ms >= self.patience_ms
        return quiet_ms >= self.length_ms + self.grace_ms + self.patience_ms

    def _wake_ms(self, sensor: _Sensor, start_ms: int) -> int:
        return max(start_ms + self.length_ms + self.grace_ms, sensor.arrived_ms + self.patience_ms)

    def _pop(self, name: str, sensor: _Sensor, start_ms: int) -> Window:
        channels = sensor.open.pop(start_ms)
        self._total -= sum(map(len, channels.values()))
        end_ms = start_ms + self.length_ms
        if start_ms in sensor.doomed:
            sensor.doomed -= {start_ms}
        else:
            sensor.horizon_ms = max(sensor.horizon_ms, end_ms)
        self._moved.add(name)
        sensor.closed = (*sensor.closed, start_ms)[-CLOSED_REMEMBERED:]
        means = {channel: average(held) for channel, held in sorted(channels.items())}
        return Window(name, start_ms, end_ms, means)


def average(held: Mapping[int, float]) -> ChannelMean:
    """The mean of the minutes' means of {at_ms: value}, the same bits whatever the order of arrival.

    A burst does not outweigh a minute:

    >>> average({0: 1.0, 1: 1.0, 2: 1.0, 60_000: 3.0}).mean
    2.0
    """
    by_minute: dict[int, list[float]] = {}
    for at_ms, value in held.items():
        by_minute.setdefault(at_ms // MINUTE_MS, []).append(value)
    minutes = [fsum(values) / len(values) for values in by_minute.values()]
    values = held.values()
    return ChannelMean(fsum(minutes) / len(minutes), len(minutes), len(held), min(values), max(values))
