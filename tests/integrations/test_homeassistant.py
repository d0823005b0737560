"""A real Home Assistant at a real broker shows what the agent measures, and nothing that is old."""

import contextlib
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client

from deploy.demo.processes import Process, end, free_port, listening
from edge_agent.core import bundle
from edge_agent.core.messages import Reading, decode_estimate
from tests.conftest import make_model
from tests.support.agents import publish, retained
from tests.support.broker import AT_MOST_S, AgentProcess, Broker, client, wait_until
from tests.support.needs import require
from tests.support.processes import run_program, start

CO = "sensor.van_1_5a2d_co"
QUALITY = "binary_sensor.van_1_5a2d_quality"
CONNECTION = "binary_sensor.van_1_connection"
USER = ("tester", "secret")
LATEST = "respire/van-1/calibrated/5A2D/co/latest"
CONFIGURATION = """
homeassistant: {{name: Test, latitude: 0, longitude: 0, elevation: 0, unit_system: metric, time_zone: UTC}}
http: {{server_host: 127.0.0.1, server_port: {port}}}
api:
logger: {{default: warning}}
"""
ENTRY = {
    "entry_id": "mqtt",
    "version": 1,
    "minor_version": 1,
    "domain": "mqtt",
    "title": "mqtt",
    "options": {},
    "source": "user",
    "unique_id": None,
    "disabled_by": None,
    "pref_disable_new_entities": False,
    "pref_disable_polling": False,
}


class HomeAssistant:
    """Home Assistant in a directory of its own, with MQTT set up and one user."""

    def __init__(self, directory: Path, broker: Broker) -> None:
        require("homeassistant")
        self._directory, self.port = directory, free_port()
        self._token = ""
        self._process: Process | None = None
        (directory / ".storage").mkdir(parents=True)
        (directory / "configuration.yaml").write_text(CONFIGURATION.format(port=self.port))
        entries = {"entries": [{**ENTRY, "data": {"broker": broker.host, "port": broker.port}}]}
        storage = {"version": 1, "minor_version": 1, "key": "core.config_entries", "data": entries}
        (directory / ".storage" / "core.config_entries").write_text(json.dumps(storage))
        run_program(["hass", "--script", "auth", "--config", directory, "add", *USER], check=True)
        self.start()

    def start(self) -> None:
        with (self._directory / "log").open("ab") as log:
            command = ["hass", "--config", self._directory, "--skip-pip"]
            self._process = start(command, stdout=log, stderr=log)
        wait_until(lambda: listening(self.port), 120, "Home Assistant")
        wait_until(self._log_in, 60, "the log-in")

    def stop(self) -> None:
        assert self._process
        end(self._process, patience_s=30)

    def _log_in(self) -> bool:
        here = f"http://127.0.0.1:{self.port}/"
        with contextlib.suppress(urllib.error.HTTPError):
            ask = {"client_id": here, "handler": ["homeassistant", None], "redirect_uri": here}
            flow = self._call("/auth/login_flow", ask)
            who = {"client_id": here, "username": USER[0], "password": USER[1]}
            code = self._call(f"/auth/login_flow/{flow['flow_id']}", who)["result"]
            grant = {"grant_type": "authorization_code", "code": code, "client_id": here}
            self._token = self._call("/auth/token", grant, form=True)["access_token"]
            return True
        return False

    def _call(self, path: str, content: dict[str, Any] | None = None, form: bool = False) -> Any:
        data = None
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        if content is not None:
            encoded = urllib.parse.urlencode(content) if form else json.dumps(content)
            kind = "x-www-form-urlencoded" if form else "json"
            data, headers = encoded.encode(), {"Content-Type": f"application/{kind}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return json.load(answer)

    def entities(self) -> dict[str, Any]:
        """Every entity by its id."""
        return {each["entity_id"]: each for each in self._call("/api/states")}

    def state(self, entity: str) -> str | None:
        found = self.entities().get(entity)
        return found and str(found["state"])

    def shows(self, entity: str, state: str) -> None:
        """Wait until it does."""
        try:
            wait_until(lambda: self.state(entity) == state, 60)
        except TimeoutError as error:
            raise AssertionError(f"{entity}: expected {state}, got {self.state(entity)}") from error


def last_window() -> list[Reading]:
    """The readings of the last whole window, and one that closes it."""
    end_ms = int(time.time()) // 900 * 900_000
    levels = (("op1", 231.0), ("op2", 206.0), ("temperature", 24.0))
    minutes = [
        Reading("5A2D", channel, end_ms - minute * 60_000 + 5_000, level + minute / 10)
        for minute in range(15, 0, -1)
        for channel, level in levels
    ]
    return [*minutes, Reading("5A2D", "op1", end_ms + 5_000, 231.0)]


def put(publisher: Client, topic: str, payload: bytes) -> None:
    publisher.publish(topic, payload, qos=1, retain=True).wait_for_publish(AT_MOST_S)


@pytest.mark.long
def test_home_assistant_shows_the_value_until_the_agent_is_gone(
    tmp_path: Path, durable_broker: Broker
) -> None:
    """The value and its unit; unavailable after a kill; no old value comes back; gone with its bundle."""
    bundles = tmp_path / "bundles"
    bundles.mkdir()
    (bundles / "5A2D.bundle").write_bytes(bundle.encode(make_model()))
    extra = "[homeassistant]\n[windows]\ngrace_s = 1.0\n[health]\ninterval_s = 0.5\n"
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, extra).start()
    agent.wait_for("broker.connected")
    home = HomeAssistant(tmp_path / "homeassistant", durable_broker)
    with client(durable_broker) as publisher:
        publish(publisher, last_window())
        agent.wait_for("window.closed")
        estimate = decode_estimate(retained(durable_broker, LATEST))
        home.shows(CO, str(estimate.value))
        attributes = home.entities()[CO]["attributes"]
        assert (attributes["device_class"], attributes["state_class"]) == ("carbon_monoxide", "measurement")
        assert (attributes["unit_of_measurement"], attributes["low"]) == ("ppm", estimate.low)
        home.shows(QUALITY, "off")
        home.shows(CONNECTION, "on")
        home.shows("binary_sensor.van_1_problems", "off")
        home.shows("sensor.van_1_estimates_waiting", "0")
        wait_until(lambda: "202" in str(home.state("sensor.van_1_last_report")), 60, "the last report")
        wait_until(lambda: str(home.state("sensor.van_1_memory")).isdecimal(), 60, "the memory")

        agent.kill()
        home.shows(CO, "unavailable")
        home.shows(CONNECTION, "off")

        agent.start().wait_for("broker.connected", 2)
        home.shows(CO, str(estimate.value))
        agent.stop()
        home.shows(CO, "unavailable")
        home.stop()
        old = json.loads(retained(durable_broker, LATEST))
        old["end"] = "2024-02-01T10:15:00Z"
        put(publisher, LATEST, json.dumps(old).encode())
        put(publisher, "respire/van-1/status", b"online")
        home.start()
        home.shows(CONNECTION, "on")
        home.shows(CO, "unknown")
        home.shows(QUALITY, "unknown")

        agent.start().wait_for("broker.connected", 3)
        (bundles / "5A2D.bundle").unlink()
        agent.wait_for("bundle.removed")
        wait_until(lambda: {CO, QUALITY}.isdisjoint(home.entities()), 60, "the end of the entities")
    log = (tmp_path / "homeassistant" / "log").read_text()
    assert "components.mqtt" not in log, log
