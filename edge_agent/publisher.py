"""What the agent publishes: queued estimates, the newest retained, cards, health."""

import json
from collections.abc import Callable, Iterable, Sequence

from edge_agent.change import Outgoing
from edge_agent.core.card import card
from edge_agent.core.derived import SEPARATOR
from edge_agent.core.model import Model
from edge_agent.core.model_changes import ModelChanges
from edge_agent.core.topics import OwnTopics
from edge_agent.journal import Journal
from edge_agent.mqtt import Connection

IN_FLIGHT = 20  # estimates sent and not acknowledged; paho sends as many at once
HEALTH_IN_FLIGHT = 10  # records; while readings flood in, acknowledgements come late
RETAINED_AT_ONCE = 10  # cards and newest estimates in one iteration, so that 200 sensors make no burst

Retain = Callable[[str, bytes], None]  # publishes a retained message on a topic; an empty one removes it


class Publisher:
    """Publishes through one connection; an estimate stays queued until the broker has acknowledged it."""

    def __init__(
        self, connection: Connection, topics: OwnTopics, journal: Journal, changes: ModelChanges
    ) -> None:
        self._connection = connection
        self._topics = topics
        self._journal = journal
        self._changes = changes
        self._sent: dict[int, int] = {}  # paho's number -> the estimate's
        self._beside: dict[int, tuple[str, bytes]] = {}  # other messages that paho has, by its number
        self._after = 0  # estimates up to this number were sent
        self._refused_from: int | None = None  # the first estimate that the broker refused on this connection
        self._backlog = True  # whether the outbox may have estimates behind `_after`
        # By sensor: the start of the last window, and the number of its newest estimate.
        self._newest = {each.sensor: (each.start_ms, each.id) for each in journal.outbox.newest()}
        self._cards: dict[str, Model | None] = {}  # by sensor, to be published; None to be removed
        self._latest: dict[str, Outgoing] = {}  # by sensor, to be published again
        self._kept: dict[str, bytes] = {}  # other retained messages, by topic; empty ones are to be removed
        self._due: dict[str, bytes] = {}  # those of them to be published

    @property
    def in_flight(self) -> int:
        """How many estimates are sent and not acknowledged."""
        return len(self._sent)

    def republish(self, models: Iterable[Model]) -> None:
        """After a connection: publish the status, the newest estimates and every model's card again.

        A bundle may have been removed while there was no connection, so the cards of all other sensors with
        estimates are removed; where there is none that costs a few bytes.
        """
        self._publish(self._topics.status, b"online", retain=True)
        self._latest = {estimate.sensor: estimate for estimate in self._journal.outbox.newest()}
        cards = {model.sensor: model for model in models}
        self._cards = {**dict.fromkeys((*self._latest, *self._cards)), **cards}
        self._due |= self._kept
        self._backlog = True
        if self._refused_from is not None:
            self._after, self._refused_from = self._refused_from - 1, None

    def publish_card(self, model: Model) -> None:
        """Publish a model's card with the next flush."""
        self._cards[model.sensor] = model

    def remove_card(self, sensor: str) -> None:
        """Remove the card of a sensor without a model with the next flush."""
        self._cards[sensor] = None

    def retain(self, topic: str, payload: bytes) -> None:
        """Publish a retained message with the next flush and after each connection; empty removes it."""
        if self._kept.get(topic) != payload:
            self._kept[topic] = self._due[topic] = payload

    def publish_health(self, health: str) -> None:
        """Publish the retained health record, unless the broker has not acknowledged the last ones."""
        sent = sum(topic == self._topics.health for topic, _ in self._beside.values())
        if sent < HEALTH_IN_FLIGHT:
            self._publish(self._topics.health, health.encode(), retain=True)

    def settle(self, mid: int, refused: bool = False) -> list[int]:
        """The broker has answered a publication; returns the estimate that is delivered, if it was one.

        A refused estimate stays queued. It is retried on the next connection: fixing an ACL means a restart
        anyway, and retrying at once would flood the broker.
        """
        self._beside.pop(mid, None)
        estimate = self._sent.pop(mid, None)
        if estimate is not None and refused:
            self._refused_from = min(estimate, self._refused_from or estimate)
        return [] if estimate is None or refused else [estimate]

    def flush(self, committed: Sequence[Outgoing] = ()) -> None:
        """Publish what waits, up to IN_FLIGHT: cards and newest estimates, then the outbox.

        `committed` are the estimates that entered the outbox since the last flush.
        """
        for each in committed:
            if SEPARATOR not in each.sensor and (
                not each.revision or each.start_ms == self._newest.get(each.sensor, (0, 0))[0]
            ):
                self._newest[each.sensor] = each.start_ms, each.id
        room = IN_FLIGHT - len(self._sent)
        if not self._connection.connected or len(committed) > room:
            self._backlog = self._backlog or bool(committed)
        if not self._connection.connected:
            return
        self._publish_retained()
        if self._backlog and room > 0:
            committed = self._journal.outbox.waiting(self._after, room)
            self._backlog = len(committed) == room
        elif self._backlog:
            return
        self._publish_estimates(committed)

    def _publish_estimates(self, estimates: Sequence[Outgoing]) -> None:
        in_flight = set(self._sent.values())
        for each in estimates:
            self._after = each.id
            if each.id in in_flight:
                continue
            mid = self._connection.publish(self._topics.series(each.sensor), each.payload)
            self._sent[mid] = each.id
            if each.id == self._newest.get(each.sensor, (0, 0))[1]:
                self._publish_latest(each)

    def _publish_retained(self) -> None:
        """Some of the retained messages; the rest follows in later iterations."""
        for _ in range(RETAINED_AT_ONCE):
            if self._latest:
                self._publish_latest(self._latest[next(iter(self._latest))])
            elif self._cards:
                sensor, model = next(iter(self._cards.items()))
                del self._cards[sensor]
                said = {**card(model), **self._changes.fields(sensor)} if model else None
                payload = json.dumps(said, separators=(",", ":")).encode() if said else b""
                self._publish(self._topics.model(sensor), payload, retain=True)
            elif self._due:
                topic = next(iter(self._due))
                self._publish(topic, self._due.pop(topic), retain=True)
            else:
                return

    def publish_offline(self) -> None:
        """The broker sends the will only after a connection breaks, so the agent publishes it itself."""
        if self._connection.connected:
            # QoS 1 would wait behind the estimates in flight.
            self._connection.publish(self._topics.status, b"offline", qos=0, retain=True)

    def _publish_latest(self, estimate: Outgoing) -> None:
        self._latest.pop(estimate.sensor, None)
        self._publish(self._topics.latest(estimate.sensor), estimate.payload, retain=True)

    def _publish(self, topic: str, payload: bytes, retain: bool = False) -> None:
        """Publish a message that need not survive: dropped while disconnected, republished on reconnect.

        Paho keeps it until the broker has acknowledged it, and sends it again after a connection. What paho
        has already is not published again, or a broker that acknowledges nothing would fill the memory.
        """
        if self._connection.connected and dict(self._beside.values()).get(topic) != payload:
            self._beside[self._connection.publish(topic, payload, retain=retain)] = topic, payload
