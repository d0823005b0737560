"""A Dask cluster on loopback, started by the recipe of docs/fleet.md, whatever that says."""

import os
import re
import shlex
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from deploy.demo.processes import Process, free_port, listening
from tests.support.broker import wait_until
from tests.support.processes import run_program, start

DOC = (Path(__file__).parents[2] / "docs/fleet.md").read_text().partition("## On a Dask cluster")[2]
DOC = DOC.replace("\\\n", "")  # lines that go on in the next
RECIPE = [line for block in re.findall(r"```sh\n(.*?)```", DOC, re.DOTALL) for line in block.splitlines()]
SETTINGS = dict(
    word.split("=", 1) for line in RECIPE if line.startswith("export ") for word in shlex.split(line)[1:]
)


def spawned(process: Process) -> list[psutil.Process]:
    """The running processes that a program has started with multiprocessing."""
    found = []
    with suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.Error):  # it ends just now
                found += [child] if "spawn_main" in " ".join(child.cmdline()) else []
    return found


class Cluster:
    """The scheduler and two workers of the recipe, as real processes."""

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
        environment = {**os.environ, **SETTINGS}
        with (self.folder / f"{kind}.log").open("ab") as log:
            return start(command, cwd=self.folder, env=environment, stdout=log, stderr=log)

    def workers(self) -> list[psutil.Process]:
        """The processes that run tasks; another process starts them, and starts them again."""
        return spawned(self.worker)

    def wait_for_workers(self) -> None:
        """Until both have told the scheduler that they are there."""
        distributed: Any = import_module("distributed")
        options = self.options()
        ca, cert, key = (
            str(self.folder / options[options.index(f"--tls-{each}") + 1]) for each in ("ca", "cert", "key")
        )
        security = distributed.Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key)
        with distributed.Client(options[1], security=security, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)

    def restart(self) -> None:
        for process in (self.worker, self.scheduler):
            process.kill()
            process.wait()
        self.start()

    def options(self) -> list[str]:
        """The options of `fleet` for this cluster, from the recipe."""
        words = self.words("model-export fleet")
        return words[words.index("--scheduler") :]
