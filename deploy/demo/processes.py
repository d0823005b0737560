"""Child processes that end with this one, and loopback ports for them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
TETHER = Path(__file__).with_name("tether.py")

Process = subprocess.Popen[Any]


def tethered(command: Sequence[object]) -> list[str]:
    """The command with default signals; it gets SIGTERM when the process that starts it ends."""
    return [sys.executable, "-I", "-S", str(TETHER), *(str(word) for word in command)]


def start(command: Sequence[object], **options: Any) -> Process:
    """Start a tethered command in a new process group, which Ctrl-C in the terminal does not reach."""
    return subprocess.Popen(tethered(command), start_new_session=True, **options)


def end(process: Process, patience_s: float = 10.0) -> None:
    """End a process and everything it started."""
    with uninterrupted():
        if process.poll() is None:
            _signal_group(process, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience_s)
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _signal_group(process: Process, number: signal.Signals) -> None:
    """Signal the whole group, which may still exist after its first process has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore another Ctrl-C while cleaning up."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def free_port() -> int:
    """A loopback port that nobody else is given while this process lives.

    It stays bound here; a server that sets SO_REUSEADDR, as servers do, can still listen on it.
    """
    kept = socket.socket()
    kept.bind((HOST, 0))
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port = int(kept.getsockname()[1])
    kept.detach()  # open until the process ends
    return port


def listening(port: int) -> bool:
    """Whether a loopback port accepts connections."""
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=0.5):
        return True
    return False
