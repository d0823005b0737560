"""docs/integrations.md names what there is: every metric, and files that exist."""

import itertools
import json
import re
import subprocess
import sys
import tomllib
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.processes import end
from edge_agent import cli
from edge_agent.change import Change
from edge_agent.core.alerts import Limit, Transition, alert_record
from edge_agent.core.messages import estimate_record
from edge_agent.homeassistant import agent_entities, sensor_entities
from edge_agent.journal import FILE, Journal
from edge_agent.prometheus import exposition
from edge_agent.settings import Settings
from tests.conftest import make_model
from tests.edge_agent.test_export import WINDOW_MS, estimate
from tests.edge_agent.test_prometheus import HEALTH
from tests.support.broker import AT_MOST_S, Broker, client, wait_until
from tests.support.processes import run_program, start

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "integrations.md").read_text()


def test_every_metric_is_described_in_order() -> None:
    told = re.findall(r"^# TYPE (\w+)", exposition(HEALTH, running=True), re.MULTILINE)
    assert re.findall(r"^\| `(edge_agent_\w+)` \|", TEXT, re.MULTILINE) == told


def program(heading: str) -> str:
    """The Python program of a part, as printed."""
    part = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    [text] = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    return str(text)


def test_each_alert_runs_the_command_once(tmp_path: Path, broker: Broker) -> None:
    """Neither an old state nor a repeated one runs it."""
    file, out = tmp_path / "alerts.py", tmp_path / "out"
    file.write_text(program("E-mail and messengers"))
    limit = Limit("co-8h", above=9.0, below=8.0)
    raised = Transition(limit, "5A2D", "raised", 0, 3_600_000, 9.42, "ppm")
    cleared = raised._replace(state="cleared", at_ms=7_200_000)
    with client(broker) as publisher:

        def publish(transition: Transition) -> bool:
            topic = f"respire/van-1/alert/{transition.sensor}/co-8h"
            payload = json.dumps(alert_record(transition, "van-1"))
            publisher.publish(topic, payload, qos=1, retain=True).wait_for_publish(AT_MOST_S)
            return out.exists()

        publish(raised._replace(sensor="OLD"))
        command = [sys.executable, file, broker.host, broker.port, "tee", "-a", out]
        start(command, stdout=subprocess.DEVNULL)
        # Until it has subscribed, every state is an old one.
        times = itertools.count(0, 60_000)
        wait_until(lambda: publish(raised._replace(sensor="PROBE", at_ms=next(times))), what="the program")
        for transition in (raised, raised, cleared, raised._replace(sensor="LAST")):
            publish(transition)
        wait_until(lambda: "LAST" in out.read_text(), what="the last alert")
    lines = [line for line in out.read_text().splitlines() if "PROBE" not in line]
    assert lines == [
        "van-1 5A2D: co-8h raised at 1970-01-01T01:00:00Z, 9.4 ppm (limit 9.0)",
        "van-1 5A2D: co-8h cleared at 1970-01-01T02:00:00Z, 9.4 ppm (limit 9.0)",
        "van-1 LAST: co-8h raised at 1970-01-01T01:00:00Z, 9.4 ppm (limit 9.0)",
    ]


def test_alerts_wait_in_the_broker_while_the_program_is_away(tmp_path: Path, durable_broker: Broker) -> None:
    """What was retained meanwhile does not hide them."""
    file, out = tmp_path / "alerts.py", tmp_path / "out"
    file.write_text(program("E-mail and messengers"))
    command = [sys.executable, file, durable_broker.host, durable_broker.port, "tee", "-a", out]
    limit = Limit("co-8h", above=9.0, below=8.0)
    times = itertools.count(3_600_000, 3_600_000)
    with client(durable_broker) as publisher:

        def publish(state: str) -> bool:
            record = alert_record(Transition(limit, "5A2D", state, 0, next(times), 9.42, "ppm"), "van-1")
            topic = "respire/van-1/alert/5A2D/co-8h"
            publisher.publish(topic, json.dumps(record), qos=1, retain=True).wait_for_publish(AT_MOST_S)
            return out.exists()

        first = start(command, stdout=subprocess.DEVNULL)
        wait_until(lambda: publish("raised"), what="the program")
        end(first)
        publish("cleared")
        publish("raised")
        start(command, stdout=subprocess.DEVNULL)
        states = re.compile(r"cleared.*\n.* raised.*\n$")
        wait_until(lambda: states.search(out.read_text()), what="both alerts, in order")


def test_the_pandas_program_reads_an_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.setenv("EDGE_AGENT_STATE", str(tmp_path))
    suspect = estimate(1, quality=3)
    with closing(Journal(tmp_path / FILE, WINDOW_MS)) as journal:
        others = (estimate(index) for index in range(2, 33))
        journal.commit(Change(estimates=[estimate(0), suspect, *others, estimate(0, "D3EB")]), now_ms=0)
        for options, name in re.findall(r"^edge-agent export(.*) > (\S+)$", TEXT, re.MULTILINE):
            assert cli.main(["export", *options.split()]) == 0
            (tmp_path / name).write_text(capsys.readouterr().out)
    (tmp_path / "read.py").write_text(program("pandas, R and spreadsheets"))
    done = run_program([sys.executable, "read.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    words = [line.split() for line in done.stdout.splitlines()]
    assert ["mean", "16.96875", "0.5"] in words, "without the suspect window"
    assert ["5A2D", "2024-02-01", "18.5"] in words, "from 10:00; from 11:00 on there are too few windows"


def flattened(record: Any, name: str = "") -> set[str]:
    """The names of a record's fields, as Telegraf makes them."""
    if not isinstance(record, dict):
        return {name}
    return {field for key, each in record.items() for field in flattened(each, f"{name}_{key}".lstrip("_"))}


def test_telegraf_tags_only_agent_and_sensor_and_names_fields_that_there_are() -> None:
    config = tomllib.loads((ROOT / "deploy/integrations/telegraf.conf").read_text())
    of_estimates, of_health = config["inputs"]["mqtt_consumer"]
    assert config["agent"] == {"omit_hostname": True}
    assert (of_estimates["tag_keys"], of_estimates["topic_tag"]) == (["agent", "sensor"], "")
    assert set(of_estimates["fieldinclude"]) <= flattened(estimate_record(estimate(0)))
    assert {"value", "quality", "revision", "model"} <= set(of_estimates["fieldinclude"])
    assert set(of_health["fieldinclude"]) <= flattened(HEALTH)
    for part, record in ((of_estimates, estimate_record(estimate(0))), (of_health, HEALTH)):
        datetime.fromisoformat(record[part["json_time_key"]])
        assert part["qos"] == 1
        assert part["persistent_session"]


def test_the_entities_of_home_assistant_are_those_of_the_code() -> None:
    """Their ids are made of the names of device and entity."""
    settings = Settings(agent="van-1", **tomllib.loads(TEXT.split("```toml")[1].split("```")[0]))
    made = (*agent_entities(settings), *sensor_entities(settings, make_model()))
    names = {f"{kind}.{each['device']['name']} {each['name']}".lower() for kind, _, each in made}
    described = set(re.findall(r"`((?:binary_)?sensor\.\w+)`", TEXT))
    assert described == {re.sub(r"[ -]", "_", name) for name in names}


def test_every_file_it_names_is_there() -> None:
    for name in set(re.findall(r"deploy/[\w./*-]+\w", TEXT)):
        assert list(ROOT.glob(name)) or list(ROOT.glob(f"{name}*")), name
