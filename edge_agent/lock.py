"""One agent to a state directory: two would count twice, and throw each other out at the broker."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from edge_agent.core.errors import BadSettings, JournalUnavailable

FILE = "lock"
FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def only_agent(state: Path) -> Iterator[None]:
    """Hold the directory while this process lives; the kernel lets go of it, however the process ends."""
    try:
        state.mkdir(parents=True, exist_ok=True)
        file = (state / FILE).open("ab+", buffering=0)
    except OSError as error:
        kind = (
            JournalUnavailable if error.errno in FULL else BadSettings
        )  # room may come, permission does not
        raise kind(f"{state}: {error.strerror}; expected a state directory that can be written") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = (file.read(20) or b"").decode(errors="replace").strip() or "unknown"
            other = f"expected no other agent here, got process {holder}"
            raise BadSettings(f"{state}: {other}; stop it, or set another state and agent") from error
        with suppress(OSError):  # a full disk; the number is for people only
            file.truncate(0)
            file.write(b"%d\n" % os.getpid())
        yield
