"""`python -m tests.bench.late_agent [HOURS]`: the turns of a whole agent while a sensor's backlog is revised.

The sensor was away for HOURS and sends everything late; means and consensus are on.
"""

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from paho.mqtt.client import Client

from edge_agent.core import bundle
from tests.bench.table import row
from tests.bench.turns import Turns, start_timed
from tests.conftest import make_warming_model
from tests.support.broker import AgentProcess, Mosquitto, client, subscribe, wait_until

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
AWAY, OTHER = "away", "other"
SETTINGS = """
[windows]
final_h = {hours}
revise_after_s = 3
patience_s = 3600
[journal]
commit_ms = 1000
[estimates]
means = true
[consensus]
"""


def main(arguments: list[str]) -> None:
    """Print the longest turn while the backlog arrives, and while it is revised and averaged."""
    hours = int(arguments[0]) if arguments else 168
    with TemporaryDirectory() as temporary:
        directory = Path(temporary)
        broker, bundles = Mosquitto(directory / "broker"), directory / "bundles"
        bundles.mkdir()
        for sensor in (AWAY, OTHER):
            (bundles / f"{sensor}.bundle").write_bytes(bundle.encode(make_warming_model(sensor)))
        settings = SETTINGS.format(hours=hours)
        agent = AgentProcess(directory / "agent", broker.port, bundles, settings)
        turns = start_timed(agent)
        agent.wait_for("broker.connected")
        with client(broker) as van, client(broker) as ear:
            heard: list[str] = []
            ear.on_message = lambda *message: heard.append(message[2].topic)
            subscribe(ear, "respire/+/calibrated/+/co", "respire/+/calibrated/+/co/8h")
            _measure(van, heard, turns, hours)
        agent.stop()
        broker.stop()


def _measure(van: Client, heard: list[str], turns: Turns, hours: int) -> None:
    now_ms = time.time_ns() // 1_000_000 // MINUTE_MS * MINUTE_MS
    for sensor in (AWAY, OTHER):
        _send(van, sensor, now_ms - 20 * MINUTE_MS, 21)
    wait_until(lambda: len(heard) >= 2, what="both sensors")
    # An hour less than final, so that none of it comes too late.
    windows = (hours - 1) * 4
    _send(van, AWAY, now_ms - (hours - 1) * HOUR_MS, windows * 15 - 30)
    _print("while it arrives", turns)
    wait_until(lambda: len(heard) >= windows, 300, "every window")
    wait_until(lambda: sum(topic.endswith("8h") for topic in heard) >= hours - 2, 300, "every mean")
    _print("while it is revised and averaged", turns)


def _send(van: Client, sensor: str, from_ms: int, minutes: int) -> None:
    for minute in range(minutes):
        temperature = 24 + minute // 60 % 24 / 5
        said = {"op1": 231 + minute % 7 / 10, "op2": 206 + minute % 5 / 10, "temperature": temperature}
        last = van.publish(
            f"sensors/{sensor}", json.dumps({"at": from_ms + minute * MINUTE_MS, **said}), qos=1
        )
    last.wait_for_publish(120)


def _print(when: str, turns: Turns) -> None:
    row(f"longest turn {when}", turns.longest().seconds * 1000, "ms", at_most=250)
    print(f"    it {turns.longest()}")
    row("    without waiting for a core", turns.longest_own().own_s * 1000, "ms", at_most=250)
    turns.reset()


if __name__ == "__main__":
    main(sys.argv[1:])
