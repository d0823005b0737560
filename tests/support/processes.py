"""Programs that tests start: each in its own process group, ended with the test that started it."""

import os
import pty
import subprocess
import sys
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


def on_a_terminal(*arguments: str) -> tuple[int, str]:
    """The exit code and stdout of a command whose stdout is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "edge_agent", *arguments]
    done = run_program(command, stdout=theirs, capture_output=False)
    os.close(theirs)
    with os.fdopen(ours, "rb") as end:
        text = end.read1(65_536).decode().replace("\r\n", "\n")
    return done.returncode, text
