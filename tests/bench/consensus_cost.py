"""What the consensus costs: the agent with 200 sensors, without and with it, in turn.

python -m tests.bench.consensus_cost [ROUNDS]
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.bench.agent import MESSAGES, START_MS, TALKING, Bench
from tests.bench.subscriber import publish
from tests.support.broker import client

WINDOWS = 168


def cost(place: Path, extra: str) -> tuple[float, float]:
    """CPU seconds for 100 000 readings that wait at the broker, and the memory after them, in MB."""
    bench = Bench(place, sys.executable, extra=TALKING + extra)
    bench.start()
    time.sleep(1.0)
    idle_s = bench.cpu_s()
    bench.agent.stop()
    publish(bench.broker, MESSAGES, START_MS)
    bench.start()
    bench.wait_accepted(MESSAGES)
    bench.wait_delivered()
    found = bench.cpu_s() - idle_s, bench.rss_mb()
    bench.stop()
    return found


def memory(place: Path, extra: str) -> float:
    """The memory after 42 hours of 200 sensors, one message a window, in MB; their first day is examined."""
    bench = Bench(place, sys.executable, extra=TALKING + extra + "[windows]\ncoverage = 0.05\n")
    bench.start()
    with client(bench.broker) as van:
        for window in range(WINDOWS):
            at_ms = START_MS + window * 900_000
            record = f'{{"at":{at_ms},"op1":{231 + window % 7},"op2":206,"temperature":24}}'
            for n in range(200):
                message = van.publish(f"sensors/S{n}", record, qos=1)
            message.wait_for_publish(60)
    bench.wait_accepted(WINDOWS * 600)
    bench.wait_delivered()
    time.sleep(65.0)  # days are looked for once a minute
    found = bench.rss_mb()
    bench.stop()
    return found


def main(rounds: int) -> None:
    """Print the medians of both, and their ratio."""
    with tempfile.TemporaryDirectory() as place:
        runs: dict[str, list[tuple[float, float]]] = {"": [], "[consensus]\n": []}
        for number in range(rounds):
            for name, done in runs.items():
                done.append(cost(Path(place) / f"{number}{bool(name)}", name))
                print(f"{name.strip() or 'without'}: {done[-1][0]:.2f} s, {done[-1][1]:.1f} MB", flush=True)
        days = [memory(Path(place) / f"days{bool(name)}", name) for name in runs]
    print(f"after 42 hours {days[0]:.1f} MB without, {days[1]:.1f} MB with it")
    (off_s, off_mb), (on_s, on_mb) = (np.median(each, axis=0) for each in runs.values())
    print(f"CPU {on_s / off_s:.3f} of that without; memory {on_mb - off_mb:+.1f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 3)
