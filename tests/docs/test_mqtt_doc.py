"""docs/mqtt.md describes what the code does: tables against real messages, its consumer with a real agent."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from edge_agent import history, scoring, settings
from edge_agent.core import positions, quality, request
from edge_agent.core.alerts import Limit, Transition, alert_record
from edge_agent.core.card import card
from edge_agent.core.colocation import Score, score_record
from edge_agent.core.consensus_messages import consensus_of
from edge_agent.core.mean_messages import mean_estimates
from edge_agent.core.messages import Estimate, decode_estimate, estimate_record, parse_time
from edge_agent.core.model import Model
from edge_agent.core.model_changes import ModelChanges
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.positions import decode_fix
from edge_agent.core.reference import decode_reference
from edge_agent.core.suspicions import CODES
from edge_agent.core.topics import CONSENSUS
from edge_agent.core.windows import MAX_TOTAL, Windows
from tests.support.agents import QUICK, Collector, bundles, health, publish, readings, retained
from tests.support.agents import agent as agent  # noqa: PLC0414 - a fixture
from tests.support.broker import AT_MOST_S, AgentProcess, Broker, client, wait_until
from tests.support.processes import start

__all__ = ["bundles"]

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "mqtt.md").read_text()
ON_ONE_LINE = " ".join(TEXT.split())


def column(heading: str) -> list[str]:
    """The first column of the table with that heading, without its marks."""
    lines = iter(TEXT.splitlines())
    for line in lines:
        if line.startswith(f"| {heading} |"):
            break
    names = []
    for line in lines:
        if not line.startswith("|"):
            break
        names.append(line.split("|")[1].strip().strip("`"))
    return names[1:]


def columns(heading: str) -> list[list[str]]:
    """Every such table, where there are several."""
    parts = TEXT.split(f"\n| {heading} | ")[1:]
    return [re.findall(r"^\| `([^`]+)` \|", part.split("\n\n")[0], re.MULTILINE) for part in parts]


def test_every_field_of_an_estimate_is_described_in_order() -> None:
    described, *_ = columns("field")
    assert described == list(estimate_record(Estimate("5A2D", 0, 900_000, 1, (), {}, {})))


def test_the_example_is_an_estimate() -> None:
    example = TEXT.split("## Estimates")[1].split("\n\n")[1]
    decoded = decode_estimate(example.encode())
    assert estimate_record(decoded) == json.loads(example)


def test_every_reason_is_described() -> None:
    """The codes are the string literals with an underscore in the two modules that give reasons."""
    found = set()
    for module in ("quality", "pipeline"):
        for node in ast.walk(ast.parse((ROOT / "edge_agent" / "core" / f"{module}.py").read_text())):
            if isinstance(node, ast.Constant) and re.fullmatch(
                r"\w*[a-z]_[a-z]\w*|_[a-z_]+", str(node.value)
            ):
                found.add(re.sub("^_", "*_", str(node.value)))
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "append":
                found.update(str(each.value) for each in node.args if isinstance(each, ast.Constant))
    assert set(column("reason")) == found | {*CODES}
    assert [int(flag) for flag in column("flag")] == list(quality.Flag)


def test_the_example_is_an_alert_with_the_settings_of_the_page() -> None:
    part = TEXT.split("## Alerts")[1]
    alert = settings.Settings(**tomllib.loads(part.split("```toml")[1].split("```")[0])).alerts[0]
    limit = Limit(alert.name, alert.above, alert.below, alert.mean)
    example = json.loads(part.split("    {")[1].split("\n\n")[0].join(["{", ""]))
    times = parse_time(example["since"]), parse_time(example["at"])
    transition = Transition(limit, "5A2D", "raised", *times, 9.42, "ppm")
    assert alert_record(transition, "van-1") == example
    assert column("field of an alert") == list(example)


def test_every_field_of_a_card_is_described_in_order(model: Model) -> None:
    described = columns("field")[2]
    assert described == [*card(model), *ModelChanges().fields("5A2D")]


def test_health_is_described_as_a_real_agent_publishes_it(agent: AgentProcess, broker: Broker) -> None:
    told = health(broker)
    assert columns("field")[1] == list(told)
    assert told["reference"] is None
    assert column("outcome") == list(told["readings"])  # type: ignore[call-overload]
    assert column("field of `outbox`") == list(told["outbox"])  # type: ignore[call-overload]
    assert column("field of a problem") == ["code", "since", "sensor", "advice"]
    assert column("field of a sensor") == list(told["sensors"]["5A2D"])  # type: ignore[index]


def test_every_field_of_a_score_is_described(model: Model) -> None:
    """Also in the example; and what health has of the reference."""
    described = TEXT.split("## Reference")[1].split("\n\n")[2]
    score = Score("5A2D", "CO", 0, 900_000, 4, "ppm", 0.1, 0.1, 0.9, 0.9, 0.9, model.id)
    for names in (column("field of a score"), list(json.loads(example("## Reference", '    {"v"')))):
        assert names == list(score_record(score, "van-1"))
    assert decode_reference("reference/{gas}", "reference/co", described.split()[1].encode()).value == 0.83
    assert column("outcome of a reference value") == [*map(str, scoring.COUNTED), "rejected", "unstampable"]


def example(heading: str, begins: str) -> str:
    """The first example below a heading that begins so."""
    lines = TEXT.split(heading)[1].partition(begins)
    return begins + lines[2].split("\n\n")[0]


def test_every_field_of_a_position_is_described(tmp_path: Path, broker: Broker, bundles: Path) -> None:
    """Against a real agent with a position over MQTT: the estimate's, the published one, and health."""
    described = TEXT.split("## Position")[1].split("\n\n")[2]
    where = f'[position]\ntopic = "van/position"\n{QUICK}'
    process = AgentProcess(tmp_path / "agent", broker.port, bundles, where).start()
    process.wait_for("broker.connected")
    with client(broker) as van, client(broker) as ear:
        collector = Collector(ear)
        for line in described.splitlines():
            decode_fix(line.strip().encode())
            here = line.replace("2024-02-01T10:15:30Z", "2024-02-01T09:00:30Z").replace(
                "1706782530", "1706778060"
            )
            van.publish("van/position", here.strip(), qos=1).wait_for_publish(AT_MOST_S)
        publish(van, readings(minutes=16, sensors=("5A2D",)))
        wait_until(lambda: collector.estimates)
        told = health(broker)["position"]
        published = json.loads(retained(broker, "respire/van-1/position"))
    process.stop()
    position = collector.estimates[0].position
    assert position
    assert column("field of a position") == list(position._asdict())
    assert position.fixes == 2
    assert column("field of the published position") == list(published)
    assert column("field of the health's position") == list(told)  # type: ignore[call-overload]
    assert column("outcome of a fix") == list(told["fixes"])  # type: ignore[index]


def test_the_topics_are_the_defaults() -> None:
    defaults = settings.Settings(agent="van-1")
    own, sensor = defaults.own_topics, "5A2D"
    expected = [topic.format(sensor=sensor, channel="op1") for topic in defaults.topics.readings]
    expected += [
        "reference/co",
        own.estimate(sensor),
        own.latest(sensor),
        own.series(f"{sensor}/1h"),
        own.series(f"{sensor}/8h"),
    ]
    expected += [own.model(sensor), own.series(CONSENSUS), own.latest(CONSENSUS), own.score(sensor)]
    expected += [
        own.alert(sensor, "co-8h"),
        own.status,
        own.health,
        own.position,
        own.request,
        own.response("{id}"),
    ]
    assert column("topic") == expected


def test_the_numbers_are_those_of_the_code() -> None:
    defaults = settings.Settings()
    windows, limits = defaults.windows, defaults.limits
    for words in (
        f"{windows.length_s} s long",
        f"the grace time ({windows.grace_s:g} s)",
        f"the patience time ({windows.patience_s:g} s)",
        f"more than {windows.future_s / 60:g} minutes (`future_s`)",
        f"fewer than {windows.coverage * 100:g} %",
        "more than two a second of this channel in this window (`max_readings`",
        f"{MAX_TOTAL:,} in all open windows".replace(",", " "),
        f"more than {limits.max_payload_bytes} bytes",
        f"of {limits.max_sensors} other sensors (`max_sensors`)",
        f"faster than {defaults.position.moving_kmh:g} km/h (`moving_kmh`)",
        f"more than {defaults.position.moving_m:g} m (`moving_m`)",
        f"from 0 to {positions.MAX_KMH:g} km/h",
        f"more than {positions.MAX_BYTES} bytes, or exactly 0, 0",
        f"the same {positions.SLOT_MS // 1000} seconds",
        f"remembers the last {positions.MOST} of them",
        f"keep-alive ({defaults.broker.keepalive_s} s)",
        f"nothing for {defaults.health.silent_s / 60:g} minutes",
        f"`last` is 1 to {request.MOST}",
        f"fit in {request.MAX_BYTES} bytes",
        f"more than {history.MAX_REQUESTS} requests",
        f"at least {quality.STUCK_READINGS} times",
    ):
        assert words in ON_ONE_LINE, words


def test_the_consumer_of_the_document_runs(tmp_path: Path, agent: AgentProcess, broker: Broker) -> None:
    """As printed, fifteen lines, against a real agent: each estimate once, also when it comes twice."""
    [program] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len([line for line in program.splitlines() if line]) == 15
    file = tmp_path / "consumer.py"
    file.write_text(program)
    with client(broker) as publisher, client(broker) as ear:
        early = b'{"agent":"EARLY","sensor":"","start":"","revision":0,"value":0,"unit":"","quality":9}'
        topic = "respire/van-1/calibrated/5A2D/co"
        publisher.publish("respire/early/calibrated/5A2D/co", early, qos=1, retain=True).wait_for_publish(
            AT_MOST_S
        )
        collector = Collector(ear, topic)
        command = [sys.executable, file, broker.host, str(broker.port)]
        with start(command, stdout=subprocess.PIPE, text=True) as consumer:
            assert consumer.stdout
            assert consumer.stdout.readline().startswith("EARLY "), "it has subscribed"
            publish(publisher, readings(minutes=31, sensors=("5A2D",)))
            lines = [consumer.stdout.readline() for _ in range(2)]
            wait_until(lambda: len(collector.payloads) >= 2)
            heard = sorted(collector.once().items())[:2]
            again = retained(broker, f"{topic}/latest")
            publisher.publish(topic, again, qos=1).wait_for_publish(AT_MOST_S)
            # Another van has a sensor of the same name.
            other = again.replace(b"van-1", b"van-2")
            publisher.publish("respire/van-2/calibrated/5A2D/co", other, qos=1)
            last = consumer.stdout.readline()
            consumer.terminate()
    values = [decode_estimate(payload).value for _, payload in heard]
    assert [line.split() for line in lines] == [
        ["van-1", "5A2D", "2024-02-01T09:00:00Z", str(values[0]), "ppm", "quality", "1"],
        ["van-1", "5A2D", "2024-02-01T09:15:00Z", str(values[1]), "ppm", "quality", "1"],
    ]
    assert last.startswith("van-2 5A2D "), "what came twice was not printed twice"


def test_every_field_of_a_mean_is_described_in_order(model: Model) -> None:
    """And the example is the mean of an hour of full windows."""
    stream = readings(minutes=60, sensors=("5A2D",))
    hour = list(Pipeline(Windows(), {"5A2D": model}, agent="van-1").replay(stream))
    [mean] = mean_estimates(hour, "1h", 0, hour[-1].end_ms)
    record, example = mean.record(), json.loads(TEXT.split("## Means")[1].split("\n\n")[2])
    assert column("field of a mean") == list(record) == list(example)
    assert (record["minutes"], record["expected"]) == (example["minutes"], example["expected"])


def test_every_field_of_a_consensus_is_described_in_order() -> None:
    """And the example is one; every reason to leave a sensor out, and of the consensus, is described."""
    pair = [Estimate(sensor, 0, 900_000, 9, (), {}, {}) for sensor in ("5A2D", "5CB6")]
    consensus = consensus_of(pair)
    assert consensus
    example = json.loads(TEXT.split("## Consensus")[1].split("\n\n")[2])
    assert column("field of a consensus") == list(consensus.record()) == list(example)
    source = (ROOT / "edge_agent/core/consensus_messages.py").read_text()
    codes = {*column("left out because"), *column("reason of a consensus")}
    assert all(f'"{code}"' in source for code in codes - {*CODES})
    assert {*CODES} < codes
