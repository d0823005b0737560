"""A simulated van over MQTT: every minute when it is due, and no faster than the broker accepts."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from edge_agent.core.errors import RespireError
from edge_agent.core.messages import format_time
from model_export.simulator.van import Minute

COMBINED = "sensors/{sensor}"
PER_CHANNEL = "sensors/{sensor}/{channel}"
REFERENCE = "reference/co"
LOOK_UP_S = 0.1  # how often a van that waits for its broker checks whether to stop
LAST_ANSWERS_S = 10.0


@dataclass(frozen=True, slots=True)
class Sent:
    """How many messages were sent, and how many the broker acknowledged."""

    sent: int
    acknowledged: int


class Publisher:
    """Publishes with QoS 1; at most `max_inflight` messages are unacknowledged."""

    def __init__(
        self, host: str, port: int, max_inflight: int, last_answers_s: float = LAST_ANSWERS_S
    ) -> None:
        self._sent = self._acknowledged = 0
        self._broker, self._refusal = f"{host}:{port}", ""
        self._max_inflight, self._last_answers_s = max_inflight, last_answers_s
        self._room = threading.Semaphore(max_inflight)
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2)
        self._client.max_inflight_messages_set(max_inflight)
        self._client.on_publish = self._acknowledge
        self._client.on_connect = self._connected
        try:
            self._client.connect(host, port)
        except OSError as error:
            found = f"{self._broker}: expected an MQTT broker, got {(error.strerror or str(error)).lower()}"
            raise RespireError(f"{found}; start one or name another with --broker") from error
        self._client.loop_start()

    def _connected(
        self, _client: mqtt.Client, _data: object, _flags: object, answer: ReasonCode, *_: object
    ) -> None:
        self._refusal = str(answer) if answer.is_failure else ""

    def _acknowledge(self, *_: object) -> None:
        self._acknowledged += 1
        self._room.release()

    def publish(self, topic: str, payload: bytes, stopped: Callable[[], bool]) -> bool:
        """Send one message when fewer than `max_inflight` are unacknowledged; False if stopped before."""
        while not self._room.acquire(timeout=LOOK_UP_S):
            if self._refusal:
                raise RespireError(
                    f"{self._broker}: expected to be let in, got {self._refusal}; allow anonymous clients"
                )
            if stopped():
                return False
        self._client.publish(topic, payload, qos=1)
        self._sent += 1
        return True

    def close(self) -> Sent:
        """Wait for the last acknowledgements, for a limited time: the broker may be gone."""
        patience_s = 0.0 if self._refusal else self._last_answers_s
        # When every permit is taken back, no message is unacknowledged.
        for _ in range(self._max_inflight):
            if not self._room.acquire(timeout=patience_s):
                break
        self._client.disconnect()
        self._client.loop_stop()
        return Sent(self._sent, self._acknowledged)


def publish(
    minutes: Iterable[Minute],
    publisher: Publisher,
    template: str,
    stopped: Callable[[], bool],
    reference: bool = False,
) -> Iterator[Minute]:
    """Publish the minutes until stopped, with a reference if asked; yield each when its messages are sent."""
    for minute in minutes:
        beside = [reference_message(minute)] if reference else []
        if not all(
            publisher.publish(*message, stopped) for message in (*messages(minute, template), *beside)
        ):
            return
        yield minute


def reference_message(minute: Minute) -> tuple[str, bytes]:
    """The true CO of a minute, as a reference beside the van publishes it.

    >>> reference_message(Minute(1706782500000, 0.83213, {}))
    ('reference/co', b'{"at":"2024-02-01T10:15:00Z","value":0.832}')
    """
    return REFERENCE, _json({"at": format_time(minute.at_ms), "value": round(minute.co, 3)})


def messages(minute: Minute, template: str) -> Iterator[tuple[str, bytes]]:
    """The topics and payloads of one minute, one a package or one a channel.

    >>> minute = Minute(1706782500000, 0.8, {"5A2D": {"op1": 231.4, "op2": 206.1, "temperature": 24.3}})
    >>> for topic, payload in messages(minute, COMBINED):
    ...     print(topic, payload.decode())
    sensors/5A2D {"at":"2024-02-01T10:15:00Z","op1":231.4,"op2":206.1,"temperature":24.3}
    >>> next(messages(minute, PER_CHANNEL))
    ('sensors/5A2D/op1', b'{"at":"2024-02-01T10:15:00Z","value":231.4}')
    """
    at = format_time(minute.at_ms)
    for sensor, channels in minute.readings.items():
        if "{channel}" not in template:
            yield template.format(sensor=sensor), _json({"at": at, **channels})
            continue
        for channel, value in channels.items():
            yield template.format(sensor=sensor, channel=channel), _json({"at": at, "value": value})


def _json(record: dict[str, object]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()
