"""Windows of readings, aligned to the clock; time comes in as an argument."""

from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import fsum
from typing import NamedTuple

from edge_agent.core.messages import Reading

MINUTE_MS = 60_000
WINDOW_MS = 900_000
COVERAGE = 0.75  # of the expected minutes: the data capture rule of EU 2008/50/EC and US EPA
IMPLAUSIBLE_MS = 86_400_000  # no sensor is a day ahead of a clock that can be trusted
CLOSED_REMEMBERED = 96  # starts of closed windows, a day of them, which must not open again
BACKLOG_MS = 600_000  # after an outage, old readings of one sensor announce those of others for so long
# Measured: 120 to 133 bytes a reading, so 106 MB beside the agent's own 60; the unit's MemoryMax is 200 MB.
# Two hundred sensors that send three channels every second need MAX_TOTAL. Sensors without a bundle have
# room of their own, so that invented names take none from the others.
MAX_TOTAL, MAX_UNSERVED = 600_000, 200_000


class Outcome(StrEnum):
    """What happened to a reading."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"  # same sensor, channel and at_ms as another: the first one counts
    TOO_LATE = "too_late"  # its window is closed, and it changes nothing
    REVISING = "revising"  # its window is closed, and a revision will have it
    FUTURE = "future"  # ahead of a clock that can be trusted
    EXCESS = "excess"  # its channel has max_readings in this window, or there is no room in all windows

    __hash__ = str.__hash__  # Enum's own is slow Python, and every reading is counted


class ChannelMean(NamedTuple):
    """One channel over one window: the mean of its minutes' means."""

    mean: float
    minutes: int
    readings: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Window:
    """A closed window [start, end) of one sensor; channels without a reading are absent."""

    sensor: str
    start_ms: int
    end_ms: int
    channels: Mapping[str, ChannelMean]


@dataclass(slots=True)
class _Sensor:
    """Open windows of one sensor: start -> channel -> at_ms -> value."""

    open: dict[int, dict[str, dict[int, float]]] = field(default_factory=dict)
    horizon_ms: int = 0  # windows that start before this are closed
    arrived_ms: int = 0  # the steady clock when a reading was last accepted
    implausible: frozenset[int] = frozenset()  # starts of open windows with implausible timestamps
    readings: int = 0  # in open windows
    served: bool = False  # whether its readings are counted with those of sensors with a bundle
    closed: "array[int]" = field(default_factory=lambda: array("q"))  # starts of the last day's
    closed_ahead: frozenset[int] = frozenset()  # those beyond the horizon, from implausible timestamps

    def note_closed_ahead(self) -> None:
        """After the horizon has moved back: windows beyond it that are closed must not open again."""
        known = self.closed_ahead.union(self.closed)
        self.closed_ahead = frozenset(start_ms for start_ms in known if start_ms >= self.horizon_ms)


class Windows:
    """Open windows of every sensor; time comes in as an argument, never from a clock.

    A window is [start, start + length), aligned to the epoch. It closes when the event time of its own
    sensor passes end + grace. It also closes when the wall clock is past end + grace and the sensor has
    been quiet for the patience. So the window of a silent sensor closes, but a backlog that arrives hours
    late, or a sensor whose clock is slow, still gives complete windows. A second clock that never steps,
    the steady one, measures the quiet. Without a wall clock to trust, a window closes when the sensor has
    been quiet for length + grace + patience.

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
        max_readings: int | None = None,
        max_total: int = MAX_TOTAL,
        served: Container[str] | None = None,
        max_unserved: int = MAX_UNSERVED,
    ) -> None:
        """`max_readings` limits one channel in one window; by default two a second.

        `max_total` limits the open windows of the sensors in `served` (None: of all), which may change;
        `max_unserved` limits those of all other sensors.
        """
        self.length_ms = length_ms
        self.grace_ms = grace_ms
        self.patience_ms = patience_ms
        self.future_ms = future_ms
        self.max_readings = max_readings or length_ms // 500
        self._served = served
        self._most = {True: max_total, False: max_unserved}
        self._totals = {True: 0, False: 0}  # readings in open windows, of served and of other sensors
        self._ripe: set[str] = set()  # sensors whose event time has passed an open window
        self._moved: set[str] = set()  # sensors whose horizon has changed since it was last taken
        self._sensors: dict[str, _Sensor] = {}
        self._waited_ms = self._backlog_until_ms = 0  # on the steady clock, see `wait`

    def __contains__(self, sensor: str) -> bool:
        return sensor in self._sensors

    def __len__(self) -> int:
        return len(self._sensors)

    def add(
        self, reading: Reading, now_ms: int, trusted: bool = True, steady_ms: int | None = None
    ) -> Outcome:
        """Put a reading in its window; `trusted` says whether now_ms may reject the future."""
        name, channel, at_ms, value = reading
        if trusted and at_ms > now_ms + self.future_ms:
            return Outcome.FUTURE
        sensor = self._sensors.get(name)
        if sensor is None:
            sensor = self._sensors[name] = _Sensor()
        start_ms = at_ms - at_ms % self.length_ms
        if start_ms < sensor.horizon_ms and trusted and sensor.horizon_ms > now_ms + IMPLAUSIBLE_MS:
            self._rewind_horizon(name, sensor, start_ms, now_ms)
        if start_ms < sensor.horizon_ms or start_ms in sensor.closed_ahead:
            return Outcome.TOO_LATE
        served = self._served is None or name in self._served
        if served is not sensor.served:
            self._recount(sensor, served)
        if self._totals[served] >= self._most[served]:
            # Its timestamp still counts: windows close and make room.
            self._advance_horizon(name, sensor, at_ms)
            return Outcome.EXCESS
        values = sensor.open.setdefault(start_ms, {}).setdefault(channel, {})
        if at_ms in values:
            return Outcome.DUPLICATE
        if len(values) >= self.max_readings:
            return Outcome.EXCESS
        values[at_ms] = value
        sensor.readings += 1
        self._totals[served] += 1
        sensor.arrived_ms = now_ms if steady_ms is None else steady_ms
        if at_ms < now_ms - self.grace_ms and sensor.arrived_ms < self._backlog_until_ms:
            self._waited_ms = sensor.arrived_ms
        self._advance_horizon(name, sensor, at_ms)
        return Outcome.ACCEPTED

    def _recount(self, sensor: _Sensor, served: bool) -> None:
        """Its bundle came or went, or this is its first reading."""
        self._totals[sensor.served] -= sensor.readings
        self._totals[served] += sensor.readings
        sensor.served = served

    def _advance_horizon(self, name: str, sensor: _Sensor, at_ms: int) -> None:
        """Windows that ended a grace before this event time are due."""
        passed_ms = at_ms - self.grace_ms
        horizon_ms = passed_ms - passed_ms % self.length_ms
        if horizon_ms > sensor.horizon_ms:
            sensor.horizon_ms = horizon_ms
            self._ripe.add(name)
            self._moved.add(name)

    def _rewind_horizon(self, name: str, sensor: _Sensor, start_ms: int, now_ms: int) -> None:
        """Undo a timestamp far in the future, accepted without a clock: the sensor must not stay late."""
        ends = [each + self.length_ms for each in sensor.closed if each <= now_ms + IMPLAUSIBLE_MS]
        sensor.horizon_ms = max([start_ms, *ends])
        sensor.implausible |= {each for each in sensor.open if each > start_ms}
        sensor.note_closed_ahead()
        self._ripe.add(name)
        self._moved.add(name)

    def close(self, now_ms: int | None = None, steady_ms: int | None = None) -> list[Window]:
        """The windows that are due, oldest first within a sensor; without a clock by event time alone."""
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

    def resume(self, sensor: str, closed_until_ms: int, closed: Sequence[int] = ()) -> None:
        """Continue after a restart: windows that start before `closed_until_ms` are closed already.

        `closed` are the starts of the last of them. They are needed where `closed_until_ms` comes from an
        implausible timestamp.
        """
        state = self._sensors.setdefault(sensor, _Sensor())
        state.horizon_ms = max(state.horizon_ms, closed_until_ms)
        state.closed = array("q", closed[-CLOSED_REMEMBERED:])
        state.note_closed_ahead()

    def note_closed(self, sensor: str, starts_ms: Iterable[int]) -> None:
        """Windows that a revision estimates; some had no reading in time, and never closed here."""
        state = self._sensors.setdefault(sensor, _Sensor())
        state.closed = array("q", sorted({*state.closed, *starts_ms})[-CLOSED_REMEMBERED:])

    def closed_until(self, sensor: str) -> int:
        """The start of a sensor's first window that is open or can open."""
        state = self._sensors[sensor]
        return min([state.horizon_ms, *state.open])

    def take_closed_until(self) -> dict[str, int]:
        """{sensor: closed_until_ms} for `resume`, of the sensors where it changed since the last call.

        It is not always the end of the newest closed window: that may have an implausible timestamp.
        """
        moved, self._moved = self._moved, set()
        return {name: self._sensors[name].horizon_ms for name in moved}

    def wait(self, steady_ms: int) -> None:
        """Start the patience of every sensor anew: after an outage readings may still arrive.

        So does every old reading for the next BACKLOG_MS, because a broker may hand over the readings of one
        sensor before those of another. Not for ever: the clock of a sensor may be slow.
        """
        self._waited_ms, self._backlog_until_ms = steady_ms, steady_ms + BACKLOG_MS

    def _due(self, name: str, now_ms: int | None, steady_ms: int | None) -> Iterator[Window]:
        sensor = self._sensors[name]
        for start_ms in sorted(sensor.open):
            passed = start_ms < sensor.horizon_ms or start_ms in sensor.implausible
            if passed or self._is_over(sensor, start_ms, now_ms, steady_ms):
                yield self._pop(name, sensor, start_ms)

    def _is_over(self, sensor: _Sensor, start_ms: int, now_ms: int | None, steady_ms: int | None) -> bool:
        """Whether the clocks close a window that event time has not passed."""
        if steady_ms is None:
            return False
        quiet_ms = steady_ms - max(sensor.arrived_ms, self._waited_ms)
        if now_ms is not None and now_ms >= start_ms + self.length_ms + self.grace_ms:
            return quiet_ms >= self.patience_ms
        return quiet_ms >= self.length_ms + self.grace_ms + self.patience_ms

    def _pop(self, name: str, sensor: _Sensor, start_ms: int) -> Window:
        channels = sensor.open.pop(start_ms)
        closed = sum(map(len, channels.values()))
        sensor.readings -= closed
        self._totals[sensor.served] -= closed
        end_ms = start_ms + self.length_ms
        if start_ms in sensor.implausible:
            sensor.implausible -= {start_ms}
            sensor.closed_ahead |= {start_ms}
        else:
            sensor.horizon_ms = max(sensor.horizon_ms, end_ms)
        self._moved.add(name)
        sensor.closed.append(start_ms)
        del sensor.closed[:-CLOSED_REMEMBERED]
        return Window(name, start_ms, end_ms, _means(channels))


def window_of(
    sensor: str, start_ms: int, end_ms: int, readings: Iterable[Reading], max_readings: int
) -> Window:
    """A window from its readings in the order they came, as `Windows` would have closed it."""
    channels: dict[str, dict[int, float]] = {}
    for _, channel, at_ms, value in readings:
        values = channels.setdefault(channel, {})
        if len(values) < max_readings:
            values.setdefault(at_ms, value)
    return Window(sensor, start_ms, end_ms, _means(channels))


def _means(channels: Mapping[str, Mapping[int, float]]) -> dict[str, ChannelMean]:
    return {channel: average(values) for channel, values in sorted(channels.items())}


def average(values: Mapping[int, float]) -> ChannelMean:
    """The mean of the minutes' means of {at_ms: value}, the same bits in any order of arrival.

    A burst does not outweigh a minute:

    >>> average({0: 1.0, 1: 1.0, 2: 1.0, 60_000: 3.0}).mean
    2.0
    """
    by_minute: dict[int, list[float]] = {}
    for at_ms, value in values.items():
        by_minute.setdefault(at_ms // MINUTE_MS, []).append(value)
    minutes = [fsum(each) / len(each) for each in by_minute.values()]
    low, high = min(values.values()), max(values.values())
    return ChannelMean(fsum(minutes) / len(minutes), len(minutes), len(values), low, high)
