"""The one queue between the threads of the connections and the loop, and the events in it."""

import threading
import time
from queue import Empty, SimpleQueue
from typing import Generic, Literal, NamedTuple, TypeVar

CROWDED_PAUSE_S = 0.005
LULL_S, LULLS = 0.005, 10  # a burst ends after a pause of LULL_S, or after LULLS times as long

Sender = TypeVar("Sender")


class Message(NamedTuple):
    """One publication as it arrived, with what is needed to acknowledge it."""

    topic: str
    payload: bytes
    qos: int
    mid: int
    dup: bool
    epoch: int
    arrived_ms: int  # since boot
    retain: bool = False  # published before we subscribed, at an unknown time


class Connected(NamedTuple):
    """The broker has our subscriptions; `resumed` says whether it had kept our session."""

    resumed: bool


class Disconnected(NamedTuple):
    """There is no connection: it was lost, the broker refused it, or the broker is unreachable."""

    event: Literal["broker.lost", "broker.refused", "broker.unreachable"]
    reason: str


class Woken(NamedTuple):
    """Nothing arrived; a signal handler wakes the loop."""


class Published(NamedTuple):
    """The broker has acknowledged one of our publications, or with MQTT 5 `refused` it for a reason."""

    mid: int
    refused: str = ""


Event = Message | Connected | Disconnected | Published | Woken


class Inbox(Generic[Sender]):
    """The one queue: the events of every connection, in order; when it is full the network waits.

    The loop holds `turn` while it works, and messages wait for it. Two Python threads that run at the same
    time compete for the interpreter: that costs a third more CPU than taking turns, and neither is faster.
    """

    def __init__(self, max_pending: int = 1_000) -> None:
        self.turn = threading.Lock()
        self._queue: SimpleQueue[tuple[Sender | None, Event]] = SimpleQueue()
        self._max_pending = max_pending
        self._closed = False

    @property
    def crowded(self) -> bool:
        """Whether the network has to wait."""
        return self._queue.qsize() >= self._max_pending

    def wake(self) -> None:
        """Make `receive` return; safe in a signal handler."""
        self._queue.put((None, Woken()))

    def put(self, sender: Sender, event: Event) -> None:
        """Called on a network thread; while it waits here it reads nothing, and the broker queues the rest.

        Only messages wait: paho calls on_publish under a lock that publishing needs.
        """
        if isinstance(event, Message) and not self._closed:
            while self.crowded and not self._closed:
                time.sleep(CROWDED_PAUSE_S)
            with self.turn:
                self._queue.put((sender, event))
        else:
            self._queue.put((sender, event))

    def close(self) -> None:
        """Nothing will be received any more, so that `put` must not wait."""
        self._closed = True

    def receive(self, timeout_s: float, most: int) -> list[tuple[Sender | None, Event]]:
        """The events that have arrived, up to `most`, after waiting up to `timeout_s` for the first."""
        events: list[tuple[Sender | None, Event]] = []
        try:
            events.append(self._queue.get(timeout=max(timeout_s, 0.0)))
            if not isinstance(events[0][1], Connected):
                self._wait_for_lull(most)
            while len(events) < most:
                events.append(self._queue.get_nowait())
        except Empty:
            pass
        return events

    def _wait_for_lull(self, most: int) -> None:
        """Wait for the burst to end.

        A broker that pauses has usually reached its in-flight limit and needs our acknowledgements.
        """
        for _ in range(LULLS):
            before = self._queue.qsize()
            time.sleep(LULL_S)
            if self._queue.qsize() == before or before >= most:
                return
