"""An archive and a fleet at full size: readings a second beside replay, pandas and a bare group-by.

`BENCH_SENSORS=800` gives 100 million readings; the default of 80 gives ten million. `BENCH_CITY` names a
folder where the simulated archive is kept for the next run. `BENCH_FITS` is the number of sensors to fit.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from edge_agent.core import bundle
from edge_agent.core.model import Model
from tests.bench.table import row
from tests.conftest import make_warming_model
from tests.support.cluster import Cluster
from tests.support.processes import STARTED, end_since

SENSORS, DAYS = int(os.environ.get("BENCH_SENSORS", "80")), 30
PARTLY = 8  # sensors for what is slow
FITS = int(os.environ.get("BENCH_FITS", "200"))
RIVALS = "tests.bench.fleet_rivals"


class Run(NamedTuple):
    """One program."""

    seconds: float
    cpu_s: float
    peak_mb: float


# A process of its own, because the peak memory of a child begins with that of its parent.
LAUNCHER = """
import json, os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
seconds, cpu_s = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, cpu_s, usage.ru_maxrss / 1024]))
"""


def program(*words: object) -> Run:
    """Run a module of Python to its end, with all its children."""
    command = [sys.executable, "-c", LAUNCHER, sys.executable, "-m", *map(str, words)]
    done = subprocess.run(command, check=True, capture_output=True)
    code, *figures = json.loads(done.stdout)
    assert code == 0, words
    return Run(*figures)


def simulate(directory: Path, sensors: int) -> Run:
    return program(
        "model_export", "simulate", directory, "--sensors", sensors, "--days", DAYS, "--format", "parquet"
    )


def small_model(sensor: str) -> Model:
    """A model as `fit` makes it: two electrodes, two warmings, few support vectors."""
    made = make_warming_model(sensor)
    return replace(made, support=made.support[::4], coefficients=made.coefficients[:, ::4])


def part_of(archive: Path, folder: Path, count: int) -> Path:
    """The first sensors of an archive."""
    folder.mkdir()
    for path in sorted(archive.glob("sensor=*"))[:count]:
        (folder / path.name).symlink_to(path)
    return folder


def count_readings(archive: Path) -> int:
    """Values in the three channels, from the statistics in the footers."""
    total = 0
    for path in archive.glob("sensor=*/month=*/*.parquet"):
        group = pq.ParquetFile(path).metadata.row_group(0)
        columns = [group.column(place) for place in range(group.num_columns)]
        total += sum(
            each.num_values - each.statistics.null_count
            for each in columns
            if each.path_in_schema in ("op1", "op2", "temperature")
        )
    return total


def recalibrate(archive: Path, bundles: Path, out: Path) -> Run:
    return program("model_export", "recalibrate", archive, "--bundles", bundles, "--out", out, "--jobs", 2)


def tell(what: str, run: Run, readings: int) -> float:
    """Print one candidate; return its readings a second."""
    rate = readings / run.seconds
    print(
        f"{what:<40} {readings / 1e6:8.2f} M readings {run.seconds:8.2f} s {run.cpu_s:8.2f} s CPU "
        f"{run.peak_mb:6.0f} MB {rate / 1e6:8.3f} M/s",
        flush=True,
    )
    return rate


def replay(archive: Path, bundles: Path, folder: Path) -> float:
    """`edge-agent replay` of one sensor's month, readings a second."""
    path = next(iter(sorted(archive.glob("sensor=*/month=*/*.parquet"))))
    sensor = path.parts[-3].removeprefix("sensor=")
    csv = folder / "month.csv"
    table = pq.ParquetFile(path).read().to_pandas()
    table["timestamp"] = table["timestamp"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    table.drop(columns="reference").to_csv(csv, index=False)
    run = program("edge_agent", "replay", csv, "--sensor", sensor, "--bundles", bundles)
    return tell("edge-agent replay, one sensor", run, int(table[["op1", "op2", "temperature"]].count().sum()))


def archives(folder: Path) -> None:
    """From Parquet to estimates."""
    city, bundles = Path(os.environ.get("BENCH_CITY", folder / "city")), folder / "bundles"
    if not city.exists():
        made = simulate(city, SENSORS)
        print(f"simulate {SENSORS} sensors, {DAYS} days: {made.seconds:.1f} s, {made.cpu_s:.1f} s CPU")
    bundles.mkdir()
    for path in city.glob("sensor=*"):
        name = path.name.removeprefix("sensor=")
        (bundles / f"{name}.bundle").write_bytes(bundle.encode(small_model(name)))
    few, tenth = part_of(city, folder / "few", PARTLY), part_of(city, folder / "tenth", SENSORS // 10)
    readings = count_readings(city)
    slow = replay(city, bundles, folder)
    pandas = tell(
        "plain pandas, 2 processes",
        program(RIVALS, "pandas", few, bundles, folder / "p"),
        count_readings(few),
    )
    bare = {"pyarrow": tell("pyarrow group-by alone", program(RIVALS, "pyarrow", city), readings)}
    if importlib.util.find_spec("polars"):
        bare["polars"] = tell("polars group-by alone", program(RIVALS, "polars", city), readings)
    part = recalibrate(tenth, bundles, folder / "out-tenth")
    tell("recalibrate, a tenth of it", part, count_readings(tenth))
    whole = recalibrate(city, bundles, folder / "out")
    ours = tell("recalibrate", whole, readings)
    row("readings a second, Parquet to estimates", ours / 1e6, "M/s", at_least=5.0)
    row("beside edge-agent replay", ours / slow, "times", at_least=30.0)
    row("beside plain pandas", ours / pandas, "times", at_least=3.0)
    for name, rate in bare.items():
        row(f"slower than a bare {name} group-by", rate / ours, "times", at_most=3.0)
    row(
        "time of the whole beside ten times a tenth",
        whole.seconds / (10 * part.seconds),
        "times",
        at_most=1.2,
    )
    row("peak memory of a process", whole.peak_mb, "MB", at_most=400.0)


@contextmanager
def dask_cluster(folder: Path) -> Iterator[list[str]]:
    """The options for a scheduler and two workers on this machine, started as docs/fleet.md says.

    They are ready before the time is taken, as those of a cluster are.
    """
    folder.mkdir()
    before = len(STARTED)
    try:
        cluster = Cluster(folder)
        cluster.wait_for_workers()
        yield [str(folder / word) if word.endswith(".pem") else word for word in cluster.options()]
    finally:
        end_since(before)


def files(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()
    }


def fits(folder: Path) -> None:
    """Every sensor of a manifest: one by one, in two processes, on two workers of Dask."""
    city = folder / "fits"
    program(*("model_export", "simulate", city, "--sensors", FITS, "--days", 4, "--format", "parquet"))

    def fleet(name: str, *options: object) -> Run:
        out = folder / f"fleet-{name}"
        run = program("model_export", "fleet", city / "manifest.csv", "--out", out, "--trials", 3, *options)
        print(f"fleet of {FITS} sensors, {name:<20} {run.seconds:8.1f} s {run.cpu_s:8.1f} s CPU", flush=True)
        return run

    one, two = fleet("one", "--jobs", 1), fleet("two", "--jobs", 2)
    row("two processes beside one", one.seconds / two.seconds, "times", at_least=1.8)
    same = files(folder / "fleet-one") == files(folder / "fleet-two")
    if importlib.util.find_spec("distributed"):
        with dask_cluster(folder / "cluster") as options:
            dask = fleet("dask", *options)
        row("two workers of Dask beside two processes", dask.seconds / two.seconds, "times", at_most=1.1)
        same = same and files(folder / "fleet-dask") == files(folder / "fleet-one")
    row("all results equal to the bit", float(same), "", at_least=1.0)


def main() -> None:
    """All figures in one run."""
    with TemporaryDirectory() as folder:
        archives(Path(folder))
        fits(Path(folder))
