"""`edge-agent export` of 30 days of 200 sensors beside a running agent: time, memory, the agent's loop."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

from paho.mqtt.client import Client

from edge_agent.change import Change
from edge_agent.core.messages import Estimate
from edge_agent.journal import FILE, Journal
from tests.bench.table import row
from tests.bench.turns import Turns, start_timed
from tests.support.broker import AgentProcess, Mosquitto, client

SENSORS, DAYS, WINDOW_MS = 200, 30, 900_000
START_MS = 1_706_745_600_000  # 2024-02-01
# The journal is of 2024, and larger than the default.
SETTINGS = "[journal]\nkeep_days = 10000\nmax_mb = 4000\n[log]\nlevel = 'info'\n"
CHOICES: tuple[list[str], ...] = (
    [],
    ["--format", "jsonl"],
    ["--what", "windows"],
    ["--every", "1h"],
    ["--every", "8h"],
)


def fill(directory: Path, sensors: int, days: int) -> None:
    """A journal of estimates that are all delivered."""
    journal = Journal(directory / FILE, WINDOW_MS, "process-crash")
    names = [f"{0x5A00 + index:04X}" for index in range(sensors)]
    for window in range(days * 96):
        start_ms = START_MS + window * WINDOW_MS
        estimates = [_estimate(name, start_ms, window) for name in names]
        outgoing = journal.commit(Change(estimates=estimates), now_ms=start_ms + WINDOW_MS)
        journal.commit(Change(delivered=[each.id for each in outgoing]), now_ms=start_ms + WINDOW_MS)
    journal.close()


def _estimate(sensor: str, start_ms: int, window: int) -> Estimate:
    value = 0.5 + (window * 37 % 211) / 211
    return Estimate(
        sensor=sensor,
        start_ms=start_ms,
        end_ms=start_ms + WINDOW_MS,
        quality=3 if window % 50 == 0 else 1,
        reasons=("op1_outside_training",) if window % 50 == 0 else (),
        inputs={
            "op1": 231.4 + value,
            "op2": 206.1234567 + value,
            "temperature": 24.3,
            "warming_1h": 0.4123456,
            "warming_4h": 1.7123456,
        },
        minutes={"op1": 15, "op2": 15, "temperature": 14, "expected": 15},
        value=value,
        low=value - 0.12,
        high=value + 0.12,
        level=0.9,
        gas="CO",
        unit="ppm",
        weights={"op1": 0.0121, "op2": -0.0103, "warming_1h": -0.004, "warming_4h": 0.001, "bias": 0.04},
        model="sha256:9f3c01ab23cd4567",
        agent="van-1",
    )


def measure(directory: Path, options: list[str]) -> tuple[float, float, float]:
    """Seconds, seconds of CPU and MB of one export to /dev/null."""
    environment = {**os.environ, "EDGE_AGENT_STATE": str(directory)}
    command = [sys.executable, "-m", "edge_agent", "export", *options]
    began = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        # Not ru_maxrss, which also counts what this process had at the fork.
        peak_mb = 0.0
        while not (done := os.wait4(process.pid, os.WNOHANG))[0]:
            said = Path(f"/proc/{process.pid}/status").read_text().partition("VmHWM:")[2].split()
            peak_mb = max(peak_mb, int(said[0]) / 1024 if said else 0.0)
            time.sleep(0.05)
        _, status, usage = done
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, peak_mb


def main() -> None:
    """Print time, memory and the longest turn of the agent's loop for each kind of export."""
    with TemporaryDirectory() as temporary, _agent(Path(temporary)) as (agent, turns):
        print(f"journal of {(agent.state / FILE).stat().st_size / 1e6:.0f} MB")
        time.sleep(10.0)
        _print_longest("longest turn of the loop without an export", turns)
        for choice in CHOICES:
            turns.reset()
            seconds, cpu_s, peak_mb = measure(agent.state, choice)
            print(f"export {' '.join(choice)}: {cpu_s:.1f} s of CPU")
            row("  time", seconds, "s", at_most=20)
            row("  memory", peak_mb, "MB", at_most=100)
            _print_longest("  longest turn of the agent's loop", turns, at_most=250)


def _print_longest(name: str, turns: Turns, **limits: float) -> None:
    row(name, turns.longest().seconds * 1000, "ms", **limits)
    print(f"    it {turns.longest()}")
    row("    without waiting for a core", turns.longest_own().own_s * 1000, "ms", **limits)


@contextmanager
def _agent(directory: Path) -> Iterator[tuple[AgentProcess, Turns]]:
    """An agent with 30 days in its journal, and sensors that send ten messages a second."""
    broker = Mosquitto(directory / "broker")
    (directory / "bundles").mkdir()
    agent = AgentProcess(directory / "agent", broker.port, directory / "bundles", SETTINGS)
    agent.state.mkdir()
    fill(agent.state, SENSORS, DAYS)
    turns, done = start_timed(agent), Event()
    agent.wait_for("broker.connected", timeout_s=120)
    with client(broker) as van:
        live = Thread(target=_send, args=(van, done))
        live.start()
        turns.reset()
        try:
            yield agent, turns
        finally:
            done.set()
            live.join()
            agent.stop()
            broker.stop()


def _send(van: Client, done: Event) -> None:
    message = b'{"op1": 231.4, "op2": 206.1, "temperature": 24.3}'
    for number in count():
        van.publish(f"sensors/{0x5A00 + number % SENSORS:04X}", message, qos=1)
        if done.wait(0.1):
            return


if __name__ == "__main__":
    main()
