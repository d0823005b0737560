"""InfluxDB from Debian, filled by the consumer of docs/integrations.md, holds what the journal holds."""

import json
import os
import re
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.processes import Process, free_port, listening
from edge_agent.core.messages import Reading, format_time
from tests.docs.test_integrations_doc import program
from tests.support.agents import START_MS, bundles, publish, readings
from tests.support.broker import AgentProcess, Broker, client, wait_until
from tests.support.needs import require
from tests.support.processes import run_program, start

__all__ = ["bundles"]

DEPLOY = Path(__file__).parents[2] / "deploy" / "integrations"
FIELDS = ("value", "low", "high", "quality", "revision", "seq", "unit", "model")


class InfluxDB:
    """The influxd program on loopback, with a database."""

    def __init__(self, directory: Path) -> None:
        require("influxdb")
        self._directory, self._port, self._other = directory, free_port(), free_port()
        self.process: Process | None = None
        directory.mkdir()
        self.start()
        self.ask("CREATE DATABASE respire")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        names = {"META_DIR": "meta", "DATA_DIR": "data", "DATA_WAL_DIR": "wal"}
        settings = {f"INFLUXDB_{key}": str(self._directory / name) for key, name in names.items()}
        settings |= {
            "INFLUXDB_HTTP_BIND_ADDRESS": f"127.0.0.1:{self._port}",
            "INFLUXDB_BIND_ADDRESS": f"127.0.0.1:{self._other}",
            "INFLUXDB_REPORTING_DISABLED": "true",
            "INFLUXDB_MONITOR_STORE_ENABLED": "false",
        }
        with (self._directory / "log").open("ab") as log:
            self.process = start(["influxd"], env={**os.environ, **settings}, stdout=log, stderr=log)
        wait_until(lambda: listening(self._port), what="influxd")

    def stop(self) -> None:
        assert self.process
        self.process.terminate()
        self.process.wait(20)

    def ask(self, question: str) -> list[dict[str, Any]]:
        data = urllib.parse.urlencode({"db": "respire", "q": question, "epoch": "ms"}).encode()
        with urllib.request.urlopen(f"{self.url}/query", data) as answer:  # noqa: S310
            return list(json.load(answer)["results"][0].get("series", ()))

    def write(self, line: str) -> None:
        urllib.request.urlopen(f"{self.url}/write?db=respire", line.encode()).close()  # noqa: S310

    def points(self) -> dict[tuple[str, str, str], dict[str, Any]]:
        """Every point by agent, sensor and start."""
        found = {}
        for series in self.ask("SELECT * FROM co GROUP BY agent, sensor"):
            for row in series["values"]:
                point = dict(zip(series["columns"], row, strict=True))
                key = series["tags"]["agent"], series["tags"]["sensor"], format_time(point.pop("time"))
                found[key] = {name: value for name, value in point.items() if value is not None}
        return found


def exported(agent: AgentProcess) -> dict[tuple[str, str, str], dict[str, Any]]:
    """What `edge-agent export` says, in the same form."""
    command = [sys.executable, "-m", "edge_agent", "export", "--config", agent.config, "--format", "jsonl"]
    done = run_program(command, capture_output=True, text=True, check=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        (record["agent"], record["sensor"], record["start"]): {
            name: record[name] for name in FIELDS if record[name] is not None
        }
        for record in records
    }


def test_the_queries_of_the_dashboard_find_what_is_there(influxdb: InfluxDB) -> None:
    """Every query of deploy/integrations/grafana.json, with its variables filled in as Grafana does."""
    names = ("outbox_depth", "readings_rejected", "rss_bytes", "journal_bytes")
    influxdb.write(f"health,agent=van-1 {','.join(f'{name}=3' for name in names)}")
    influxdb.write("co,agent=van-1,sensor=5A2D value=0.8,low=0.7,high=0.9,quality=1,revision=0")
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    variables = {"agent": "van-1", "sensor": "(5A2D|D3EB)", "timeFilter": "time > now() - 1d"}
    queries = [each["query"] for each in dashboard["templating"]["list"]]
    queries += [target["query"] for panel in dashboard["panels"] for target in panel["targets"]]
    for query in queries:
        filled = re.sub(r"\$([a-zA-Z]+)", lambda name: variables[name[1]], query)
        assert len(influxdb.ask(filled)) == 1, query


@pytest.fixture
def influxdb(tmp_path: Path) -> InfluxDB:
    return InfluxDB(tmp_path / "influxdb")


def recent(sensors: tuple[str, ...]) -> list[Reading]:
    """Two hours of readings, and a minute more; the day of late readings is not over for them."""
    stream = readings(minutes=121, sensors=sensors)
    shift_ms = int(time.time()) // 900 * 900_000 - 7_200_000 - START_MS
    return [reading._replace(at_ms=reading.at_ms + shift_ms) for reading in stream]


def test_influxdb_holds_what_the_journal_holds(
    influxdb: InfluxDB, tmp_path: Path, durable_broker: Broker, bundles: Path
) -> None:
    """After a kill of the agent, an outage of the database and a revision."""
    quick = "[windows]\ngrace_s = 1.0\npatience_s = 600.0\nrevise_after_s = 0.5\n[health]\ninterval_s = 0.2\n"
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, quick)
    file = tmp_path / "influx.py"
    file.write_text(program("InfluxDB"))
    start([sys.executable, file, durable_broker.host, durable_broker.port, influxdb.url, "respire"])
    agent.start().wait_for("broker.connected")
    stream = recent(("5A2D", "no bundle, = here"))
    late = [each for each in stream[:90] if each[:2] == ("5A2D", "op1")][:2]
    in_time = [each for each in stream if each not in late]
    with client(durable_broker) as publisher:
        publish(publisher, in_time[:360])
        agent.kill()
        agent.start().wait_for("broker.connected", 2)
        wait_until(lambda: len(influxdb.points()) >= 6, what="the first hour")
        influxdb.stop()
        publish(publisher, in_time[360:])
        wait_until(lambda: len(exported(agent)) == 16, what="the second hour in the journal")
        influxdb.start()
        wait_until(lambda: len(influxdb.points()) == 16, what="the second hour in InfluxDB")
        before = exported(agent)
        assert influxdb.points() == before

        publish(publisher, late)
        agent.wait_for("window.revised")
        wait_until(lambda: influxdb.points() != before, what="the revision in InfluxDB")
        after = exported(agent)
        wait_until(lambda: influxdb.points() == after, what="what the journal holds")
        [(first, revised)] = [(key, point) for key, point in after.items() if before[key] != point]
        assert (revised["revision"], revised["value"] != before[first]["value"]) == (1, True)

        withdrawn = {"quality": 9.0, "revision": 2.0, "seq": 99.0}
        record = {**dict.fromkeys(FIELDS), **withdrawn, "agent": "van-1", "sensor": "5A2D", "start": first[2]}
        publisher.publish("respire/van-1/calibrated/5A2D/co", json.dumps(record), qos=1)
        wait_until(lambda: influxdb.points() == {**after, first: withdrawn}, what="a point without a value")
