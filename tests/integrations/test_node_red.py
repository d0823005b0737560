"""The flow of deploy/integrations in a real Node-RED: a row for each estimate, once."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.processes import free_port, listening
from tests.support.broker import AT_MOST_S, Broker, client, wait_until
from tests.support.needs import require
from tests.support.processes import start
from tests.support.van import estimate

FLOW = Path(__file__).parents[2] / "deploy" / "integrations" / "node-red.json"


@pytest.mark.long
def test_the_flow_writes_a_row_for_each_estimate(tmp_path: Path, broker: Broker) -> None:
    """Again for a revision, and not for a message that comes twice."""
    require("node-red")
    flow = FLOW.read_text().replace('"port": "1884"', f'"port": "{broker.port}"')
    (tmp_path / "flows.json").write_text(flow.replace('"co.csv"', json.dumps(str(tmp_path / "co.csv"))))
    (tmp_path / "settings.js").write_text("module.exports = {flowFile: 'flows.json', uiHost: '127.0.0.1'}\n")
    port = free_port()
    with (tmp_path / "log").open("wb") as log:
        start(["node-red", "--userDir", tmp_path, "--port", port], stdout=log, stderr=log)
    wait_until(lambda: listening(port), 60, "Node-RED")
    wait_until(lambda: "Connected to broker" in (tmp_path / "log").read_text(), 30, "its connection")
    file = tmp_path / "co.csv"
    first = estimate("5A2D", 1_706_778_000, value=0.83, low=0.71, high=0.95)
    revised = {**first, "value": 0.84, "revision": 1}
    with client(broker) as publisher:

        def publish(message: dict[str, Any]) -> bool:
            topic = f"respire/van-1/calibrated/{message['sensor']}/co"
            publisher.publish(topic, json.dumps(message), qos=1).wait_for_publish(AT_MOST_S)
            return file.exists()

        wait_until(lambda: publish(estimate("PROBE", time.time())), what="its subscription")
        for message in (first, first, revised, first, estimate("LAST", 1_706_778_900)):
            publish(message)
    wait_until(lambda: "LAST" in file.read_text(), what="the last row")
    rows = [row for row in file.read_text().splitlines() if "PROBE" not in row]
    assert rows[:-1] == [
        "2024-02-01T09:00:00Z,van-1,5A2D,0.83,0.71,0.95,ppm,1,0",
        "2024-02-01T09:00:00Z,van-1,5A2D,0.84,0.71,0.95,ppm,1,1",
    ]
