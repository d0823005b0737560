"""A sensor that sends every 5 minutes: fit, bundle, agent, estimates, as an operator would do it."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from edge_agent.core import bundle
from edge_agent.core.messages import Estimate, decode_estimate
from edge_agent.recording import read
from tests.support.agents import QUICK, Collector, publish
from tests.support.broker import AgentProcess, Broker, client, wait_until
from tests.support.processes import run_program
from tests.support.recordings import FIRST_MS, MINUTE_MS, saved, tidy

SENSOR, CHANNELS, WINDOWS = "5A2D", ("op1", "op2", "temperature"), 40
HISTORY_MS = 3 * 3_600_000  # warming needs about three hours of temperatures


def every_five_minutes(windows: int, seed: int = 0) -> pd.DataFrame:
    """One row per 5 minutes, each up to 20 s early or late: windows have 2, 3 or 4 of them."""
    table = tidy(windows)[::5]
    jitter_ms = np.random.default_rng(seed).integers(-20_000, 20_000, len(table))
    at_ms = FIRST_MS + 5 * MINUTE_MS * np.arange(len(table)) + jitter_ms
    stamps = pd.to_datetime(at_ms, unit="ms", utc=True).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return table.assign(timestamp=stamps)


def fit(recording: Path, out: Path) -> None:
    options = ["--sensor", SENSOR, "--unit", "ppm", "--out", out]
    command = [sys.executable, "-m", "model_export", "fit", recording, *options]
    done = run_program(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(
        "slow.csv: op1, op2, temperature, reference: one value per 5 min; a window needs 2 of 3\n"
    )


def replayed(recording: Path, bundles: Path) -> list[Estimate]:
    command = [sys.executable, "-m", "edge_agent", "replay", "--bundles", bundles, "--grace-s", "1"]
    done = run_program([*command, "--sensor", SENSOR, recording], capture_output=True, check=True)
    return [decode_estimate(line) for line in done.stdout.splitlines()]


def test_a_sensor_that_sends_every_five_minutes_is_served(tmp_path: Path, broker: Broker) -> None:
    """The trainer's rule is the agent's and replay's: what can be fitted has estimates, of quality 1."""
    table = every_five_minutes(windows=200)
    bundles = tmp_path / "bundles"
    bundles.mkdir()
    fit(saved(table, tmp_path / "slow.csv"), bundles / f"{SENSOR}.bundle")
    model = bundle.decode((bundles / f"{SENSOR}.bundle").read_bytes())
    assert model.cadence_minutes == dict.fromkeys(CHANNELS, 5)

    served = saved(table[: 3 * WINDOWS + 3], tmp_path / "served.csv")
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK).start()
    agent.wait_for("broker.connected")
    with client(broker) as consumer, client(broker) as publisher:
        collector = Collector(consumer)
        publish(publisher, list(read(served, SENSOR, CHANNELS)))
        wait_until(lambda: len(collector.estimates) >= WINDOWS, what=f"{WINDOWS} windows")
    agent.stop()

    windows = [each for each in collector.estimates if each.start_ms >= FIRST_MS]
    assert {each.minutes["expected"] for each in windows} == {3}
    assert {each.minutes["op1"] for each in windows} == {2, 3, 4}
    assert all(each.value is not None for each in windows)
    settled = [each for each in windows if each.start_ms >= FIRST_MS + HISTORY_MS]
    assert len(settled) >= 25
    assert {(each.quality, each.reasons) for each in settled} == {(1, ())}

    again = {each.start_ms: json.dumps([each.value, each.minutes]) for each in replayed(served, bundles)}
    assert {
        each.start_ms: json.dumps([each.value, each.minutes]) for each in windows
    }.items() <= again.items()
