"""A bare paho subscriber that ignores its messages, to compare the agent with."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.broker import Mosquitto, client
from tests.support.processes import start

TOPICS = 600
CONFIG = ("max_inflight_messages 200",)

BARE = """
import resource, sys, time
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
port, expected = int(sys.argv[1]), int(sys.argv[2])
client = Client(CallbackAPIVersion.VERSION2, client_id="bare", clean_session=False)
count = 0
first = last = 0.0
def on_message(client, data, message):
    global count, first, last
    count += 1
    first = first or time.monotonic()
    last = time.monotonic()
client.on_message = on_message
client.on_connect = lambda c, *rest: c.subscribe([("sensors/+/+", 1)])
client.on_subscribe = lambda *rest: print("ready", flush=True)
client.connect("127.0.0.1", port)
client.loop_start()
while not client.is_connected():
    time.sleep(0.01)
begun = resource.getrusage(resource.RUSAGE_SELF)
while count < expected:
    time.sleep(0.05)
done = resource.getrusage(resource.RUSAGE_SELF)
cpu = done.ru_utime + done.ru_stime - begun.ru_utime - begun.ru_stime
print(cpu, last - first, flush=True)
client.disconnect()
"""


def publish(broker: Mosquitto, messages: int, start_ms: int, rate: float | None = None) -> None:
    """Publish JSON readings over 600 topics at QoS 1; event time advances one minute a round."""
    channels = ("op1", "op2", "temperature")
    with client(broker) as publisher:
        begun = time.monotonic()
        for n in range(messages):
            at_ms = start_ms + n // TOPICS * 60_000
            payload = json.dumps({"value": 231.4 + n % 97 / 10, "at": at_ms})
            sent = publisher.publish(f"sensors/S{n % TOPICS // 3}/{channels[n % 3]}", payload, qos=1)
            if rate:
                time.sleep(max(0.0, begun + n / rate - time.monotonic()))
            elif n % 500 == 499:
                sent.wait_for_publish(60)
        sent.wait_for_publish(60)


def bare(messages: int) -> tuple[float, float]:
    """CPU seconds and seconds of a bare subscriber for messages queued at the broker."""
    with tempfile.TemporaryDirectory() as place:
        broker = Mosquitto(Path(place), *CONFIG)
        try:
            return _bare(broker, messages)
        finally:
            broker.stop()


def _bare(broker: Mosquitto, messages: int) -> tuple[float, float]:
    command = [sys.executable, "-c", BARE, str(broker.port)]
    first = start([*command, "1"], stdout=subprocess.PIPE, text=True)
    assert first.stdout
    first.stdout.readline()
    publish(broker, 1, 0)
    first.wait(30)
    publish(broker, messages, 1_706_778_000_000)
    done = subprocess.run(
        [*command, str(messages)], stdout=subprocess.PIPE, text=True, check=True, timeout=300
    )
    cpu_s, wall_s = map(float, done.stdout.splitlines()[-1].split())
    return cpu_s, wall_s


def bare_cpu_us(messages: int) -> float:
    """CPU microseconds a message."""
    return bare(messages)[0] / messages * 1e6
