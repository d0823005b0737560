"""The programs of the demo; they log to files in its folder and end with it."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from deploy.demo.processes import Process, end, start

ROOT = Path(__file__).resolve().parents[2]

say = Console(stderr=True, highlight=False)


class Failure(Exception):
    """A program of the demo failed; the text is the end of its log."""


def script(name: str) -> str:
    """The path of a command installed beside this Python."""
    return str(Path(sys.executable).with_name(name))


@contextlib.contextmanager
def child(log: Path, *command: object, directory: Path = ROOT) -> Iterator[Process]:
    """A program that runs until the end of the `with` block."""
    with log.open("wb") as file:
        process = start(command, stdout=file, stderr=file, cwd=directory)
    try:
        yield process
    finally:
        end(process)


def tail(log: Path) -> str:
    return f"{log.stem}: {log.read_text(errors='replace').strip()[-600:] or 'ended without a message'}"
