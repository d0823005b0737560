"""From messages to readings: decoded, stamped, admitted, and counted whatever becomes of them."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from edge_agent.core.errors import BadReading
from edge_agent.core.messages import UNSTAMPED, Decoder, Reading
from edge_agent.journal import Trace
from edge_agent.mqtt import Message

BURST_MS = 1_000  # stamps are kept apart within this; further back, the clock was stepped
REMEMBERED = 2_000  # deliveries that may come again: more than any broker keeps in flight


class Taken(NamedTuple):
    """The readings of one message; `traces` tell unstamped ones apart when they are delivered again."""

    readings: list[Reading]
    traces: list[Trace]
    own_stamp: bool


class Intake:
    """Decides what enters; a stamp that a reading lacks is its arrival on the clock that never steps."""

    def __init__(self, decoder: Decoder, admits: Callable[[str], bool]) -> None:
        self.counts: Counter[str] = Counter()
        self._decoder = decoder
        self._admits = admits
        self._traces: dict[Trace, None] = {}
        self._stamped_ms: dict[tuple[str, str], int] = {}

    def take(self, message: Message, offset_ms: int) -> Taken:
        """The readings of a message; `offset_ms` leads from its arrival to the time to stamp it with."""
        try:
            readings = self._decoder.decode(message.topic, message.payload)
        except BadReading:
            self.counts["rejected"] += 1
            raise
        if not self._admits(readings[0].sensor):
            self.counts["refused"] += 1
            raise BadReading(
                f"{message.topic}: too many sensors, {readings[0].sensor} is not admitted; see max_sensors"
            )
        if readings[0].at_ms != UNSTAMPED:
            return Taken(readings, [], own_stamp=True)
        return self._stamp(message, readings, offset_ms)

    def remember(self, traces: list[Trace]) -> None:
        """Note deliveries, here or before a restart, that may come again."""
        for trace in traces:
            self._traces[trace] = None
        while len(self._traces) > REMEMBERED:
            del self._traces[next(iter(self._traces))]

    def _stamp(self, message: Message, readings: list[Reading], offset_ms: int) -> Taken:
        """A redelivery of an unstamped reading would get another stamp, so it is known by its packet.

        A retained one comes anew with every connection, whenever it was said.
        """
        traces = [(message.mid, reading.sensor, reading.channel, reading.value) for reading in readings]
        if message.retain or (message.dup and traces[0] in self._traces):
            self.counts["duplicate"] += len(readings)
            return Taken([], [], own_stamp=False)
        stamped = [self._stamp_one(reading, message.arrived_ms + offset_ms) for reading in readings]
        if not message.qos:
            return Taken(stamped, [], own_stamp=False)
        self.remember(traces)
        return Taken(stamped, traces, own_stamp=False)

    def _stamp_one(self, reading: Reading, at_ms: int) -> Reading:
        """A burst arrives within one millisecond; each reading of a channel still gets its own stamp."""
        source = reading.sensor, reading.channel
        last_ms = self._stamped_ms.get(source, -BURST_MS)
        if 0 <= last_ms - at_ms < BURST_MS:
            at_ms = last_ms + 1
        self._stamped_ms[source] = at_ms
        return reading._replace(at_ms=at_ms)
