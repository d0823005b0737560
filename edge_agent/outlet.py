"""The way out: estimates from the outbox, the newest retained, cards, health, and history on request."""

import json
from collections import deque
from collections.abc import Iterable
from typing import Any

from edge_agent.core.card import card
from edge_agent.core.messages import is_sensor
from edge_agent.core.model import Model
from edge_agent.journal import Journal, Outgoing
from edge_agent.mqtt import Connection
from edge_agent.settings import Topics

IN_FLIGHT = 20  # estimates handed to paho and not acknowledged, as many as it sends at once: a backlog's pace
MAX_REQUESTS = 16
MAX_HISTORY = 1_000
MAX_REQUEST_BYTES = 1_024
ANSWERS_AT_ONCE = 20
NOTICES_AT_ONCE = 10  # cards and newest estimates in one turn: two hundred sensors are not told in one burst


class Outlet:
    """Publishes through one connection; an estimate leaves the outbox when the broker has acknowledged it."""

    def __init__(self, connection: Connection, topics: Topics, agent: str, journal: Journal) -> None:
        self._delivered: list[int] = []
        self._connection = connection
        self._topics = topics
        self._journal = journal
        self._status = topics.status.format(agent=agent)
        self._health = topics.health.format(agent=agent)
        self._response = topics.response.format(agent=agent)
        self._handed: dict[int, int] = {}  # paho's number -> the estimate's
        self._after = 0
        self._refused_from: int | None = None  # the first estimate that this connection's broker did not take
        self._may_wait = True  # whether the outbox is worth asking
        self._newest = {each.sensor: each.id for each in journal.newest()}
        self._answers: deque[tuple[str, dict[str, Any]]] = deque()
        self._answered: set[int] = set()  # paho's numbers of answers on their way: the asker sets the pace
        self._requests: deque[tuple[str, str, int]] = deque()
        self._cards: dict[str, Model | None] = {}  # by sensor, to be put up; None to be taken down
        self._latest: dict[str, Outgoing] = {}  # by sensor, to be put up again

    @property
    def handed(self) -> int:
        """How many estimates are on their way, not acknowledged yet."""
        return len(self._handed)

    def announce(self, models: Iterable[Model]) -> None:
        """Just connected: say so, and put up the newest estimates and every model's card again.

        A bundle may have been removed while the broker was away or the agent stopped, so the cards of other
        sensors that have estimates are taken down; where none is up that costs a few bytes.
        """
        self._publish(self._status, b"online", retain=True)
        self._latest = {estimate.sensor: estimate for estimate in self._journal.newest()}
        cards = {model.sensor: model for model in models}
        self._cards = {**dict.fromkeys((*self._latest, *self._cards)), **cards}
        self._may_wait = True
        if self._refused_from is not None:
            self._after, self._refused_from = self._refused_from - 1, None

    def show(self, model: Model) -> None:
        """Put up a model's card for dashboards, soon."""
        self._cards[model.sensor] = model

    def withdraw(self, sensor: str) -> None:
        """Take down the card of a model that is no more, soon."""
        self._cards[sensor] = None

    def tell(self, health: str) -> None:
        """Put up how the agent is."""
        self._publish(self._health, health.encode(), retain=True)

    def committed(self, outgoing: Iterable[Outgoing]) -> None:
        """New estimates are in the outbox."""
        for each in outgoing:
            self._newest[each.sensor] = each.id
            self._may_wait = True

    def settle(self, mid: int, refused: bool = False) -> None:
        """The broker has answered a publication; if it was an estimate, it is delivered.

        A refused one stays in the outbox until the next connection: whoever mends the broker's list of
        who may say what restarts it or us, and trying sooner would be a storm.
        """
        self._answered.discard(mid)
        estimate = self._handed.pop(mid, None)
        if estimate is None:
            return
        self._may_wait = True
        if refused:
            self._refused_from = min(estimate, self._refused_from or estimate)
        else:
            self._delivered.append(estimate)

    def take_delivered(self) -> list[int]:
        """The estimates that have arrived since last asked."""
        delivered, self._delivered = self._delivered, []
        return delivered

    def flush(self) -> None:
        """Hand on what waits as far as the pace allows: cards and newest estimates, then the outbox."""
        if self._connection.connected and (self._cards or self._latest):
            self._put_up()
        room = IN_FLIGHT - len(self._handed)
        if not self._connection.connected or not self._may_wait or room <= 0:
            return
        waiting = self._journal.waiting(self._after, room)
        self._may_wait = len(waiting) == room
        on_their_way = set(self._handed.values())
        for each in waiting:
            self._after = each.id
            if each.id in on_their_way:
                continue
            topic = self._topics.estimate.format(sensor=each.sensor)
            self._handed[self._connection.publish(topic, each.payload)] = each.id
            if each.id == self._newest.get(each.sensor):
                self._publish_latest(each)

    def _put_up(self) -> None:
        """Some of what is retained; the rest follows when the broker has acknowledged these."""
        for _ in range(NOTICES_AT_ONCE):
            if self._latest:
                self._publish_latest(self._latest[next(iter(self._latest))])
            elif self._cards:
                sensor, model = next(iter(self._cards.items()))
                del self._cards[sensor]
                payload = json.dumps(card(model), separators=(",", ":")).encode() if model else b""
                self._publish(self._topics.model.format(sensor=sensor), payload, retain=True)

    def request(self, payload: bytes) -> None:
        """Somebody asks for history; a request that is wrong is answered with why, if it has an id."""
        try:
            asked = json.loads(payload[:MAX_REQUEST_BYTES])
            id_, sensor, last = asked["id"], asked.get("sensor"), asked.get("last", 96)
            if not (isinstance(id_, str) and is_sensor(id_)):
                return
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return
        named = isinstance(sensor, str) and is_sensor(sensor)
        if not named or type(last) is not int or not 1 <= last <= MAX_HISTORY:
            problem = f"expected a sensor and last from 1 to {MAX_HISTORY}"
            self._answers.append((id_, {"id": id_, "error": problem}))
        elif len(self._requests) >= MAX_REQUESTS:
            self._answers.append((id_, {"id": id_, "error": "too many requests wait; ask again later"}))
        else:
            self._requests.append((id_, sensor, last))
        while len(self._answers) > MAX_HISTORY + MAX_REQUESTS:
            self._answers.pop()

    def answer(self) -> bool:
        """Send a few answers; True while more wait, so that the loop comes back soon without being held."""
        if not self._answers and self._requests:
            self._look_up(*self._requests.popleft())
        while self._answers and self._connection.connected and len(self._answered) < ANSWERS_AT_ONCE:
            id_, answer = self._answers.popleft()
            payload = json.dumps(answer, separators=(",", ":")).encode()
            self._answered.add(self._connection.publish(f"{self._response}/{id_}", payload))
        return self._connection.connected and bool(self._answers or self._requests)

    def say_goodbye(self) -> None:
        """A polite disconnect keeps the broker's will to itself, so say it here."""
        if self._connection.connected:  # not behind the estimates in flight, as QoS 1 would be
            self._connection.publish(self._status, b"offline", qos=0, retain=True)

    def _look_up(self, id_: str, sensor: str, last: int) -> None:
        payloads = self._journal.history(sensor, last)
        for index, payload in enumerate(payloads):
            estimate = json.loads(payload)
            self._answers.append(
                (id_, {"id": id_, "index": index, "of": len(payloads), "estimate": estimate})
            )
        if not payloads:
            self._answers.append((id_, {"id": id_, "index": 0, "of": 0, "estimate": None}))

    def _publish_latest(self, estimate: Outgoing) -> None:
        self._latest.pop(estimate.sensor, None)
        topic = f"{self._topics.estimate.format(sensor=estimate.sensor)}/latest"
        self._publish(topic, estimate.payload, retain=True)

    def _publish(self, topic: str, payload: bytes, retain: bool = False) -> None:
        """A publication that need not survive: while disconnected it is left unsaid, and said anew later."""
        if self._connection.connected:
            self._connection.publish(topic, payload, retain=retain)
