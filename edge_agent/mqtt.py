"""Connections to brokers: the only import of paho; what its threads receive goes into the inbox."""

import random
import re
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from paho.mqtt.client import Client, ConnectFlags, MQTTMessage, MQTTv5, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import MQTTException, Properties  # type: ignore[attr-defined]
from paho.mqtt.reasoncodes import ReasonCode

from edge_agent.core.errors import BrokerUnavailable
from edge_agent.inbox import Connected, Disconnected, Inbox, Message, Published

SESSION_EXPIRY_S = 30 * 86_400  # how long a broker of MQTT 5 queues messages for an absent agent
LEAVE_S = 1.0
UNANSWERED = "the connection ended before the broker answered; check port, tls and certificate_file"
OUT_OF_TIME = (9, 10)  # OpenSSL's: a certificate is not yet valid, or has expired


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a broker and what it needs to accept a connection."""

    host: str
    port: int
    client_id: str
    version: str = "3.1.1"
    keepalive_s: int = 30
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None
    max_packet_bytes: int = 262_144


class Connection:
    """One session with one broker, for ever; paho reconnects, and we subscribe again each time."""

    def __init__(
        self,
        address: Address,
        will: tuple[str, bytes] | None,
        inbox: Inbox["Connection"],
        elapsed_ms: Callable[[], int],
    ) -> None:
        self.address = address
        self.connected = self._resumed = False
        self.epoch = 0
        self._answered = False
        self._inbox = inbox
        self._elapsed_ms = elapsed_ms
        self._filters: list[tuple[str, int]] = []
        self._client = _client(address)
        if will:
            self._client.will_set(*will, qos=1, retain=True)
        self._client.on_pre_connect = self._on_pre_connect
        self._client.on_connect = self._on_connect
        self._client.on_connect_fail = self._on_connect_fail
        self._client.on_disconnect = self._on_disconnect
        self._client.on_subscribe = self._on_subscribe
        self._client.on_message = self._on_message
        self._client.on_publish = self._on_publish

    def __str__(self) -> str:
        return f"{self.address.host}:{self.address.port}"

    def start(self, filters: Iterable[str]) -> None:
        """Start to connect; paho retries until the broker answers."""
        self._filters = [(each, 1) for each in filters]
        self._client.username_pw_set(self.address.username, self.address.password)
        self._client.connect_async(
            self.address.host, self.address.port, self.address.keepalive_s, **_session(self.address)
        )
        self._client.loop_start()

    def ack(self, messages: Iterable[Message]) -> None:
        """Acknowledge messages of this connection; the broker sends those of an earlier one again.

        Not between two connections: paho would send it before its CONNECT, and the broker would disconnect.
        """
        for message in messages:
            if message.qos and message.epoch == self.epoch and self.connected:
                self._client.ack(message.mid, message.qos)

    def publish(self, topic: str, payload: bytes, qos: int = 1, retain: bool = False) -> int:
        """Hand a publication to paho; its number comes back in a Published event."""
        return self._client.publish(topic, payload, qos, retain).mid

    def stop(self) -> None:
        """Disconnect; paho's thread gets LEAVE_S to send what it has."""
        self._inbox.close()
        _leave(self._client)

    def _on_pre_connect(self, _client: Client, _data: Any) -> None:
        self._answered = False

    def _on_connect(
        self, client: Client, _data: Any, flags: ConnectFlags, code: ReasonCode, _properties: Any
    ) -> None:
        self._answered = True
        if code.is_failure:
            self._inbox.put(self, Disconnected("broker.refused", _plain(str(code))))
            return
        self.epoch += 1
        self.connected, self._resumed = True, flags.session_present
        client.subscribe(self._filters)

    def _on_subscribe(self, *_: Any) -> None:
        """Not before: what is published until now does not arrive, if the broker had kept no session."""
        self._inbox.put(self, Connected(self._resumed))

    def _on_connect_fail(self, _client: Client, _data: Any) -> None:
        """paho does not pass the exception, but it handles it now: no route, a bad certificate, …"""
        self._inbox.put(self, Disconnected("broker.unreachable", _failure()))

    def _on_disconnect(
        self, _client: Client, _data: Any, _flags: Any, code: ReasonCode, _properties: Any
    ) -> None:
        if self.connected:
            self.connected = False
            self._inbox.put(self, Disconnected("broker.lost", _plain(str(code))))
        elif not self._answered:
            self._inbox.put(self, Disconnected("broker.unreachable", UNANSWERED))

    def _on_message(self, _client: Client, _data: Any, message: MQTTMessage) -> None:
        try:
            topic = message.topic
        except UnicodeDecodeError:
            # Rejected like any other topic that fits no template.
            topic = ""
        self._inbox.put(
            self,
            Message(
                topic,
                bytes(message.payload),
                message.qos,
                message.mid,
                message.dup,
                self.epoch,
                self._elapsed_ms(),
                message.retain,
            ),
        )

    def _on_publish(self, _client: Client, _data: Any, mid: int, code: ReasonCode, _properties: Any) -> None:
        self._inbox.put(self, Published(mid, _plain(str(code)) if code.is_failure else ""))


def retained(address: Address, topic: str, timeout_s: float) -> bytes:
    """The retained message of a topic, read in a session that leaves nothing at the broker."""
    answer = _ask(address, topic, timeout_s)
    if answer is None:
        words = f"no agent has published health on this broker ({topic})"
        raise BrokerUnavailable(f"{address.host}:{address.port}: {words}")
    return answer


def reach(host: str, port: int, timeout_s: float) -> None:
    """Try whether somebody listens there; BrokerUnavailable if not."""
    try:
        socket.create_connection((host, port), timeout_s).close()
    except OSError:
        raise _unavailable(host, port, _failure()) from None


def log_in(address: Address, timeout_s: float) -> None:
    """Connect and leave again; BrokerUnavailable if the broker cannot be reached or refuses the login."""
    if _ask(address, None, timeout_s) is None:
        raise BrokerUnavailable(f"{address.host}:{address.port}: no answer in {timeout_s:g} s")


def _ask(address: Address, topic: str | None, timeout_s: float) -> bytes | None:
    """The retained message of a topic, without a topic a welcome, or None if nothing comes.

    The client id is the broker's choice, so that the agent's own connection stays.
    """
    answers: SimpleQueue[bytes | str] = SimpleQueue()
    client = Client(CallbackAPIVersion.VERSION2, protocol=_protocol(address))
    if address.tls:
        client.tls_set_context(address.tls)
    client.username_pw_set(address.username, address.password)

    def welcome(
        _client: Client, _data: Any, _flags: ConnectFlags, code: ReasonCode, _properties: Any
    ) -> None:
        if code.is_failure:
            answers.put(f"{_plain(str(code))}; see username and password_file")
        elif topic is None:
            answers.put(b"")
        else:
            client.subscribe(topic, 1)

    client.on_connect = welcome
    client.on_connect_fail = lambda *_: answers.put(_failure())
    client.on_disconnect = lambda *_: answers.put(UNANSWERED)  # after a refusal, nobody reads it
    client.on_message = lambda _c, _d, message: answers.put(bytes(message.payload))
    client.connect_async(address.host, address.port)
    client.loop_start()
    try:
        answer = answers.get(timeout=timeout_s)
    except Empty:
        return None
    finally:
        _leave(client)
    if isinstance(answer, str):
        raise _unavailable(address.host, address.port, answer)
    return answer


def _unavailable(host: str, port: int, reason: str) -> BrokerUnavailable:
    advice = "; does the broker run there?" if reason == "connection refused" else ""
    return BrokerUnavailable(f"{host}:{port}: {reason}{advice}")


def _failure() -> str:
    """The reason of the exception that is being handled, in plain words.

    >>> try: raise ConnectionRefusedError(111, "Connection refused")
    ... except OSError: _failure()
    'connection refused'
    """
    error = sys.exception()
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_code in OUT_OF_TIME:
        now = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
        return f"{_plain(str(error))}; the clock of this gateway says {now} UTC, is it right?"
    return _plain(getattr(error, "strerror", None) or str(error or "no answer"))


def _plain(reason: str) -> str:
    """A reason without OpenSSL's codes, and without a capital."""
    reason = re.sub(r"^\[SSL[^]]*\] | \(_ssl\.c:\d+\)$", "", reason)
    return reason[:1].lower() + reason[1:]


def _leave(client: Client) -> None:
    """Disconnect; do not wait long for paho's thread, which may be in a handshake or a DNS query."""
    client.disconnect()
    leaving = threading.Thread(target=client.loop_stop, daemon=True)
    leaving.start()
    leaving.join(LEAVE_S)


def _protocol(address: Address) -> MQTTProtocolVersion:
    return MQTTv5 if address.version == "5" else MQTTv311


class _Client(Client):
    """The thread of paho 2.1 dies of a malformed packet; here it costs the connection, as with paho 2.2."""

    def _packet_handle(self) -> MQTTErrorCode:
        try:
            return super()._packet_handle()
        except (ValueError, LookupError, struct.error, MQTTException):
            return MQTTErrorCode.MQTT_ERR_PROTOCOL


def _client(address: Address) -> Client:
    five = address.version == "5"
    client = _Client(
        CallbackAPIVersion.VERSION2,
        client_id=address.client_id,
        clean_session=None if five else False,
        protocol=_protocol(address),
        manual_ack=True,
    )
    client.reconnect_delay_set(min_delay=random.uniform(0.5, 1.5), max_delay=random.uniform(20, 40))  # type: ignore[arg-type]  # noqa: S311
    if address.tls:
        client.tls_set_context(address.tls)
    return client


def _session(address: Address) -> dict[str, Any]:
    """What MQTT 5 needs to keep a session as 3.1.1 does; it can also limit the size of packets."""
    if address.version != "5":
        return {}
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.SessionExpiryInterval = SESSION_EXPIRY_S
    properties.MaximumPacketSize = address.max_packet_bytes
    return {"clean_start": False, "properties": properties}
