"""Readings without end; each is noted when the broker has acknowledged it. In a process of its own.

python -m tests.field.stream PORT LOG    until SIGTERM

5A2D and B send three channels with stamps 2 s apart, U sends one channel without a stamp; every value occurs
once. They take turns, 15 messages a second, so a window of 60 s closes every 6 s. After SIGUSR1 a message
comes every 8 s: the agent then commits only once a minute. SIGUSR2 makes it quick again.
The last message is of the sensor END: when the agent has it, the agent has all.
"""

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

QUICK_S, SLOW_S = 1 / 15, 8.0
Message = tuple[str, str, Any]  # topic, sensor, payload


class Stream:
    """Publishes at QoS 1 and writes a line for each message that was acknowledged."""

    def __init__(self, port: int, log: Path) -> None:
        self._log = log.open("a", buffering=1)
        self._lock = threading.Lock()
        self._waiting: dict[int, str] = {}
        self._early: set[int] = set()
        self._client = Client(CallbackAPIVersion.VERSION2, client_id="stream")
        self._client.on_publish = self._acknowledged
        self._client.max_inflight_messages_set(0)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def say(self, topic: str, sensor: str, payload: Any) -> None:
        """Publish a payload."""
        line = json.dumps([sensor, payload])
        number = self._client.publish(topic, json.dumps(payload), qos=1).mid
        with self._lock:
            if number in self._early:
                self._early.discard(number)
                self._log.write(line + "\n")
            else:
                self._waiting[number] = line

    def _acknowledged(self, *arguments: Any) -> None:
        number = arguments[2]
        with self._lock:
            line = self._waiting.pop(number, None)
            if line is None:
                self._early.add(number)
            else:
                self._log.write(line + "\n")

    def close(self) -> None:
        """Wait for the last acknowledgements."""
        until = time.monotonic() + 10
        while self._waiting and time.monotonic() < until:
            time.sleep(0.05)
        self._client.disconnect()
        self._client.loop_stop()


class Pace:
    """The time from message to message; signals change it and end the stream."""

    def __init__(self) -> None:
        self._seconds, self._stopped = QUICK_S, threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: self._stopped.set())
        signal.signal(signal.SIGUSR1, lambda *_: self._set(SLOW_S))
        signal.signal(signal.SIGUSR2, lambda *_: self._set(QUICK_S))

    def _set(self, seconds: float) -> None:
        self._seconds = seconds

    def wait(self) -> bool:
        """False if there is no next message."""
        return not self._stopped.wait(self._seconds)


def messages() -> Iterator[Message]:
    """Without end, two days ago."""
    base = (int(time.time()) - 2 * 86_400) // 60 * 60
    for i in count():
        for sensor, slope in (("5A2D", 0.001), ("B", 0.003)):
            value = {
                "at": base + 2 * i,
                "op1": 200 + i * slope,
                "op2": 190 + i * 0.002,
                "temperature": 20 + i % 50 / 10,
            }
            yield f"sensors/{sensor}", sensor, value
        yield "sensors/U/op1", "U", i + 0.25


def main() -> None:
    """Publish until a signal comes."""
    pace, stream = Pace(), Stream(int(sys.argv[1]), Path(sys.argv[2]))
    for topic, sensor, payload in messages():
        stream.say(topic, sensor, payload)
        if not pace.wait():
            break
    stream.say("sensors/END/op1", "END", {"at": int(time.time()) - 86_400, "value": 1.0})
    stream.close()


if __name__ == "__main__":
    main()
