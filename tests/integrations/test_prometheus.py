"""Prometheus and node_exporter as real processes, with the files of deploy/integrations."""

import json
import os
import re
import shlex
import sys
import time
import urllib.parse
import urllib.request
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.processes import free_port, listening
from edge_agent.archive import newest_health
from tests.support.agents import bundles, publish, readings
from tests.support.broker import AgentProcess, Broker, Mosquitto, client, wait_until
from tests.support.needs import require
from tests.support.processes import run_program, start

__all__ = ["bundles"]

PLACE = Path(__file__).parents[2] / "deploy" / "integrations"
RULES = PLACE / "prometheus-rules.yml"
UNIT = PLACE / "edge-agent-metrics.service"
INSTALLED = "/opt/edge-agent/bin/edge-agent"
COLLECTOR = "/var/lib/prometheus/node-exporter"


class Prometheus:
    """Prometheus that asks node_exporter twice a second for the files in a directory."""

    def __init__(self, directory: Path) -> None:
        require("prometheus", "node_exporter")
        self.files = directory / "node-exporter"
        self.files.mkdir(parents=True)
        exporter, self._port = free_port(), free_port()
        config = directory / "prometheus.yml"
        targets = f"static_configs: [{{targets: ['127.0.0.1:{exporter}']}}]"
        config.write_text(
            f"global: {{scrape_interval: 500ms, evaluation_interval: 500ms}}\nrule_files: [{RULES}]\n"
            f"scrape_configs: [{{job_name: node, {targets}}}]\n"
        )
        log = (directory / "log").open("wb")
        textfile = ("--collector.disable-defaults", "--collector.textfile")
        start(
            [
                "prometheus-node-exporter",
                *textfile,
                f"--collector.textfile.directory={self.files}",
                f"--web.listen-address=127.0.0.1:{exporter}",
            ],
            stdout=log,
            stderr=log,
        )
        start(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{self._port}",
            ],
            stdout=log,
            stderr=log,
        )
        log.close()
        wait_until(lambda: listening(exporter) and listening(self._port), what="prometheus and node_exporter")

    def ask(self, expression: str) -> dict[tuple[tuple[str, str], ...], float]:
        """The newest value of each series, by the labels that the agent gave."""
        question = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/api/v1/query?{question}") as answer:
            found = json.load(answer)["data"]["result"]
        named = ("agent", "outcome", "sensor", "code")
        return {
            tuple((name, each["metric"][name]) for name in named if name in each["metric"]): float(
                each["value"][1]
            )
            for each in found
        }

    def value(self, name: str) -> float | None:
        """The one series of a metric."""
        return next(iter(self.ask(name).values()), None)


def run_timer(agent: AgentProcess, files: Path) -> None:
    """What the unit of the timer runs, with our paths in place of the installed ones."""
    [line] = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)
    [file] = re.findall(r"^Environment=FILE=(.*)$", UNIT.read_text(), re.MULTILINE)
    config = {"EDGE_AGENT_STATE": str(agent.state), "FILE": file.replace(COLLECTOR, str(files))}
    command = shlex.split(line.replace(INSTALLED, f"{sys.executable} -m edge_agent"))
    run_program(command, env={**os.environ, **config}, check=True)


@pytest.fixture
def prometheus(tmp_path: Path) -> Prometheus:
    return Prometheus(tmp_path / "prometheus")


def numbers(agent: AgentProcess) -> dict[str, Any]:
    """The health record that the journal holds."""
    health: dict[str, Any] = json.loads(newest_health(agent.state))
    return health


def outcomes(health: dict[str, Any]) -> dict[tuple[tuple[str, str], ...], float]:
    counted = {kind: n for kind, n in health["readings"].items() if kind != "waiting_for_clock"}
    return {(("agent", "van-1"), ("outcome", kind)): n for kind, n in counted.items()}


def test_prometheus_holds_the_numbers_of_the_journal(
    prometheus: Prometheus, tmp_path: Path, durable_broker: Broker, bundles: Path
) -> None:
    """While the uplink is away, after the agent was killed, and after both came back."""
    uplink = Mosquitto(tmp_path / "uplink")
    uplink.stop()
    extra = f"[windows]\ngrace_s = 1.0\n[health]\ninterval_s = 0.2\n[uplink]\nport = {uplink.port}\n"
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, extra).start()
    agent.wait_for("broker.connected")
    with client(durable_broker) as publisher:
        publish(publisher, readings(minutes=61, sensors=("5A2D", "D3EB")))
    agent.wait_for("window.closed", 8)
    wait_until(lambda: numbers(agent)["outbox"]["depth"] == 8, what="8 estimates")
    run_timer(agent, prometheus.files)
    wait_until(lambda: prometheus.value("edge_agent_up") == 1, what="a scrape")
    assert prometheus.ask("edge_agent_readings_total") == outcomes(numbers(agent))
    assert prometheus.value("edge_agent_outbox_estimates") == 8

    agent.kill()
    health = numbers(agent)
    ended_s = datetime.fromisoformat(health["at"]).timestamp()
    wait_until(lambda: time.time() - ended_s > 3.7, what="three missed reports")
    run_timer(agent, prometheus.files)
    wait_until(lambda: prometheus.value("edge_agent_up") == 0, what="an agent that does not run")
    assert prometheus.ask("edge_agent_readings_total") == outcomes(health)
    assert prometheus.value("edge_agent_outbox_estimates") == 8
    assert prometheus.value("edge_agent_journal_bytes") == health["journal_bytes"]

    uplink.start()
    agent.start()
    wait_until(lambda: numbers(agent)["outbox"]["depth"] == 0, what="an empty outbox")
    run_timer(agent, prometheus.files)
    wait_until(lambda: prometheus.value("edge_agent_up") == 1, what="the agent")
    assert prometheus.value("edge_agent_outbox_estimates") == 0


def test_each_rule_fires_when_it_should(tmp_path: Path) -> None:
    """Two hours as promtool plays them: nothing while all is well, and each alert for its own cause."""
    require("prometheus")
    series = {
        'edge_agent_up{agent="van-1"}': "1x30 0x90",
        'node_textfile_mtime_seconds{file="/x/edge-agent.prom",instance="pi"}': "0+60x60 3600x60",
        'edge_agent_problem{agent="van-1",code="stuck_channel",sensor="5A2D"}': "_x30 1x90",
        'edge_agent_estimates_dropped_total{agent="van-1"}': "0x80 7x40",
        'edge_agent_bundles_refused{agent="van-1"}': "0x30 2x90",
        'edge_agent_uptime_seconds{agent="van-1"}': "0+60x60 0 60 0 60 0 60 0 60 0+60x52",
    }
    fired = {
        "29m": [],
        "110m": [
            "EdgeAgentBundleRefused",
            "EdgeAgentDown",
            "EdgeAgentEstimatesDropped",
            "EdgeAgentMetricsStale",
            "EdgeAgentProblem",
            "EdgeAgentRestarting",
        ],
    }
    named = sorted(re.findall(r"alert: (\w+)", RULES.read_text()))
    assert named == fired["110m"]
    tests = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": [
                    {
                        "expr": "count by (alertname) (ALERTS{alertstate='firing'})",
                        "eval_time": at,
                        "exp_samples": [
                            {"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(names)
                        ],
                    }
                    for at, names in fired.items()
                ],
            }
        ],
    }
    file = tmp_path / "rules.test.json"
    file.write_text(json.dumps(tests))  # JSON is YAML too
    done = run_program(["promtool", "test", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("suffix", ["service", "timer"])
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path, suffix: str) -> None:
    require("systemd-analyze")
    for file in (UNIT, UNIT.with_suffix(".timer")):
        (tmp_path / file.name).write_text(file.read_text())
    told = run_program(
        ["systemd-analyze", "verify", tmp_path / f"{UNIT.stem}.{suffix}"], capture_output=True, text=True
    )
    assert (told.returncode, told.stderr) == (0, "")
