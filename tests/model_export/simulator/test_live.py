"""Publishing with acknowledgement: nothing is lost, and the number of open messages is limited."""

import socket
import threading
from collections.abc import Iterator

import pytest

from deploy.demo.processes import free_port
from edge_agent.core.errors import RespireError
from model_export.simulator.live import COMBINED, Publisher, Sent, publish
from model_export.simulator.van import Minute
from tests.support.broker import AT_MOST_S, Broker, Mosquitto, client, wait_until

CONNACK, PUBACK = b"\x20\x02\x00\x00", b"\x40\x02"


class SilentBroker:
    """Accepts a client and reads its messages, but acknowledges only on request."""

    def __init__(self) -> None:
        self.received = self.acknowledged = 0
        self._identifiers: list[bytes] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self._peer, _ = self._server.accept()
        stream = self._peer.makefile("rb")
        while kind := stream.read(1):
            body = stream.read(stream.read(1)[0])  # every packet of this test is shorter than 128 bytes
            if kind[0] >> 4 == 1:
                self._peer.sendall(CONNACK)
            elif kind[0] >> 4 == 3:
                after_topic = 2 + int.from_bytes(body[:2])
                self._identifiers.append(body[after_topic : after_topic + 2])
                self.received += 1

    def acknowledge(self, count: int) -> None:
        """Acknowledge the oldest messages."""
        for _ in range(count):
            self._peer.sendall(PUBACK + self._identifiers[self.acknowledged])
            self.acknowledged += 1

    def close(self) -> None:
        self._thread.join(AT_MOST_S)
        self._peer.close()
        self._server.close()


@pytest.fixture
def silent() -> Iterator[SilentBroker]:
    broker = SilentBroker()
    yield broker
    broker.close()


def test_a_reference_beside_the_van_is_published_with_each_minute(broker: Broker) -> None:
    """After the packages, with the same time; only if it is asked for."""
    minutes = [Minute(1_706_782_500_000, 0.83213, {"5A2D": {"op1": 231.4}})]
    got: list[str] = []
    granted = threading.Event()
    with client(broker) as subscriber:
        subscriber.on_message = lambda *m: got.append(f"{m[2].topic} {m[2].payload.decode()}")
        subscriber.on_subscribe = lambda *_: granted.set()
        subscriber.subscribe("#", qos=1)
        assert granted.wait(AT_MOST_S)
        publisher = Publisher(broker.host, broker.port, max_inflight=1)
        for reference in (False, True):
            assert [*publish(minutes, publisher, COMBINED, lambda: False, reference)] == minutes
        wait_until(lambda: len(got) == 3)
        assert publisher.close() == Sent(3, 3)
    package = 'sensors/5A2D {"at":"2024-02-01T10:15:00Z","op1":231.4}'
    assert got == [package, package, 'reference/co {"at":"2024-02-01T10:15:00Z","value":0.832}']


def test_no_more_messages_are_in_flight_than_allowed(silent: SilentBroker) -> None:
    """A broker that does not acknowledge gets five messages, and the sixth after it acknowledges one."""
    publisher = Publisher("127.0.0.1", silent.port, max_inflight=5)
    sent: list[int] = []

    def publish() -> None:
        sent.extend(n for n in range(20) if publisher.publish("sensors/x", b"%d" % n, lambda: False))

    thread = threading.Thread(target=publish, daemon=True)
    thread.start()
    for answered in (0, 3, 8, 9, 14, 15):
        silent.acknowledge(answered - silent.acknowledged)
        wait_until(lambda through=answered + 5: silent.received == through)  # type: ignore[misc]
        wait_until(lambda through=answered + 5: sent == [*range(through)])  # type: ignore[misc]
    thread.join(AT_MOST_S)
    silent.acknowledge(5)
    assert publisher.close() == Sent(sent=20, acknowledged=20)


def test_a_van_that_waits_for_its_broker_can_be_stopped(silent: SilentBroker) -> None:
    """The waiting message is not sent, and the count shows the missing acknowledgements."""
    stop = threading.Event()
    publisher = Publisher("127.0.0.1", silent.port, max_inflight=1)
    assert publisher.publish("sensors/x", b"first", stop.is_set)
    wait_until(lambda: silent.received == 1)
    stop.set()
    assert not publisher.publish("sensors/x", b"second", stop.is_set)
    silent.acknowledge(1)
    assert publisher.close() == Sent(sent=1, acknowledged=1)


def test_a_broker_that_is_not_there_is_named() -> None:
    port = free_port()
    with pytest.raises(RespireError) as caught:
        Publisher("127.0.0.1", port, 20)
    assert str(caught.value) == (
        f"127.0.0.1:{port}: expected an MQTT broker, got connection refused; "
        "start one or name another with --broker"
    )


def test_a_broker_that_refuses_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    """It is an error at once: waiting would not help."""
    broker = Mosquitto(tmp_path_factory.mktemp("broker"), "allow_anonymous false")
    publisher = Publisher(broker.host, broker.port, 1)
    publisher.publish("sensors/x", b"the one for which there is room", lambda: False)
    try:
        with pytest.raises(RespireError, match="expected to be let in, got Not authorized; allow anonymous"):
            publisher.publish("sensors/x", b"the one that waits", lambda: False)
    finally:
        publisher.close()
        broker.stop()
