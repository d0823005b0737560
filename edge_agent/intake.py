"""From messages to readings in windows: decoded, admitted, stamped, and every one counted."""

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from math import nan
from typing import Any, NamedTuple

from edge_agent.change import Trace
from edge_agent.clock import Timekeeper
from edge_agent.core.card import valid_until
from edge_agent.core.errors import BadReading
from edge_agent.core.messages import UNSTAMPED, Decoder, Reading, format_time
from edge_agent.core.model import Model
from edge_agent.core.reference import REFERENCE
from edge_agent.core.windows import CLOSED_REMEMBERED, MINUTE_MS, Outcome, Windows
from edge_agent.inbox import Message
from edge_agent.journal import Journal
from edge_agent.revising import Revising

BURST_MS = 1_000  # stamps are kept apart within this; further back, the clock was stepped
REMEMBERED = 2_000  # deliveries that may be repeated: more than any broker keeps in flight
STUCK_REPEATS = 15  # no working electrode repeats a value to the last digit so often
NEVER = (0, nan, 0)  # when a channel was heard, its value and how often that came
COUNTED = (*Outcome, "rejected", "refused", "unstampable", "dropped")


class Decoded(NamedTuple):
    """The readings of one message; `traces` identify unstamped ones when they are delivered again."""

    readings: list[Reading]
    traces: list[Trace]
    own_stamp: bool


@dataclass(frozen=True, slots=True)
class Taken:
    """What windows accepted, what they did not, and what to hold until the wall time is known."""

    accepted: list[Reading] = field(default_factory=list)
    others: list[tuple[Outcome, Reading]] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    held: list[Reading] = field(default_factory=list)
    rejected: list[tuple[str, str]] = field(default_factory=list)  # messages: the kind and the reason

    def late(self, outcome: Outcome) -> list[Reading]:
        """The readings with this outcome, of those that windows did not accept."""
        return [reading for each, reading in self.others if each is outcome]


class Heard:
    """When each channel of each sensor last sent a reading, and how often it has repeated the value."""

    def __init__(self) -> None:
        self._channels: dict[str, dict[str, tuple[int, float, int]]] = {}  # when, value, repeats
        self._last_at_ms: dict[str, int] = {}

    def note(self, readings: Iterable[Reading], elapsed_ms: int, stamped: bool = True) -> None:
        """Readings have arrived, at `elapsed_ms` since boot; `stamped` if their own time is known."""
        for sensor, channel, at_ms, value in readings:
            channels = self._channels.setdefault(sensor, {})
            _, before, repeats = channels.get(channel, NEVER)
            channels[channel] = elapsed_ms, value, repeats + 1 if value == before else 1
            if stamped:
                self._last_at_ms[sensor] = at_ms

    def sensors(self) -> list[str]:
        """Every sensor that has sent a reading."""
        return list(self._channels)

    def describe(self, sensor: str, model: Model | None, silent_since_ms: int) -> dict[str, Any]:
        """One sensor's part of the health record."""
        channels = self._channels.get(sensor, {})
        cadence_minutes = model.cadence_minutes if model else {}
        expected = {*channels, *((*model.measured, model.auxiliary) if model else ())}
        last_at_ms = self._last_at_ms.get(sensor)
        return {
            "model": model.id if model else None,
            "valid_until": valid_until(model),
            "last_reading": None if last_at_ms is None else format_time(last_at_ms),
            "silent": sorted(
                name
                for name in expected
                if name not in channels
                or channels[name][0] < silent_since_ms - (cadence_minutes.get(name, 1) - 1) * MINUTE_MS
            ),
            "stuck": sorted(
                name
                for name, (_, _, repeats) in channels.items()
                if repeats >= STUCK_REPEATS and name != (model.auxiliary if model else "temperature")
            ),
        }


class Intake:
    """Decides what enters, and owns the counts; a reading without a timestamp gets its arrival time."""

    def __init__(
        self,
        decoder: Decoder,
        windows: Windows,
        models: Container[str],
        max_sensors: int,
        revising: Revising | None = None,
    ) -> None:
        """Sensors in `models` are always admitted, and `max_sensors` others."""
        self._revising = revising
        self.heard = Heard()
        self._counts: Counter[str] = Counter()
        self._decoder = decoder
        self._windows = windows
        self._models = models
        self._max_sensors = max_sensors
        self._admitted: set[str] = set()
        self._traces: dict[Trace, None] = {}
        self._stamped_ms: dict[tuple[str, str], int] = {}

    @property
    def counts(self) -> dict[str, int]:
        """What happened to readings since the start; refused are messages of sensors beyond the limit."""
        return {str(kind): self._counts[kind] for kind in COUNTED}

    @property
    def sensors(self) -> int:
        """How many sensors have windows."""
        return len(self._windows)

    def restore(self, journal: Journal, boot: str, time: Timekeeper) -> tuple[int, list[Reading], int]:
        """Rebuild open windows from the journal; returns how many readings, those held, and how many lost."""
        for sensor, closed_until_ms in journal.closed_until().items():
            closed = journal.last_closed(sensor, CLOSED_REMEMBERED)
            self._windows.resume(sensor, closed_until_ms, closed)
        restored = 0
        for readings, traces in journal.rebuild():
            self.remember(traces)
            self._admitted.update(reading.sensor for reading in readings)
            for reading in readings:
                outcome = self._windows.add(reading, time.now_ms, trusted=False, steady_ms=time.elapsed_ms)
                restored += outcome is Outcome.ACCEPTED
        held, traces, lost = journal.held(boot)
        self.remember(traces)
        self.count("unstampable", lost)
        return restored, held, lost

    def take(self, messages: Iterable[Message], time: Timekeeper) -> Taken:
        """Put the readings of messages in their windows, unless they need a wall time that is unknown."""
        taken, known = Taken(), time.wall_time_known
        stamped: list[Reading] = []
        for message in messages:
            try:
                readings, traces, own_stamp = self.decode(message, time.offset_ms if known else 0)
            except BadReading as error:
                taken.rejected.append((error.kind, str(error)))
                continue
            self.heard.note(readings, time.elapsed_ms, own_stamp or known)
            taken.traces.extend(traces)
            (stamped if own_stamp or known else taken.held).extend(readings)
        self._feed(stamped, time, taken)
        return taken

    def _feed(self, readings: Iterable[Reading], time: Timekeeper, taken: Taken) -> None:
        """Put readings in their windows."""
        add, now_ms, trusted, elapsed_ms = self._windows.add, time.now_ms, time.trusted, time.elapsed_ms
        for reading in readings:
            outcome = add(reading, now_ms, trusted, elapsed_ms)
            if outcome is Outcome.ACCEPTED:
                taken.accepted.append(reading)
                continue
            if outcome is Outcome.TOO_LATE and self._revising and self._revising.admits(reading, time):
                outcome = Outcome.REVISING
            self.count(outcome, 1)
            taken.others.append((outcome, reading))
        self.count(Outcome.ACCEPTED, len(taken.accepted))

    def feed_held(self, readings: Iterable[Reading], time: Timekeeper) -> Taken:
        """Put readings in their windows that waited for the clock, now stamped.

        Their messages may be delivered again. The journal deletes held readings with their traces, so these
        go into the batch with the stamped ones.
        """
        taken = Taken(traces=list(self._traces))
        self._feed(readings, time, taken)
        return taken

    def count(self, kind: str, readings: int) -> None:
        """Count readings that reach no window, or no revision."""
        self._counts[kind] += readings

    def decode(self, message: Message, offset_ms: int) -> Decoded:
        """The readings of a message; one without a timestamp gets its arrival plus `offset_ms`."""
        try:
            readings = self._decoder.decode(message.topic, message.payload)
            if readings[0].sensor == REFERENCE:
                text = f"{message.topic}: expected another name of a sensor than {REFERENCE}"
                raise BadReading(text, "sensor")
        except BadReading:
            self.count("rejected", 1)
            raise
        sensor = readings[0].sensor
        if not self._admits(sensor):
            self.count("refused", 1)
            text = f"{message.topic}: too many sensors, {sensor} is not admitted; see max_sensors"
            raise BadReading(text, "refused")
        if readings[0].at_ms != UNSTAMPED:
            return Decoded(readings, [], own_stamp=True)
        return self._stamp(message, readings, offset_ms)

    def remember(self, traces: list[Trace]) -> None:
        """Note deliveries, of now or of before a restart, that may be repeated."""
        for trace in traces:
            self._traces[trace] = None
        while len(self._traces) > REMEMBERED:
            del self._traces[next(iter(self._traces))]

    def _admits(self, sensor: str) -> bool:
        if sensor in self._admitted or sensor in self._models:
            return True
        if len(self._admitted) >= self._max_sensors:
            return False
        self._admitted.add(sensor)
        return True

    def _stamp(self, message: Message, readings: list[Reading], offset_ms: int) -> Decoded:
        """A repeated delivery would get another stamp, so its packet and value identify it.

        A retained message comes again with every connection, and its time is unknown.
        """
        traces = [(message.mid, reading.sensor, reading.channel, reading.value) for reading in readings]
        if message.retain or (message.dup and traces[0] in self._traces):
            self.count(Outcome.DUPLICATE, len(readings))
            return Decoded([], [], own_stamp=False)
        stamped = [self._stamp_one(reading, message.arrived_ms + offset_ms) for reading in readings]
        if not message.qos:
            return Decoded(stamped, [], own_stamp=False)
        self.remember(traces)
        return Decoded(stamped, traces, own_stamp=False)

    def _stamp_one(self, reading: Reading, at_ms: int) -> Reading:
        """A burst arrives within one millisecond; each reading of a channel still gets its own stamp."""
        source = reading.sensor, reading.channel
        last_ms = self._stamped_ms.get(source, -BURST_MS)
        if 0 <= last_ms - at_ms < BURST_MS:
            at_ms = last_ms + 1
        self._stamped_ms[source] = at_ms
        return reading._replace(at_ms=at_ms)
