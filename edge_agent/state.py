"""The state directory: locked by one agent, with a journal that replaces a damaged one."""

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from edge_agent.core.errors import BadSettings, JournalCorrupt, JournalUnavailable, JournalUnwritable
from edge_agent.journal import FILE, Journal, salvage

LOCK = "lock"
FULL = (errno.ENOSPC, errno.EDQUOT)
EXPECTED = "expected a state directory that can be written"


@contextmanager
def only_agent(directory: Path) -> Iterator[None]:
    """Lock the directory while this process lives; the kernel unlocks it, however the process ends.

    Two agents would count readings twice, and the broker would disconnect one whenever the other connects.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = (directory / LOCK).open("ab+", buffering=0)
    except OSError as error:
        # A full disk can get room again; missing permission needs a person.
        kind = JournalUnavailable if error.errno in FULL else BadSettings
        raise kind(f"{directory}: {error.strerror}; {EXPECTED}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = (file.read(20) or b"").decode(errors="replace").strip() or "unknown"
            other = f"expected no other agent here, got process {holder}"
            raise BadSettings(f"{directory}: {other}; stop it, or set another state and agent") from error
        # Only people read the process id, so a full disk does not matter.
        with suppress(OSError):
            file.truncate(0)
            file.write(b"%d\n" % os.getpid())
        yield


def open_journal(
    directory: Path, window_ms: int, durability: str, now_ms: int
) -> tuple[Journal, Path | None]:
    """The journal of a state directory; a damaged one is set aside (the path) and replaced."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        try:
            return Journal(directory / FILE, window_ms, durability), None
        except JournalCorrupt:
            aside = replace_journal(directory, now_ms)
            return Journal(directory / FILE, window_ms, durability), aside
    except (OSError, JournalUnwritable) as error:
        raise BadSettings(f"{directory}: {error}; {EXPECTED}") from error


def replace_journal(directory: Path, now_ms: int) -> Path:
    """Set a damaged journal aside and create one that continues its sequence numbers."""
    path = directory / FILE
    aside = _set_aside(path, now_ms)
    Journal(path, window_ms=0, sensors=salvage(aside)).close()
    return aside


def _set_aside(path: Path, now_ms: int) -> Path:
    """Rename a damaged journal and its log files, so that a person can examine them."""
    aside = path.with_name(f"{path.name}.corrupt-{now_ms}")
    for suffix in ("", "-wal", "-shm"):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.rename(aside.with_name(aside.name + suffix))
    return aside


def try_directory(directory: Path) -> list[str]:
    """Write a file and delete it, as root or as the owner; returns remarks, raises BadSettings."""
    try:
        owner = directory.stat().st_uid
        if os.geteuid() not in (0, owner):
            return [f"{directory} belongs to another user; only that user or root can check it"]
        with tempfile.TemporaryFile(dir=directory):
            pass
        strangers = [file for file in directory.iterdir() if file.lstat().st_uid != owner]
    except FileNotFoundError:
        return [f"{directory} does not exist; the service creates it"]
    except NotADirectoryError as error:
        raise BadSettings(f"state: {directory}: expected a directory, got a file") from error
    except PermissionError as error:
        return [f"{error.filename}: permission denied; only its owner or root can check the state directory"]
    except OSError as error:
        raise BadSettings(f"{directory}: {error.strerror}; {EXPECTED}") from error
    if strangers:
        advice = f"the service cannot write it; run: chown --recursive --reference={directory} {directory}"
        raise BadSettings(f"{strangers[0]}: expected the owner of its directory, got another; {advice}")
    return []
