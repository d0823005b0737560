"""The way out, with a real journal and a real broker: in order, paced, and patient with any asker."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from paho.mqtt.client import Client

from edge_agent.change import Change
from edge_agent.core.messages import Estimate, decode_estimate
from edge_agent.core.model_changes import ModelChanges
from edge_agent.core.topics import OwnTopics
from edge_agent.inbox import Connected, Inbox, Published
from edge_agent.journal import Journal
from edge_agent.mqtt import Address, Connection
from edge_agent.publisher import HEALTH_IN_FLIGHT, IN_FLIGHT, Publisher
from tests.conftest import make_model
from tests.support.broker import Broker, Mosquitto, Proxy, client, subscribe, wait_until

WINDOW_MS = 900_000


def estimates(number: int, first: int = 0) -> list[Estimate]:
    starts = [n * WINDOW_MS for n in range(first, first + number)]
    return [Estimate("5A2D", at, at + WINDOW_MS, 1, (), {"op1": 1.0}, {"op1": 15}) for at in starts]


class Way:
    """A publisher at a real broker, turned by hand, and somebody who hears everything."""

    def __init__(self, journal: Journal, broker: Broker, ear: Client, version: str = "3.1.1") -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.ear = ear
        ear.on_message = lambda *message: self.heard.append((message[2].topic, message[2].payload))
        subscribe(ear, "respire/#")
        self.inbox = Inbox[Connection]()
        address = Address(broker.host, broker.port, "publisher", version)
        self.connection = Connection(address, ("respire/van-1/status", b"offline"), self.inbox, lambda: 0)
        self.publisher = Publisher(self.connection, OwnTopics("respire/van-1"), journal, ModelChanges())

    def connect(self) -> None:
        self.connection.start(["respire/van-1/request"])
        self.wait_until_connected()

    def wait_until_connected(self) -> None:
        wait_until(lambda: any(isinstance(e, Connected) for _, e in self.inbox.receive(0.1, 10)))

    def settle(self) -> list[int]:
        """Let the broker's acknowledgements in."""
        return [
            estimate
            for _, event in self.inbox.receive(0.05, 1_000)
            if isinstance(event, Published)
            for estimate in self.publisher.settle(event.mid, refused=bool(event.refused))
        ]

    def on(self, topic: str) -> list[bytes]:
        return [payload for heard, payload in self.heard if heard == f"respire/van-1/{topic}"]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "journal.db", WINDOW_MS, "process-crash")) as made:
        yield made


@pytest.fixture
def way(journal: Journal, broker: Broker) -> Iterator[Way]:
    with client(broker) as ear:
        made = Way(journal, broker, ear)
        made.connect()
        yield made
        made.connection.stop()


def test_a_backlog_goes_out_in_order_and_no_faster_than_it_is_acknowledged(
    way: Way, journal: Journal
) -> None:
    total = 3 * IN_FLIGHT
    way.publisher.flush(journal.commit(Change(estimates=estimates(total)), now_ms=0))
    delivered: list[int] = []

    def turn() -> bool:
        way.publisher.flush()
        assert way.publisher.in_flight <= IN_FLIGHT
        delivered.extend(way.settle())
        return len(delivered) >= total

    wait_until(turn, what="the backlog")
    wait_until(lambda: way.on("calibrated/5A2D/co/latest"), what="the newest")
    wait_until(lambda: len(way.on("calibrated/5A2D/co")) >= total, what="all")
    assert [decode_estimate(p).seq for p in way.on("calibrated/5A2D/co")] == list(range(1, total + 1))
    assert [decode_estimate(p).seq for p in way.on("calibrated/5A2D/co/latest")] == [total]
    assert delivered == list(range(1, total + 1))


def test_what_was_not_acknowledged_is_sent_again_after_a_restart(
    way: Way, journal: Journal, broker: Broker
) -> None:
    made = journal.commit(Change(estimates=estimates(2)), now_ms=0)
    journal.commit(Change(delivered=[made[0].id]), now_ms=0)
    way.publisher.flush()
    wait_until(lambda: way.on("calibrated/5A2D/co"))
    assert [decode_estimate(p).seq for p in way.on("calibrated/5A2D/co")] == [2]


def test_goodbye_is_said_although_the_broker_acknowledges_nothing(journal: Journal, broker: Broker) -> None:
    """With as many estimates in flight as paho sends at once, anything that needs an answer would wait."""
    proxy = Proxy(broker.port)
    with client(broker) as ear:
        way = Way(journal, Broker("127.0.0.1", proxy.port), ear)
        way.connect()
        journal.commit(Change(estimates=estimates(IN_FLIGHT)), now_ms=0)
        with proxy.deaf():
            way.publisher.flush()
            way.publisher.publish_offline()
            wait_until(lambda: way.on("status") == [b"offline"], what="goodbye")
        way.connection.stop()
    proxy.close()


def test_a_broker_that_acknowledges_nothing_does_not_fill_the_memory(
    journal: Journal, broker: Broker
) -> None:
    """Paho keeps every message until it is acknowledged; what it has already is not published again."""
    proxy = Proxy(broker.port)
    with client(broker) as ear:
        way = Way(journal, Broker("127.0.0.1", proxy.port), ear)
        way.connect()
        with proxy.deaf():
            for number in range(100):
                way.publisher.republish([make_model()])
                way.publisher.flush()
                way.publisher.publish_health(str(number))
            status_and_card = 2
            assert len(way.connection._client._out_messages) == status_and_card + HEALTH_IN_FLIGHT
        wait_until(lambda: (way.settle(), not way.connection._client._out_messages)[1], what="all")
        way.publisher.publish_health("100")
        wait_until(lambda: way.on("health")[-1:] == [b"100"], what="the next health")
        way.connection.stop()
    proxy.close()


def test_an_estimate_that_the_broker_refuses_stays_until_it_is_let_in(
    tmp_path: Path, journal: Journal
) -> None:
    """MQTT 5 tells of a refusal in the acknowledgement; 3.1.1 cannot."""
    acl = tmp_path / "acl"
    acl.write_text("topic read #\ntopic write respire/van-1/calibrated/5CB6/co\n")
    broker = Mosquitto(tmp_path / "strict", f"acl_file {acl}")
    allowed = [replace(each, sensor="5CB6") for each in estimates(1)]
    made = journal.commit(Change(estimates=estimates(2) + allowed), now_ms=0)
    with client(broker) as ear:
        way = Way(journal, broker, ear, version="5")
        way.connect()
        way.publisher.flush()
        delivered: list[int] = []

        def settled(wanted: int) -> bool:
            delivered.extend(way.settle())
            return len(delivered) >= wanted and not way.publisher.in_flight

        wait_until(lambda: settled(1))
        assert delivered == [made[2].id]
        journal.commit(Change(delivered=delivered), now_ms=0)
        broker.stop()
        acl.write_text("topic readwrite #\n")
        broker.start()
        way.wait_until_connected()
        way.publisher.republish([])
        way.publisher.flush()
        wait_until(lambda: settled(3))
        way.connection.stop()
    broker.stop()
    assert delivered == [made[2].id, made[0].id, made[1].id]


def test_a_newcomer_finds_status_the_newest_and_the_cards(way: Way, journal: Journal, broker: Broker) -> None:
    journal.commit(Change(estimates=estimates(3)), now_ms=0)
    way.publisher.republish([make_model()])
    way.publisher.remove_card("5CB6")
    way.publisher.publish_health('{"v":1}')
    way.publisher.flush()
    kept: dict[str, bytes] = {}
    wait_until(lambda: way.on("health") and way.on("calibrated/5A2D/co/latest"))
    with client(broker) as newcomer:
        newcomer.on_message = lambda *m: kept.update({m[2].topic: m[2].payload} if m[2].retain else {})
        newcomer.subscribe([("respire/#", 1)])
        wait_until(lambda: len(kept) >= 4)
    assert set(kept) == {
        "respire/van-1/status",
        "respire/van-1/health",
        "respire/van-1/calibrated/5A2D/co/latest",
        "respire/van-1/calibrated/5A2D/model",
    }
    assert kept["respire/van-1/status"] == b"online"
    assert decode_estimate(kept["respire/van-1/calibrated/5A2D/co/latest"]).seq == 3


def test_a_card_whose_model_went_while_the_broker_was_away_is_taken_down(
    way: Way, journal: Journal, broker: Broker
) -> None:
    """5CB6 is withdrawn before there is a connection, 5A2D's bundle was removed before the agent ran."""
    journal.commit(Change(estimates=estimates(1)), now_ms=0)
    way.publisher.republish([make_model("5A2D"), make_model("5CB6"), make_model("D3EB")])
    way.publisher.flush()
    wait_until(lambda: way.on("calibrated/D3EB/model"))
    way.connection.stop()
    later = Way(journal, broker, way.ear)
    later.publisher.remove_card("5CB6")
    later.publisher.flush()
    later.connect()
    later.publisher.republish([make_model("D3EB")])
    later.publisher.flush()
    wait_until(lambda: later.on("calibrated/D3EB/model")[1:])  # the first was retained
    for sensor in ("5A2D", "5CB6"):
        wait_until(lambda sensor=sensor: later.on(f"calibrated/{sensor}/model")[-1] == b"")  # type: ignore[misc]
    later.connection.stop()
