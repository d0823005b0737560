"""Programs that tests start: each in its own process group, ended with the test that started it."""

import subprocess
from collections.abc import Sequence
from typing import Any

from deploy.demo import processes
from deploy.demo.processes import Process, end, tethered

STARTED: list[Process] = []
"""The processes that are started and not yet ended by `end_since`, oldest first."""


def start(command: Sequence[object], **options: Any) -> Process:
    """Start a program; conftest ends it and its children after the test."""
    process = processes.start(command, **options)
    STARTED.append(process)
    return process


def run_program(command: Sequence[object], **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a program to its end, or to the end of this process."""
    return subprocess.run(tethered(command), check=options.pop("check", False), **options)


def end_since(count: int) -> None:
    """End all but the first `count` processes, newest first."""
    while len(STARTED) > count:
        process = STARTED.pop()
        end(process)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
