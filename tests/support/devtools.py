"""The DevTools pipe of a Chromium: two file descriptors and JSON.

The pipe needs no port, no driver program and no package. When the test process ends in any way, the pipe
closes and Chromium ends too.
"""

import fcntl
import json
import os
import select
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

COMMANDS_FD, EVENTS_FD = 3, 4  # fixed by --remote-debugging-pipe
ABOVE_STANDARD_FDS = 10
ANSWER_S = 60.0
POLL_S = 0.05


class BrowserFailed(AssertionError):
    """The browser ended, did not answer, or the page never met the condition."""


@dataclass(slots=True)
class Pipe:
    """DevTools messages in both directions: JSON, each ended by a zero byte; `events` is a queue."""

    commands: int
    replies: int
    buffer: bytes = b""
    last_id: int = 0
    events: list[Json] = field(default_factory=list)

    def call(self, method: str, params: Json | None = None, session: str | None = None) -> Json:
        self.last_id += 1
        message: Json = {"id": self.last_id, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        reply = self._reply_to(self.last_id, method)
        if "error" in reply:
            raise BrowserFailed(f"{method}: {reply['error'].get('message')}")
        result: Json = reply["result"]
        return result

    def drain(self) -> None:
        """Read the events that have arrived."""
        while message := self._next(timeout_s=0.0):
            self.events.append(message)

    def close(self) -> None:
        os.close(self.commands)
        os.close(self.replies)

    def _reply_to(self, wanted: int, method: str) -> Json:
        give_up = time.monotonic() + ANSWER_S
        while message := self._next(give_up - time.monotonic()):
            if message.get("id") == wanted:
                return message
            self.events.append(message)
        raise BrowserFailed(f"{method}: Chromium gave no answer within {ANSWER_S:.0f} s")

    def _next(self, timeout_s: float) -> Json | None:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.replies], [], [], max(0.0, timeout_s))
            chunk = os.read(self.replies, 1 << 16) if ready else b""
            if ready and not chunk:
                raise BrowserFailed("Chromium closed its pipe; run it by hand to see why")
            if not chunk:
                return None
            self.buffer += chunk
        raw, _, self.buffer = self.buffer.partition(b"\0")
        message: Json = json.loads(raw)
        return message


def spawn(arguments: list[str], environment: Mapping[str, str]) -> tuple[int, Pipe]:
    """Start a Chromium with its end of a pipe; its process and our end."""
    theirs_in, commands = (_high(fd) for fd in os.pipe())
    replies, theirs_out = (_high(fd) for fd in os.pipe())
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, theirs_in, COMMANDS_FD),
        (os.POSIX_SPAWN_DUP2, theirs_out, EVENTS_FD),
    ]
    heard = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    pid = os.posix_spawn(arguments[0], arguments, environment, file_actions=actions, setsigdef=heard)
    os.close(theirs_in)
    os.close(theirs_out)
    return pid, Pipe(commands, replies)


def _high(fd: int) -> int:
    """A copy of a descriptor with a number above the child's 3 and 4, closed on exec."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, ABOVE_STANDARD_FDS)
    os.close(fd)
    return moved


def reap(pid: int, patience_s: float = 10.0) -> None:
    """Wait for the end of the process, and kill it if it does not come."""
    give_up = time.monotonic() + patience_s
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > give_up:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return
        time.sleep(POLL_S)
