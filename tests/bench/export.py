"""Seconds and peak memory of `edge-agent export` for 30 days of 200 sensors."""

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from edge_agent.core.messages import Estimate
from edge_agent.journal import FILE, Change, Journal

SENSORS, DAYS, WINDOW_MS = 200, 30, 900_000
START_MS = 1_706_745_600_000  # 2024-02-01
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
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main(state: Path | None = None) -> None:
    """Print a table; `state` has a journal already, such as that of a running agent."""
    with TemporaryDirectory() as temporary:
        directory = state or Path(temporary)
        if state is None:
            fill(directory, SENSORS, DAYS)
        print(f"journal of {(directory / FILE).stat().st_size / 1e6:.0f} MB")
        for choice in CHOICES:
            seconds, cpu_s, peak_mb = measure(directory, choice)
            print(f"export {' '.join(choice):16} {seconds:6.1f} s {cpu_s:6.1f} s CPU {peak_mb:6.0f} MB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
