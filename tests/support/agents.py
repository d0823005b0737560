"""An agent as a real process at a real broker: what it is sent, and what it says."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from paho.mqtt.client import Client, MQTTMessage, MQTTMessageInfo

from edge_agent.bundles import Bundles
from edge_agent.core import bundle
from edge_agent.core.messages import Estimate, Reading, decode_estimate, encode_estimate
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Windows
from tests.conftest import make_model, make_warming_model
from tests.support.broker import AT_MOST_S, AgentProcess, Broker, client, subscribe, wait_until

SENSORS = ("1FEA", "5092", "5A2D", "5CB6", "B5FF", "D3EB")
START_MS = 1_706_778_000_000  # a multiple of 900 s
# A test closes windows with later readings: a busy machine may stand still for longer than a short patience.
QUICK = "[windows]\ngrace_s = 1.0\npatience_s = 120.0\n[health]\ninterval_s = 0.2\n"


def readings(minutes: int = 120, sensors: tuple[str, ...] = SENSORS, seed: int = 1) -> list[Reading]:
    """A van's stream in order of time, each channel with its own wobble."""
    chance = random.Random(seed)
    return [
        Reading(
            sensor, channel, START_MS + minute * 60_000 + chance.randrange(50_000), chance.gauss(level, 1.5)
        )
        for minute in range(minutes)
        for sensor in sensors
        for channel, level in (("op1", 231.0), ("op2", 206.0), ("temperature", 24.0))
    ]


def publish(publisher: Client, stream: list[Reading]) -> None:
    """Every reading as a message of its own, acknowledged by the broker before this returns."""
    for each in [send(publisher, reading) for reading in stream]:
        each.wait_for_publish(AT_MOST_S)


def send(publisher: Client, reading: Reading) -> MQTTMessageInfo:
    """One reading, on its way."""
    payload = json.dumps({"value": reading.value, "at": reading.at_ms})
    return publisher.publish(f"sensors/{reading.sensor}/{reading.channel}", payload, qos=1)


def replayed(stream: list[Reading], bundles: Path) -> dict[tuple[str, int], bytes]:
    """What `edge-agent replay` makes of the same readings: (sensor, start) -> the estimate's bytes."""
    estimates = {}
    for sensor in {r.sensor for r in stream}:
        windows = Windows(grace_ms=1_000)
        pipeline = Pipeline(windows, Bundles(bundles).models, agent="van-1")
        for estimate in pipeline.replay(r for r in stream if r.sensor == sensor):
            estimates[sensor, estimate.start_ms] = encode_estimate(estimate)
    return estimates


def with_closers(stream: list[Reading]) -> list[Reading]:
    """The stream and, for each sensor, one reading whose stamp closes its last window."""
    end_ms = max(r.at_ms for r in stream) // 900_000 * 900_000 + 901_000
    return stream + [Reading(sensor, "op1", end_ms, 231.0) for sensor in sorted({r.sensor for r in stream})]


def expected(stream: list[Reading], bundles: Path) -> dict[tuple[str, int], bytes]:
    """What an undisturbed run gives: replay, without the windows that only the closers opened."""
    last_ms = max(r.at_ms for r in stream)
    return {key: payload for key, payload in replayed(stream, bundles).items() if key[1] <= last_ms}


class Collector:
    """A consumer with a kept session: every estimate it was sent, in order of arrival."""

    def __init__(self, consumer: Client, topic: str = "respire/van-1/calibrated/+/co") -> None:
        self.estimates: list[Estimate] = []
        self.payloads: dict[tuple[str, int], set[bytes]] = {}
        consumer.on_message = self._on_message
        subscribe(consumer, topic)

    def _on_message(self, _client: Client, _data: object, message: object) -> None:
        payload: bytes = message.payload  # type: ignore[attr-defined]
        estimate = decode_estimate(payload)
        self.estimates.append(estimate)
        self.payloads.setdefault((estimate.sensor, estimate.start_ms), set()).add(payload)

    def once(self) -> dict[tuple[str, int], bytes]:
        """Each estimate once; a repeated one must be the same to the last bit."""
        assert all(len(versions) == 1 for versions in self.payloads.values())
        return {key: next(iter(versions)) for key, versions in self.payloads.items()}


@pytest.fixture
def bundles(tmp_path: Path) -> Path:
    directory = tmp_path / "bundles"
    directory.mkdir()
    for seed, sensor in enumerate(SENSORS):
        make = make_warming_model if seed % 2 else make_model
        (directory / f"{sensor}.bundle").write_bytes(bundle.encode(make(sensor, seed=seed)))
    return directory


@pytest.fixture
def agent(tmp_path: Path, broker: Broker, bundles: Path) -> Iterator[AgentProcess]:
    process = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK).start()
    process.wait_for("broker.connected")
    yield process
    process.stop()


@pytest.fixture
def publisher(broker: Broker) -> Iterator[Client]:
    with client(broker) as made:
        yield made


@pytest.fixture
def collector(broker: Broker) -> Iterator[Collector]:
    with client(broker) as made:
        yield Collector(made)


def retained(broker: Broker, topic: str) -> bytes:
    """What a newcomer is given at once."""
    got: dict[str, bytes] = {}
    with client(broker) as newcomer:

        def keep(_client: Client, _data: object, message: MQTTMessage) -> None:
            got.setdefault(message.topic, bytes(message.payload))

        newcomer.on_message = keep
        newcomer.subscribe(topic, qos=1)
        wait_until(lambda: topic in got, what=topic)  # amqtt sometimes adds messages of other topics
    return got[topic]


def health(broker: Broker) -> dict[str, object]:
    return dict(json.loads(retained(broker, "respire/van-1/health")))
