"""The page and the real agent keep the same contract."""

import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from paho.mqtt.client import Client

from edge_agent.core import bundle
from tests.conftest import make_warming_model
from tests.support.broker import AT_MOST_S, AgentProcess, client, wait_until
from tests.support.browser import Chromium
from tests.support.dashboard import WebBroker
from tests.support.processes import run_program
from tests.support.van import WINDOW_S

SENSORS = ("5A2D", "5CB6", "B5FF")
WINDOWS = "[windows]\ngrace_s = 1.0\npatience_s = 600\nrevise_after_s = 1\n"
QUICK = f"{WINDOWS}[health]\ninterval_s = 0.5\n[consensus]\n"
PLACE = '[position]\nlatitude = 52.0\nlongitude = 13.3777\nsite = "Harbour, dock 2"\n'


@pytest.fixture
def agent(broker: WebBroker, tmp_path: Path) -> Iterator[AgentProcess]:
    """The real agent with three real bundles, connected."""
    bundles = tmp_path / "bundles"
    bundles.mkdir()
    for sensor in SENSORS:
        (bundles / f"{sensor}.bundle").write_bytes(bundle.encode(make_warming_model(sensor)))
    running = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK + PLACE).start()
    running.wait_for("broker.connected")
    yield running
    running.stop()


def test_the_real_agent_and_the_page_keep_the_same_contract(
    chromium: Chromium, site: str, broker: WebBroker, agent: AgentProcess
) -> None:
    """Readings in, the real agent between, words on the page: value, weights, model, health, consensus."""
    page = chromium.open(f"{site}?broker={broker.websocket}#/sensor/van-1/5A2D")
    with client(broker) as publisher:
        publish(publisher, [each for _, each in readings(SENSORS, 32)])
    page.wait("document.querySelector('.day')?.dataset.points === '2'")
    page.wait_for_text("15 of 15 minutes", ".terms")
    page.wait("document.querySelectorAll('.multiples canvas').length === 5")
    page.wait_for_text("sha256:", "[aria-label=Model]")
    page.evaluate("location.hash = '#/'")
    page.wait_for_text("288 accepted", ".van[data-agent='van-1']")
    page.wait_for_text("From 3 of 3 sensors.", ".agreed")
    page.wait_for_text("Online", ".van[data-agent='van-1']")
    agent.kill()
    page.wait_for_text("van-1 has been offline since ", "h1")
    assert page.complaints() == []
    again = chromium.open(f"{site}?broker={broker.websocket}#/sensor/van-1/5A2D")
    agent.start()
    again.wait("document.querySelector('.day')?.dataset.points === '2'")
    again.evaluate("location.hash = '#/'")
    again.wait("document.querySelector('.agreed .spark-line:not(.lone)') !== null")  # the past was asked for


def test_the_page_downloads_what_the_agent_exports(
    chromium: Chromium, site: str, broker: WebBroker, agent: AgentProcess, tmp_path: Path
) -> None:
    """The same bytes, with a window without a value and a revised one."""
    page = chromium.open(f"{site}?broker={broker.websocket}#/sensor/van-1/5A2D")
    told = readings(("5A2D",), 47)
    late = [each for minute, each in told if minute == 3]
    with client(broker) as publisher:
        publish(publisher, [each for minute, each in told if minute != 3 and not 15 <= minute < 25])
        page.wait("document.querySelector('.day')?.dataset.points === '2'")
        publish(publisher, late)
    page.evaluate("document.querySelector('.day-section details').open = true")
    page.wait_for_text("Revised once, after late readings", ".day-section tbody")
    command = [sys.executable, "-m", "edge_agent", "export", "--config", str(agent.config)]
    exported = run_program(command, capture_output=True, check=True).stdout
    # Each revised window is a message of its own, so the page may have only some of them at first.
    wait_until(lambda: page.download(".save-csv", tmp_path).read_bytes() == exported, what="the same bytes")
    assert exported.count(b"\n") == 1 + 3
    assert page.complaints() == []


def publish(publisher: Client, messages: list[tuple[str, str]]) -> None:
    sent = [publisher.publish(topic, payload, qos=1) for topic, payload in messages]
    for each in sent:
        each.wait_for_publish(AT_MOST_S)


def readings(sensors: Sequence[str], minutes: int) -> list[tuple[int, tuple[str, str]]]:
    """A reading a minute of every channel, from the start of a window on: minute, topic and payload."""
    start_s = time.time() // WINDOW_S * WINDOW_S - 4 * WINDOW_S
    chance = random.Random(5)
    return [
        (
            minute,
            (
                f"sensors/{sensor}/{channel}",
                json.dumps({"value": chance.gauss(level, 1.0), "at": start_s + 60 * minute}),
            ),
        )
        for sensor in sensors
        for minute in range(minutes)
        for channel, level in (("op1", 231.0), ("op2", 206.0), ("temperature", 24.0))
    ]
