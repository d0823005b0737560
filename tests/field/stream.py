"""Readings without end; each is noted when the broker has acknowledged it. In a process of its own.

python -m tests.field.stream PORT LOG    until SIGTERM

5A2D and B send three channels with a stamp, five times a second, 2 s apart, so a window of 60 s closes every
6 s. U sends one channel without a stamp; every value occurs once.
The last message is of the sensor END: when the agent has it, the agent has all.
"""

import json
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

EVERY_S = 0.2


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


def main() -> None:
    """Publish until a signal comes."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    stream = Stream(int(sys.argv[1]), Path(sys.argv[2]))
    base, began, i = (int(time.time()) - 2 * 86_400) // 60 * 60, time.monotonic(), 0
    while not stopped.is_set():
        for sensor, slope in (("5A2D", 0.001), ("B", 0.003)):
            value = {
                "at": base + 2 * i,
                "op1": 200 + i * slope,
                "op2": 190 + i * 0.002,
                "temperature": 20 + i % 50 / 10,
            }
            stream.say(f"sensors/{sensor}", sensor, value)
        stream.say("sensors/U/op1", "U", i + 0.25)
        i += 1
        stopped.wait(max(0.0, began + i * EVERY_S - time.monotonic()))
    stream.say("sensors/END/op1", "END", {"at": int(time.time()) - 86_400, "value": 1.0})
    stream.close()


if __name__ == "__main__":
    main()
