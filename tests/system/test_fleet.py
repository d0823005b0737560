"""A fleet under kill -9: of a worker, of the scheduler, of the command, at random moments."""

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from deploy.demo.processes import Process
from tests.support.archives import minutes, save, save_bundles
from tests.support.broker import wait_until
from tests.support.cluster import Cluster, spawned
from tests.support.processes import run_program, start
from tests.support.recordings import saved, tidy

ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
SENSORS = 8
KILLS, KILLS_A_RUN = 20, 2  # moments for each victim; a pool is made again three times at most
needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="needs Dask: make faults installs it"
)

pytestmark = pytest.mark.long


def model_export(*words: object) -> list[str]:
    return [sys.executable, "-m", "model_export", *map(str, words)]


def files(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()
    }


def kill_with_its_workers(process: Process) -> None:
    """Kill a command, and wait for its workers to see that their parent is gone."""
    left = spawned(process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(worker.is_running() for worker in left), 20, "the end of the workers")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recordings")
    for seed in range(SENSORS):
        saved(tidy(120, seed=seed), folder / f"S{seed}_T-W.csv")
    saved(tidy(120, seed=99).drop(columns="reference"), folder / "BARE_T-W.csv")
    return folder


@pytest.fixture(scope="module")
def expected(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that nobody disturbs."""
    out = tmp_path_factory.mktemp("expected") / "out"
    command = model_export("fleet", recordings, "--out", out, "--trials", 1, "--jobs", 2)
    run_program(command, check=True, env=ENVIRONMENT, capture_output=True)
    return files(out)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """One for each test: what a test starts ends with it."""
    (tmp_path / "cluster").mkdir()
    return Cluster(tmp_path / "cluster")


def fleet(recordings: Path, out: Path, options: list[str], cwd: Path) -> Process:
    command = model_export("fleet", recordings, "--out", out, "--trials", 1, "--resume", *options)
    with (cwd / "fleet.log").open("ab") as log:
        return start(command, cwd=cwd, env=ENVIRONMENT, stdout=log, stderr=log)


def wait_a_moment(process: Process, seconds: float) -> None:
    """Until then, or until the process ends."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)


def wait_for_rows(process: Process, out: Path, rows: int) -> None:
    """Until so many sensors are done, however slow the machine is, or until the process ends."""
    wait_until(lambda: process.poll() is not None or len([*out.glob("sensors/*.json")]) >= rows, 300, "rows")


def disturbed(
    process: Process, out: Path, rng: random.Random, kill: Callable[[Process], Process]
) -> tuple[Process, int]:
    """Kill at random moments of a run; the process that goes on, and how often it was still running."""
    kills = 0
    for rows in sorted(rng.sample(range(SENSORS + 1), KILLS_A_RUN)):
        wait_for_rows(process, out, rows)
        wait_a_moment(process, rng.uniform(0.0, 0.5))
        if process.poll() is None:
            process, kills = kill(process), kills + 1
    return process, kills


def kill_one(found: list[psutil.Process], rng: random.Random) -> None:
    for victim in rng.sample(found, min(1, len(found))):
        with suppress(psutil.NoSuchProcess):
            victim.kill()


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("victim", ["worker", "command"])
def test_processes_that_are_killed(
    victim: str, recordings: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    """Whoever dies at whatever moment, the run ends with the files of an undisturbed one."""
    rng, kills, numbers = random.Random(victim), 0, count()
    while kills < KILLS:
        out = tmp_path / f"out-{next(numbers)}"

        def begin(out: Path = out) -> Process:
            return fleet(recordings, out, ["--jobs", "2"], tmp_path)

        def kill(process: Process, begin: Callable[[], Process] = begin) -> Process:
            if victim == "command":
                kill_with_its_workers(process)
                return begin()
            wait_until(lambda: spawned(process) or process.poll() is not None, 60, "a worker")
            kill_one(spawned(process), rng)
            return process

        process, hits = disturbed(begin(), out, rng, kill)
        kills += hits
        assert process.wait(timeout=300) == 0, (tmp_path / "fleet.log").read_text()[-2000:]
        assert files(out) == expected


@needs_dask
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("victim", ["nobody", "worker", "scheduler", "command"])
def test_a_cluster_whose_parts_are_killed(
    victim: str, recordings: Path, expected: dict[str, bytes], cluster: Cluster, tmp_path: Path
) -> None:
    """The recipe of docs/fleet.md over TLS: the same files, to the bit, as processes of one machine."""
    rng, kills, numbers = random.Random(victim), 0, count()
    link_certificates(cluster, tmp_path)
    while kills < (1 if victim == "nobody" else KILLS):
        out = tmp_path / f"out-{next(numbers)}"

        def begin(out: Path = out) -> Process:
            return fleet(recordings, out, cluster.options(), tmp_path)

        def kill(process: Process, begin: Callable[[], Process] = begin) -> Process:
            if victim == "command":
                process.kill()
                process.wait()
                return begin()
            if victim == "worker":
                wait_until(cluster.workers, 60, "a worker")
                kill_one(cluster.workers(), rng)
            elif victim == "scheduler":
                cluster.restart()  # the command finds the new one
            return process

        process, hits = disturbed(begin(), out, rng, kill)
        kills += hits
        assert process.wait(timeout=300) == 0, (tmp_path / "fleet.log").read_text()[-2000:]
        assert files(out) == expected


def link_certificates(cluster: Cluster, folder: Path) -> None:
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (folder / name).symlink_to(cluster.folder / name)


@needs_dask
@pytest.mark.timeout(900)
def test_a_scheduler_that_does_not_come_back(
    recordings: Path, expected: dict[str, bytes], cluster: Cluster, tmp_path: Path
) -> None:
    """The command says so and ends with 1; the same line goes on with another scheduler."""
    link_certificates(cluster, tmp_path)
    out = tmp_path / "out"
    process = fleet(recordings, out, cluster.options(), tmp_path)
    wait_for_rows(process, out, 3)
    cluster.scheduler.kill()
    assert process.wait(timeout=300) == 1
    said = (tmp_path / "fleet.log").read_text()
    assert "no Dask scheduler answers yet; trying for up to 45 s more" in said
    assert "what is done is kept, so start one and give the same line again" in said
    cluster.restart()
    assert fleet(recordings, out, cluster.options(), tmp_path).wait(timeout=300) == 0
    assert files(out) == expected


@pytest.mark.timeout(900)
def test_recalibrate_is_killed(tmp_path: Path) -> None:
    """The command is killed at random moments and given again; the files are those of one run."""
    names = [f"S{number:02}" for number in range(40)]
    for seed, name in enumerate(names):
        at_ms, columns = minutes("2024-02-01", 20.0, seed)
        save(tmp_path / f"in/sensor={name}/month=2024-02/r.parquet", at_ms, columns)
    bundles = save_bundles(tmp_path / "bundles", *names)

    def command(out: Path) -> list[str]:
        return model_export("recalibrate", tmp_path / "in", "--bundles", bundles, "--out", out, "--jobs", 2)

    began = time.monotonic()
    run_program(command(tmp_path / "whole"), check=True, env=ENVIRONMENT, capture_output=True)
    seconds, whole = time.monotonic() - began, files(tmp_path / "whole")
    rng = random.Random(1)
    for kill in range(5):
        out = tmp_path / f"out-{kill}"
        process = start(command(out), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_a_moment(process, rng.uniform(0.3, 1.0) * seconds)
        kill_with_its_workers(process)
        run_program(command(out), check=True, env=ENVIRONMENT, capture_output=True)
        assert files(out) == whole
