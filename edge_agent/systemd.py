"""Words to systemd: ready, still alive, stopping; silence where there is no systemd."""

import os
import socket


class Notifier:
    """Datagrams to the socket that systemd names in NOTIFY_SOCKET (sd_notify(3))."""

    def __init__(self) -> None:
        self._address = os.environ.get("NOTIFY_SOCKET", "").replace("@", "\0", 1)
        self.watchdog_s = int(os.environ.get("WATCHDOG_USEC", "0")) / 1e6
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if self._address else None

    def ready(self, status: str) -> None:
        """The agent works now."""
        self._send(f"READY=1\nSTATUS={status}")

    def alive(self, status: str) -> None:
        """The loop has made progress; without this systemd restarts us."""
        self._send(f"WATCHDOG=1\nSTATUS={status}")

    def stopping(self) -> None:
        """The agent was asked to stop and is doing so."""
        self._send("STOPPING=1")

    def _send(self, text: str) -> None:
        if self._socket:
            self._socket.sendto(text.encode(), self._address)
