"""The whole `model-export fit` of the paper's largest dataset, as a process: seconds, memory and bytes.

    python -m tests.bench whole_fit

The recording is simulated, with 2431 windows of one row a minute. Reading, doctor, fit, 17 refits for the
interval, compression and export are included; so is the start of Python, which is also shown alone.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.table import row
from tests.support.recordings import saved, tidy

WINDOWS = 2431
ROUNDS = 3


def main() -> None:
    """Print each figure beside its bound."""
    with TemporaryDirectory() as folder:
        recording = saved(tidy(windows=WINDOWS), Path(folder) / "5A2D_T-W.csv")
        for sensor_type in ("electrochemical", "metal-oxide"):
            out = Path(folder) / f"{sensor_type}.bundle"
            words = ["--sensor", "5A2D", "--unit", "ppm", "--sensor-type", sensor_type, "--out", str(out)]
            best = min(_measured("fit", str(recording), *words) for _ in range(ROUNDS))
            cpu_s, wall_s, peak_mb, printed = best
            row(f"fit of {WINDOWS} windows, {sensor_type}", wall_s, "s", at_most=4)
            row("its CPU", cpu_s, "s CPU")
            row("its memory", peak_mb, "MB")
            row("its bundle", json.loads(printed)["bytes"], "bytes", at_most=1400)
    row("of that: Python and its imports", min(_measured("fit", "--help") for _ in range(ROUNDS))[0], "s CPU")


def _measured(*arguments: str) -> tuple[float, float, float, str]:
    """CPU and wall-clock seconds, peak memory in MB, and what was printed."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "model_export", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    wall_s = time.perf_counter() - started
    return usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss / 1e3, printed
