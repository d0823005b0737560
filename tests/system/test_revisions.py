"""Late readings, end to end: a simulated van whose sensors send late and out of order, and kill -9."""

import json
import mmap
import random
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client, MQTTMessage

from edge_agent.archive import Archive
from edge_agent.bundles import Bundles
from edge_agent.core import bundle
from edge_agent.core.consensus_messages import consensus_of
from edge_agent.core.derived import content
from edge_agent.core.mean_messages import mean_estimates
from edge_agent.core.messages import Estimate, Reading, decode_estimate, encode_estimate
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Windows
from tests.conftest import make_model, make_warming_model
from tests.support.broker import AT_MOST_S, AgentProcess, Broker, client, subscribe, wait_until
from tests.support.processes import start

START_MS = 1_706_745_600_000  # midnight
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
TICK_MS = 15 * MINUTE_MS
CHANNELS = (("op1", 231.0), ("op2", 206.0), ("temperature", 24.0))
SITES = (0.0, 2.5, -3.0, 6.0)  # degrees warmer or colder at each of the four sites

Arrival = tuple[int, str, list[Reading]]  # when, sensor, what one message says


def arrivals(days: float, seed: int = 1) -> list[Arrival]:
    """One sensor in time, one whose afternoons come ten hours late, and one out of order."""
    chance = random.Random(seed)
    found: list[Arrival] = []
    for minute in range(int(days * 1440)):
        at_ms = START_MS + minute * MINUTE_MS
        warmer = SITES[minute // 1440 % 4]
        for sensor, late_ms in (
            ("0001", 0),
            ("0002", 10 * HOUR_MS if minute % 1440 >= 720 else 0),
            ("0003", chance.choice((0, 0, 0, 7, 30, 95)) * MINUTE_MS),
        ):
            if chance.random() < 0.02:
                continue  # lost on its way
            stamp_ms = at_ms + chance.randrange(50_000)
            readings = [
                Reading(sensor, channel, stamp_ms, chance.gauss(level + warmer, 1.5))
                for channel, level in CHANNELS
            ]
            found.append((stamp_ms + late_ms, sensor, readings))
    return sorted(found, key=lambda each: each[0])


def expected(stream: list[Arrival], bundles: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What `replay` makes of all readings, sorted."""
    models = Bundles(bundles).models
    readings = sorted((each for _, _, said in stream for each in said), key=lambda each: each.at_ms)
    records = {}
    for sensor in {each.sensor for each in readings}:
        pipeline = Pipeline(Windows(), models, agent="van-1")
        for estimate in pipeline.replay(each for each in readings if each.sensor == sensor):
            record = json.loads(encode_estimate(estimate))
            records[sensor, record["start"]] = content(record)
    return records


def means(records: Iterable[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The means over hours of these estimates."""
    found = {}
    estimates = [decode_estimate(json.dumps({**each, "seq": 0, "revision": 0}).encode()) for each in records]
    for sensor in {each.sensor for each in estimates}:
        own = sorted((each for each in estimates if each.sensor == sensor), key=lambda each: each.start_ms)
        for every in ("1h", "8h"):
            for mean in mean_estimates(own, every, 0, own[-1].end_ms + DAY_MS):
                record = mean.record()
                found[sensor, every, record["start"]] = content(record)
    return found


def consensuses(records: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The consensus of each window of these estimates."""
    windows: dict[int, list[Estimate]] = {}
    for each in records:
        estimate = decode_estimate(json.dumps({**each, "seq": 0, "revision": 0}).encode())
        windows.setdefault(estimate.start_ms, []).append(estimate)
    made = [consensus_of(sorted(each, key=lambda one: one.sensor)) for each in windows.values()]
    return {record["start"]: content(record) for each in made if each and (record := each.record())}


class Consumer:
    """Every estimate by (sensor, start, revision); the same key must have the same bytes."""

    def __init__(self, consumer: Client) -> None:
        self.payloads: dict[tuple[str, str, int], bytes] = {}
        self.means: dict[tuple[str, str, str], dict[str, Any]] = {}  # sensor, span, start
        self.consensus: dict[str, dict[str, Any]] = {}  # start -> the newest
        self.contradictions: list[tuple[str, str, int]] = []
        consumer.on_message = self._on_message
        topics = [f"respire/van-1/calibrated/+/co{span}" for span in ("", "/1h", "/8h")]
        subscribe(consumer, *topics, "respire/van-1/consensus/co")

    def _on_message(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        record = json.loads(message.payload)
        if "mean" in record:
            place = record["sensor"], record["mean"], record["start"]
            if record["revision"] >= self.means.get(place, record)["revision"]:
                self.means[place] = record
            return
        if "left_out" in record:
            before = self.consensus.get(record["start"], record)
            self.consensus[record["start"]] = max(before, record, key=lambda each: int(each["revision"]))
        key = record.get("sensor", ""), record["start"], record["revision"]
        if self.payloads.setdefault(key, bytes(message.payload)) != bytes(message.payload):
            self.contradictions.append(key)

    def newest(self) -> dict[tuple[str, str], dict[str, Any]]:
        found = sorted(self.payloads.items(), key=lambda each: each[0][2])
        return {(sensor, begin): json.loads(payload) for (sensor, begin, _), payload in found if sensor}


class Gateway:
    """A simulated gateway: an agent as a process, with its clocks in a file."""

    def __init__(self, directory: Path, broker: Broker, bundles: Path) -> None:
        # The clock moves in steps of 15 minutes, which must not be taken for readings from the future.
        extra = "[windows]\nfuture_s = 3600\n[estimates]\nmeans = true\n[consensus]\n"
        extra += '[journal]\ncommit_messages = 5\ndurability = "process-crash"\n'
        self.agent = AgentProcess(directory, broker.port, bundles, extra)
        (directory / "clock").write_bytes(struct.pack("<q", START_MS))
        with (directory / "clock").open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 8)
        self._program = ["-m", "tests.support.simulated_agent", str(self.agent.config), directory / "clock"]

    def boot(self) -> None:
        with self.agent.log.open("ab") as log:
            self.agent.process = start([sys.executable, *map(str, self._program)], stderr=log.fileno())

    def set_clock(self, now_ms: int) -> None:
        struct.pack_into("<q", self._memory, 0, now_ms)


class Answers:
    """Asks the agent something, until it answers: it has then taken everything that was sent before."""

    def __init__(self, asker: Client) -> None:
        self._asker, self._heard = asker, set[str]()
        asker.on_message = self._on_message
        asker.subscribe("respire/van-1/response/+", qos=1)

    def _on_message(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        self._heard.add(message.topic.rpartition("/")[2])

    def ask(self, id_: str) -> None:
        deadline = time.monotonic() + AT_MOST_S
        while id_ not in self._heard:
            assert time.monotonic() < deadline, "the agent does not answer"
            self._asker.publish("respire/van-1/request", json.dumps({"id": id_}), qos=1)
            with suppress(TimeoutError):
                wait_until(lambda: id_ in self._heard, 0.5)


def simulate(gateway: Gateway, van: Client, stream: list[Arrival], kills: int, seed: int = 2) -> None:
    """Let the arrivals come in ticks of simulated time, and kill the agent at random moments."""
    chance, answers = random.Random(seed), Answers(van)
    last_ms = stream[-1][0] + DAY_MS
    ticks = range(START_MS + TICK_MS, last_ms, TICK_MS)
    doomed = {*chance.sample(ticks[:-96], kills)}
    place = 0
    for now_ms in (*ticks, *range(ticks[-1], ticks[-1] + DAY_MS, HOUR_MS)):
        gateway.set_clock(now_ms)
        sent = []
        while place < len(stream) and stream[place][0] < now_ms:
            _, sensor, said = stream[place]
            payload = {"at": said[0].at_ms, **{each.channel: each.value for each in said}}
            sent.append(van.publish(f"sensors/{sensor}", json.dumps(payload), qos=1))
            place += 1
        for each in sent:
            each.wait_for_publish(AT_MOST_S)
        if now_ms in doomed:
            time.sleep(chance.uniform(0.0, 0.05))  # a random moment: receiving, committing, revising
            gateway.agent.kill()
            gateway.boot()
        answers.ask(str(now_ms))


@pytest.fixture
def bundles(tmp_path: Path) -> Path:
    directory = tmp_path / "bundles"
    directory.mkdir()
    models = make_warming_model("0001"), make_warming_model("0002", seed=1), make_model("0003", seed=2)
    for model in models:
        (directory / f"{model.sensor}.bundle").write_bytes(bundle.encode(model))
    return directory


def run(directory: Path, broker: Broker, bundles: Path, days: float, kills: int) -> None:
    stream = arrivals(days)
    gateway = Gateway(directory / "agent", broker, bundles)
    gateway.boot()
    gateway.agent.wait_for("broker.connected")
    with client(broker) as ear, client(broker) as van:
        consumer = Consumer(ear)
        simulate(gateway, van, stream, kills)
        replayed = expected(stream, bundles)
        averaged, agreed = means(replayed.values()), consensuses(replayed.values())
        wait_until(lambda: len(consumer.newest()) >= len(replayed), what="every window")
        wait_until(lambda: len(consumer.means) >= len(averaged), what="every mean")
        wait_until(lambda: len(consumer.consensus) >= len(agreed), what="every consensus")
        gateway.agent.kill()
    newest = consumer.newest()
    print(Counter(record["revision"] for record in newest.values()))
    assert consumer.contradictions == []
    assert {key: content(record) for key, record in newest.items()} == replayed
    assert max(record["revision"] for record in newest.values()) <= 8
    assert exported(gateway.agent.state) == replayed
    assert {place: content(record) for place, record in consumer.means.items()} == averaged
    assert {begin: content(record) for begin, record in consumer.consensus.items()} == agreed
    assert {"late_sensor", "late_readings"} <= {record["cause"] for record in consumer.consensus.values()}


def exported(state: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What `edge-agent export` has: the newest revision of each window."""
    with closing(Archive(state)) as archive:
        records = [
            json.loads(payload)
            for sensor in archive.sensors()
            for payload in archive.estimates(sensor, 0, 1 << 50)
        ]
    return {(record["sensor"], record["start"]): content(record) for record in records}


def test_late_readings_end_in_the_stream_that_replay_gives(
    tmp_path: Path, durable_broker: Broker, bundles: Path
) -> None:
    """A day, three kills: the newest revisions equal replay of all readings, sorted."""
    run(tmp_path, durable_broker, bundles, days=1, kills=3)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("kills", [0, 50])
def test_a_week_of_late_readings(tmp_path: Path, durable_broker: Broker, bundles: Path, kills: int) -> None:
    """Four sites, afternoons ten hours late, readings out of order; with 50 kills the same stream."""
    run(tmp_path, durable_broker, bundles, days=7, kills=kills)
