"""Connections to real brokers: sessions, acknowledgements, TLS, passwords, and leaving."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.brokers import mosquitto
from edge_agent.core.errors import BrokerUnavailable
from edge_agent.inbox import Connected, Disconnected, Event, Inbox, Message, Published
from edge_agent.mqtt import Address, Connection, log_in
from tests.support.broker import AT_MOST_S, AgentProcess, Broker, Mosquitto, Proxy, client, wait_until
from tests.support.needs import require
from tests.support.processes import run_program

WILL = ("respire/t/status", b"offline")


class Line:
    """A connection and all that came through it."""

    def __init__(self, port: int, max_pending: int = 5_000, **address: Any) -> None:
        ticks = count()
        self.inbox = Inbox[Connection](max_pending)
        self.events: list[Event] = []
        self.connection = Connection(
            Address("127.0.0.1", port, "test", **address),
            WILL,
            self.inbox,
            lambda: next(ticks),
        )

    def of(self, kind: type) -> list[Event]:
        """What has come of one kind."""
        self.events += [event for _, event in self.inbox.receive(0.01, 1_000)]
        return [event for event in self.events if isinstance(event, kind)]

    def wait_for(self, kind: type, number: int = 1) -> Event:
        """The event of that kind with that number."""
        wait_until(lambda: len(self.of(kind)) >= number, what=f"{number} {kind.__name__}: {self.events}")
        return self.of(kind)[number - 1]

    def payloads(self) -> list[bytes]:
        return [event.payload for event in self.of(Message) if isinstance(event, Message)]


@contextmanager
def line(port: int, **address: Any) -> Iterator[Line]:
    made = Line(port, **address)
    made.connection.start(["sensors/+/+"])
    try:
        yield made
    finally:
        made.connection.stop()


def send(broker: Broker, *payloads: bytes) -> None:
    with client(broker) as publisher:
        for payload in payloads:
            publisher.publish("sensors/5A2D/op1", payload, qos=1).wait_for_publish(AT_MOST_S)


def test_a_publication_is_told_when_the_broker_has_it(broker: Broker) -> None:
    with line(broker.port) as mine:
        mine.wait_for(Connected)
        number = mine.connection.publish("respire/van-1/calibrated/5A2D/co", b"{}")
        assert mine.wait_for(Published) == Published(number)


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_a_session_is_kept_and_what_came_meanwhile_arrives(durable_broker: Broker, version: str) -> None:
    with line(durable_broker.port, version=version) as mine:
        assert mine.wait_for(Connected) == Connected(resumed=False)
    send(durable_broker, b"1", b"2")
    with line(durable_broker.port, version=version) as mine:
        assert mine.wait_for(Connected) == Connected(resumed=True)
        mine.wait_for(Message, 2)
        assert mine.payloads() == [b"1", b"2"]


def test_what_the_broker_had_retained_is_told_apart_from_what_is_said_now(broker: Broker) -> None:
    with client(broker) as publisher:
        publisher.publish("sensors/5A2D/op1", b"1", qos=1, retain=True).wait_for_publish(AT_MOST_S)
        with line(broker.port) as mine:
            mine.wait_for(Message)
            publisher.publish("sensors/5A2D/op1", b"2", qos=1, retain=True).wait_for_publish(AT_MOST_S)
            mine.wait_for(Message, 2)
            told = [(event.payload, event.retain) for event in mine.of(Message) if isinstance(event, Message)]
    assert told == [(b"1", True), (b"2", False)]


def test_what_is_not_acknowledged_comes_again_and_what_is_does_not(durable_broker: Broker) -> None:
    proxy = Proxy(durable_broker.port)
    with line(proxy.port) as mine:
        mine.wait_for(Connected)
        send(durable_broker, b"1", b"2")
        first, second = mine.wait_for(Message), mine.wait_for(Message, 2)
        assert isinstance(first, Message)
        assert isinstance(second, Message)
        mine.connection.ack([first])
        send(durable_broker, b"3")
        mine.wait_for(Message, 3)  # the acknowledgement went before: the broker has it
        proxy.cut()
        mine.wait_for(Connected, 2)
        again = mine.wait_for(Message, 4)
        assert isinstance(again, Message)
        assert (again.payload, again.dup, again.mid) == (b"2", True, second.mid)
        assert again.epoch == second.epoch + 1
        mine.wait_for(Message, 5)
        assert mine.payloads() == [b"1", b"2", b"3", b"2", b"3"]
    proxy.close()


def test_an_acknowledgement_for_an_earlier_connection_is_not_sent(durable_broker: Broker) -> None:
    """Its number may belong to another message by now; what is meant comes again and is acknowledged then."""
    proxy = Proxy(durable_broker.port)
    with line(proxy.port) as mine:
        mine.wait_for(Connected)
        send(durable_broker, b"1")
        old = mine.wait_for(Message)
        proxy.cut()
        mine.wait_for(Message, 2)
        mine.connection.ack([old])  # type: ignore[list-item]
        proxy.cut()
        mine.wait_for(Message, 3)
        assert mine.payloads() == [b"1", b"1", b"1"]
    proxy.close()


def test_an_acknowledgement_between_two_connections_is_not_sent(durable_broker: Broker) -> None:
    """paho would send it ahead of its CONNECT; the broker throws out who does that."""
    proxy = Proxy(durable_broker.port)
    with line(proxy.port) as mine:
        mine.wait_for(Connected)
        send(durable_broker, b"1")
        message = mine.wait_for(Message)
        paho, attempts, go_on = mine.connection._client, [], threading.Event()
        dial = paho._create_socket

        def dial_slowly() -> object:
            """A handshake over a mobile network."""
            attempts.append(dial())
            go_on.wait(AT_MOST_S)
            return attempts[-1]

        paho._create_socket = dial_slowly  # type: ignore[assignment, method-assign]
        proxy.cut()
        wait_until(lambda: attempts)
        mine.connection.ack([message])  # type: ignore[list-item]
        go_on.set()
        mine.wait_for(Connected, 2)
        assert len(attempts) == 1
    proxy.close()


def test_a_broker_that_forgot_the_session_is_subscribed_to_again(tmp_path: Path) -> None:
    broker = Mosquitto(tmp_path / "forgetful")
    with line(broker.port) as mine:
        mine.wait_for(Connected)
        broker.stop()
        for file in (tmp_path / "forgetful").glob("mosquitto.db*"):
            file.unlink()
        broker.start()
        assert mine.wait_for(Connected, 2) == Connected(resumed=False)
        send(broker, b"1")
        mine.wait_for(Message)
    broker.stop()


def test_a_connection_is_told_when_the_broker_has_the_subscription() -> None:
    """What is published before that does not arrive; those who see the agent online may publish."""
    with socket.create_server(("127.0.0.1", 0)) as server, line(server.getsockname()[1]) as mine:
        broker, _ = server.accept()
        with broker:
            broker.recv(1_000)
            broker.sendall(b"\x20\x02\x00\x00")  # CONNACK
            subscribe = broker.recv(1_000)
            assert subscribe[:1] == b"\x82"
            assert mine.of(Connected) == []
            broker.sendall(b"\x90\x03" + subscribe[2:4] + b"\x01")  # SUBACK
            assert mine.wait_for(Connected) == Connected(resumed=False)


def test_leaving_is_possible_while_more_comes_than_anybody_takes(broker: Broker) -> None:
    """The network thread waits for room in the inbox; with nobody left to make any, it must not."""
    mine = Line(broker.port, max_pending=3)
    mine.connection.start(["sensors/+/+"])
    mine.wait_for(Connected)
    with client(broker) as publisher:
        for number in range(50):
            publisher.publish("sensors/5A2D/op1", str(number), qos=0)
        send(broker, b"last")
    wait_until(lambda: mine.inbox.crowded, what="a crowd")
    leaving = threading.Thread(target=mine.connection.stop, daemon=True)
    leaving.start()
    leaving.join(AT_MOST_S)
    assert not leaving.is_alive()


def test_messages_wait_for_their_turn_while_the_loop_works(broker: Broker) -> None:
    """And only they: what paho tells of our own publications must never wait for us."""
    with line(broker.port) as mine:
        mine.wait_for(Connected)
        with mine.inbox.turn:
            sent = mine.connection.publish("respire/van-1/calibrated/5A2D/co", b"{}")
            assert mine.wait_for(Published) == Published(sent)
            send(broker, b"231.4")
            assert mine.inbox.receive(0.3, 10) == []
        mine.wait_for(Message)
        assert mine.payloads() == [b"231.4"]


def test_a_broker_that_is_away_is_told_with_the_reason() -> None:
    with line(1) as mine:
        assert mine.wait_for(Disconnected) == Disconnected("broker.unreachable", "connection refused")


MALFORMED = {
    "publish": ("3.1.1", b"\x30\x02\xff\xff"),
    "suback": ("3.1.1", b"\x90\x01\x00"),
    "disconnect": ("5", b"\xe0\x02\x07\x00"),
    "not MQTT": ("5", b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"-" * 99),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_packets_without_sense_cost_the_connection_and_not_the_agent(kind: str) -> None:
    """A hostile broker, or the login page of a Wi-Fi. The thread of paho 2.1 would die of them."""
    version, answer = MALFORMED[kind]
    welcome = b"\x20\x03\x00\x00\x00" if version == "5" else b"\x20\x02\x00\x00"

    def serve() -> None:
        while True:
            with server.accept()[0] as end:
                end.recv(1_000)
                end.sendall(welcome + answer)
                end.settimeout(1)
                with suppress(OSError):
                    while end.recv(1_000):
                        pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        with line(server.getsockname()[1], version=version) as mine:
            mine.wait_for(Disconnected, 2)


def openssl(directory: Path, *arguments: str) -> None:
    require("openssl")
    run_program(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """An authority, and certificates of a broker and a van made by it."""
    place = tmp_path / "keys"
    place.mkdir()
    fresh = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for name in ("ca", "other"):
        files = ("-keyout", f"{name}.key", "-out", f"{name}.pem")
        signs = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")  # Python 3.13 insists on it
        openssl(place, "req", "-x509", *fresh, "-days", "2", *files, "-subj", f"/CN={name}", *signs)
    (place / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nauthorityKeyIdentifier=keyid\n")
    for name in ("broker", "van-1"):
        files = ("-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl(place, "req", *fresh, *files, "-subj", f"/CN={name}")
        signed = ("-in", f"{name}.csr", "-out", f"{name}.pem", "-CA", "ca.pem", "-CAkey", "ca.key")
        openssl(place, "x509", "-req", *signed, "-CAcreateserial", "-days", "2", "-extfile", "names")
    return place


@pytest.fixture
def strict(tmp_path: Path, keys: Path) -> Iterator[Mosquitto]:
    """A broker that shows a certificate and wants to see one."""
    files = f"cafile {keys}/ca.pem\ncertfile {keys}/broker.pem\nkeyfile {keys}/broker.key\n"
    broker = Mosquitto(tmp_path / "strict", files, "require_certificate true")
    yield broker
    broker.stop()


def test_tls_with_an_authority_and_a_certificate_of_our_own(strict: Mosquitto, keys: Path) -> None:
    tls = ssl.create_default_context(cafile=keys / "ca.pem")
    tls.load_cert_chain(keys / "van-1.pem", keys / "van-1.key")
    with line(strict.port, tls=tls) as mine:
        mine.wait_for(Connected)
        mine.connection.publish("a", b"b")
        mine.wait_for(Published)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # paho drops its socket there
def test_a_certificate_of_a_stranger_is_refused_and_said(strict: Mosquitto, keys: Path) -> None:
    with line(strict.port, tls=ssl.create_default_context(cafile=keys / "other.pem")) as mine:
        told = mine.wait_for(Disconnected)
        assert isinstance(told, Disconnected)
        assert "certificate verify failed" in told.reason


def test_a_broker_that_ends_the_connection_without_an_answer_is_said(strict: Mosquitto, keys: Path) -> None:
    """As with a revoked certificate, or none: TLS 1.3 reports it after the handshake, and paho does not."""
    told = "the connection ended before the broker answered; check port, tls and certificate_file"
    without = ssl.create_default_context(cafile=keys / "ca.pem")
    for tls in (without, None):
        with line(strict.port, tls=tls) as mine:
            assert mine.wait_for(Disconnected) == Disconnected("broker.unreachable", told)
    with pytest.raises(BrokerUnavailable, match=f"^127.0.0.1:{strict.port}: {told}$"):
        log_in(Address("127.0.0.1", strict.port, "test", tls=without), AT_MOST_S)


def test_the_agent_uses_the_files_of_its_settings_and_shows_no_secret(
    tmp_path: Path, keys: Path, strict: Mosquitto
) -> None:
    """TLS and a password, from files; the password is in no log, right or wrong."""
    strict.stop()
    passwords = tmp_path / "passwords"
    run_program([mosquitto("mosquitto_passwd"), "-c", "-b", passwords, "van-1", "s3cret-pass"], check=True)
    files = f"cafile {keys}/ca.pem\ncertfile {keys}/broker.pem\nkeyfile {keys}/broker.key\n"
    broker = Mosquitto(
        tmp_path / "both", files, "require_certificate true", f"password_file {passwords}", anonymous=False
    )
    (tmp_path / "bundles").mkdir()
    (tmp_path / "password").write_text("wrong-pass\n")
    agent = AgentProcess(tmp_path / "agent", broker.port, tmp_path / "bundles")
    with agent.config.open("a") as config:
        config.write(
            f'tls = true\nca_file = "{keys}/ca.pem"\ncertificate_file = "{keys}/van-1.pem"\n'
            f'key_file = "{keys}/van-1.key"\nusername = "van-1"\npassword_file = "{tmp_path}/password"\n'
        )
    agent.start()
    agent.wait_for("broker.refused")
    agent.stop()
    (tmp_path / "password").write_text("s3cret-pass\n")
    agent.start()
    agent.wait_for("broker.connected")
    agent.stop()
    broker.stop()
    assert "wrong-pass" not in agent.log.read_text()
    assert "s3cret-pass" not in agent.log.read_text()
