"""A reference beside the van, over a real broker: journalled, scored, and the same after kills."""

import json
import random
from contextlib import closing
from pathlib import Path

import pytest
from paho.mqtt.client import Client

from edge_agent.archive import Archive
from edge_agent.core.messages import decode_estimate
from edge_agent.core.reference import REFERENCE
from tests.support.agents import QUICK, START_MS, health, publish, readings, retained
from tests.support.broker import AT_MOST_S, AgentProcess, Broker, client, wait_until

MINUTES = 77  # five windows and the minutes that close them, with the grace
SCORE = "respire/van-1/calibrated/5A2D/co/score"
VALUES = {START_MS + minute * 60_000: 0.8 + 0.01 * minute for minute in range(MINUTES)}


def refer(publisher: Client, values: dict[int, float]) -> None:
    payloads = [json.dumps({"value": value, "at": at_ms}) for at_ms, value in values.items()]
    for sent in [publisher.publish("reference/co", payload, qos=1) for payload in payloads]:
        sent.wait_for_publish(AT_MOST_S)


def between(first: int, last: int) -> dict[int, float]:
    """The values of some minutes."""
    return {at_ms: value for at_ms, value in VALUES.items() if first <= (at_ms - START_MS) // 60_000 < last}


def journalled(state: Path) -> dict[int, float]:
    """The readings of the reference in a journal, each time once."""
    with closing(Archive(state)) as archive:
        kept = [each for batch in archive.batches() for each in batch or () if each.sensor == REFERENCE]
    return {each.at_ms: each.value for each in reversed(kept)}


def test_kills_lose_no_reading_of_a_reference_and_change_no_score(
    tmp_path: Path, durable_broker: Broker, bundles: Path
) -> None:
    """Two kills -9, right after the broker has the readings; the score is that of the estimates."""
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, f"[reference]\n{QUICK}").start()
    agent.wait_for("broker.connected")
    stream = readings(MINUTES, sensors=("5A2D",))
    with client(durable_broker) as van:
        for kills, first in enumerate((0, 30), 1):
            publish(van, [each for each in stream if first <= (each.at_ms - START_MS) // 60_000 < first + 30])
            refer(van, between(first, first + 30))
            agent.kill()
            agent.start().wait_for("broker.connected", kills + 1)
        publish(van, [each for each in stream if (each.at_ms - START_MS) // 60_000 >= 60])
        refer(van, between(60, MINUTES))
        van.publish("reference/co", b"none", qos=1).wait_for_publish(AT_MOST_S)
    agent.wait_for("reference.rejected")
    wait_until(lambda: scored(durable_broker) >= 5, what="five windows")
    score = json.loads(retained(durable_broker, SCORE))
    told = health(durable_broker)["reference"]
    agent.stop()
    assert journalled(agent.state) == VALUES
    assert (score["from"], score["to"]) == ("2024-02-01T09:00:00Z", "2024-02-01T10:15:00Z")
    assert told["scores"]["5A2D"]["bias"] == score["bias"] == expected_bias(agent.state)  # type: ignore[index]
    assert told["last_reading"] == "2024-02-01T10:16:00Z"  # type: ignore[index]


def scored(broker: Broker) -> int:
    told = health(broker)["reference"]
    return int(told["scores"].get("5A2D", {"windows": 0})["windows"])  # type: ignore[index]


def expected_bias(state: Path) -> float:
    """From the journal: the mean of the estimates minus the mean of the reference's values."""
    with closing(Archive(state)) as archive:
        estimates = [
            decode_estimate(each) for each in archive.estimates("5A2D", START_MS, START_MS + 4_500_000)
        ]
    values = [each.value for each in estimates if each.value is not None]
    reference = list(between(0, 75).values())
    return round(sum(values) / len(values) - sum(reference) / len(reference), 9)


@pytest.mark.long
def test_fifty_kills_lose_no_reading_of_a_reference(
    tmp_path: Path, durable_broker: Broker, bundles: Path
) -> None:
    """A value a second, in bursts; the agent is killed while they come, before or after a commit."""
    chance, sent = random.Random(1), dict[int, float]()
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, f"[reference]\n{QUICK}").start()
    agent.wait_for("broker.connected")
    with client(durable_broker) as van:
        for kills in range(2, 52):
            first_ms = START_MS + len(sent) * 1_000
            burst = {first_ms + n * 1_000: chance.uniform(0.2, 2.0) for n in range(chance.randrange(5, 60))}
            refer(van, burst)
            sent |= burst
            agent.kill()
            agent.start().wait_for("broker.connected", kills)
        van.publish("reference/co", b"none", qos=1).wait_for_publish(AT_MOST_S)
    agent.wait_for("reference.rejected")
    agent.stop()
    assert journalled(agent.state) == sent
