"""What systemd hears: ready, alive, stopping, and the priority of log lines; nothing without systemd."""

import os
import re
import socket
from contextlib import suppress

# sd-daemon(3); without a prefix every line in the journal has priority 6.
PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}


def journal_prefix(level: str) -> str:
    """The prefix of a line on stderr if stderr is the journal, which JOURNAL_STREAM names; else nothing."""
    with suppress(OSError):
        stderr = os.fstat(2)
        if os.environ.get("JOURNAL_STREAM") == f"{stderr.st_dev}:{stderr.st_ino}":
            return f"<{PRIORITIES[level]}>"
    return ""


class Notifier:
    """Datagrams to the socket that systemd names in NOTIFY_SOCKET (sd_notify(3))."""

    def __init__(self) -> None:
        self._address = re.sub("^@", "\0", os.environ.get("NOTIFY_SOCKET", ""))
        self.watchdog_s = int(os.environ.get("WATCHDOG_USEC", "0")) / 1e6

    def ready(self, status: str) -> None:
        """The agent has started."""
        self._send(f"READY=1\nSTATUS={status}")

    def alive(self, status: str) -> None:
        """The loop runs; without this notification systemd restarts the agent."""
        self._send(f"WATCHDOG=1\nSTATUS={status}")

    def stopping(self) -> None:
        """The agent is stopping."""
        self._send("STOPPING=1")

    def _send(self, text: str) -> None:
        if not self._address:
            return
        # systemd refuses datagrams while it re-executes itself; the agent continues.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(text.encode(), self._address)
