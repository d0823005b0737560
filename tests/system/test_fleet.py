"""A fleet under kill -9: of a worker, of the scheduler, of the command, at random moments."""

import importlib.util
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from deploy.demo.processes import Process, free_port, listening
from tests.support.archives import minutes, save, save_bundles
from tests.support.broker import wait_until
from tests.support.processes import run_program, start
from tests.support.recordings import saved, tidy

DOC = (Path(__file__).parents[2] / "docs/fleet.md").read_text().partition("## On a Dask cluster")[2]
DOC = DOC.replace("\\\n", "")  # lines that go on in the next
RECIPE = [line for block in re.findall(r"```sh\n(.*?)```", DOC, re.DOTALL) for line in block.splitlines()]
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
SENSORS, KILLS = 8, 20
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


def workers(process: Process) -> list[psutil.Process]:
    """The processes of the pool of a command."""
    try:
        children = psutil.Process(process.pid).children(recursive=True)
        return [child for child in children if "spawn_main" in " ".join(child.cmdline())]
    except psutil.Error:
        return []


def kill_with_its_workers(process: Process) -> None:
    """Kill a command, and wait for its workers to see that their parent is gone."""
    left = workers(process)
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
def expected(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], float]:
    """The files of a run that nobody disturbs, and its seconds."""
    out, began = tmp_path_factory.mktemp("expected") / "out", time.monotonic()
    command = model_export("fleet", recordings, "--out", out, "--trials", 1, "--jobs", 2)
    run_program(command, check=True, env=ENVIRONMENT, capture_output=True)
    return files(out), time.monotonic() - began


class Cluster:
    """The scheduler and two workers of the recipe in docs/fleet.md, as real processes on loopback."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        for line in RECIPE:
            if line.startswith("openssl"):
                run_program(shlex.split(line), check=True, cwd=folder, capture_output=True)
        self.start()

    def words(self, first: str) -> list[str]:
        """The line of the recipe that begins so, for this machine."""
        line = next(line for line in RECIPE if line.startswith(first))
        return shlex.split(
            line.replace("HOST:8786", f"127.0.0.1:{self.port}").replace("8786", str(self.port))
        )

    def start(self) -> None:
        self.scheduler = self._dask("scheduler")
        wait_until(lambda: listening(self.port), 60, "the scheduler")
        self.worker = self._dask("worker")

    def _dask(self, kind: str) -> Process:
        command = [sys.executable, "-m", "dask", *self.words(f"dask {kind}")[1:]]
        with (self.folder / f"{kind}.log").open("ab") as log:
            return start(command, cwd=self.folder, env=ENVIRONMENT, stdout=log, stderr=log)

    def kill_a_worker(self) -> None:
        """One of the two processes; its nanny starts another."""
        found = [
            child
            for child in psutil.Process(self.worker.pid).children(recursive=True)
            if "spawn_main" in " ".join(child.cmdline())
        ]
        if found:
            found[0].kill()

    def restart(self) -> None:
        for process in (self.worker, self.scheduler):
            process.kill()
            process.wait()
        self.start()

    def options(self) -> list[str]:
        """The options of `fleet` for this cluster, from the recipe."""
        words = self.words("model-export fleet")
        return words[words.index("--scheduler") :]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    return Cluster(tmp_path_factory.mktemp("cluster"))


def fleet(recordings: Path, out: Path, options: list[str], cwd: Path) -> Process:
    command = model_export("fleet", recordings, "--out", out, "--trials", 1, "--resume", *options)
    with (cwd / "fleet.log").open("ab") as log:
        return start(command, cwd=cwd, env=ENVIRONMENT, stdout=log, stderr=log)


def wait_a_moment(process: Process, seconds: float) -> None:
    """Until then, or until the process ends."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("victim", ["worker", "command"])
def test_processes_that_are_killed(
    victim: str, recordings: Path, expected: tuple[dict[str, bytes], float], tmp_path: Path
) -> None:
    """Whoever dies at whatever moment, the run ends with the files of an undisturbed one."""
    rng, (whole, seconds) = random.Random(victim), expected
    for kill in range(KILLS // 5 + 1):
        out = tmp_path / f"out-{kill}"
        process = fleet(recordings, out, ["--jobs", "2"], tmp_path)
        wait_a_moment(process, rng.uniform(0.2, 1.0) * seconds)
        if victim == "command":
            kill_with_its_workers(process)
            process = fleet(recordings, out, ["--jobs", "2"], tmp_path)
        else:
            for worker in workers(process)[:1]:
                worker.kill()
        assert process.wait(timeout=300) == 0
        assert files(out) == whole


@needs_dask
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("victim", ["nobody", "worker", "scheduler", "command"])
def test_a_cluster_whose_parts_are_killed(
    victim: str, recordings: Path, expected: tuple[dict[str, bytes], float], cluster: Cluster, tmp_path: Path
) -> None:
    """The recipe of docs/fleet.md over TLS: the same files, to the bit, as processes of one machine."""
    rng, (whole, seconds) = random.Random(victim), expected
    for kill in range(1 if victim == "nobody" else KILLS // 5):
        out = tmp_path / f"out-{kill}"
        for link in ("ca.pem", "cert.pem", "key.pem"):
            (tmp_path / link).unlink(missing_ok=True)
            (tmp_path / link).symlink_to(cluster.folder / link)
        process = fleet(recordings, out, cluster.options(), tmp_path)
        wait_a_moment(process, rng.uniform(0.3, 1.0) * seconds)
        if victim == "worker":
            cluster.kill_a_worker()
        elif victim != "nobody":
            (cluster.scheduler if victim == "scheduler" else process).send_signal(signal.SIGKILL)
            process.wait(timeout=120)
            if victim == "scheduler":
                cluster.restart()
            process = fleet(recordings, out, cluster.options(), tmp_path)
        assert process.wait(timeout=300) == 0, (tmp_path / "fleet.log").read_text()[-2000:]
        assert files(out) == whole


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
