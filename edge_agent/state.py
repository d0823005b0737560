"""The state directory: locked by one agent, with a journal that replaces a damaged one."""

import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from edge_agent.core.errors import BadSettings, JournalCorrupt, JournalUnavailable
from edge_agent.journal import FILE, NEW, Journal
from edge_agent.salvage import build

LOCK = "lock"
WRONG = (errno.ENOTDIR, errno.EEXIST, errno.EACCES, errno.EPERM)
SUFFIXES = ("", "-wal", "-shm")
READS = 3
KEPT = 3  # damaged journals: a failing card must not fill itself with them
AGAIN_S = 0.5
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
        # A full or failing disk may recover; missing permission needs a person.
        kind = BadSettings if error.errno in WRONG else JournalUnavailable
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
    directory: Path, window_ms: int, durability: str, now_ms: int, again_s: float = AGAIN_S
) -> tuple[Journal, Path | None, str]:
    """The journal of a state directory; a damaged one is set aside (the path, the reason) and replaced."""
    path = directory / FILE
    damage: list[str] = []  # also of attempts that failed: the next one does not find lost commits again
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _finish_replacing(path, now_ms)
        for _ in range(READS - 1):
            with suppress(JournalCorrupt):
                return Journal(path, window_ms, durability, damage), None, ""
            # A disk that fails to read for a moment looks like a damaged file.
            time.sleep(again_s)
        try:
            return Journal(path, window_ms, durability, damage), None, ""
        except JournalCorrupt as error:
            aside = _replace(path, durability, now_ms, str(error))
            return Journal(path, window_ms, durability, damage), aside, str(error)
    except JournalUnavailable as error:
        raise JournalUnavailable("; ".join([str(error), *damage])) from error
    except OSError as error:
        raise JournalUnavailable(f"{directory}: {error.strerror}; {EXPECTED}") from error


def _replace(path: Path, durability: str, now_ms: int, reason: str) -> Path:
    """Make a journal of what is sound in a damaged one, then rename both; on a full disk nothing changes."""
    new = path.with_name(path.name + NEW)
    for suffix in SUFFIXES:
        path.with_name(new.name + suffix).unlink(missing_ok=True)
    try:
        build(new, path, durability)
    except JournalUnavailable as error:
        raise JournalUnavailable(f"{reason}; it cannot be replaced: {error}") from error
    return _rename(path, now_ms)


def _finish_replacing(path: Path, now_ms: int) -> None:
    """After a crash between the renames of `_replace`, or after the journal was deleted."""
    if path.with_name(path.name + NEW).exists() and not path.exists():
        _rename(path, now_ms)


def _rename(path: Path, now_ms: int) -> Path:
    """The damaged journal and its log files are kept, so that a person can examine them."""
    aside = path.with_name(f"{path.name}.corrupt-{now_ms}")
    for suffix in SUFFIXES:
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.rename(aside.with_name(aside.name + suffix))
    path.with_name(path.name + NEW).rename(path)
    for old in sorted(path.parent.glob(f"{path.name}.corrupt-*[0-9]"))[:-KEPT]:
        for suffix in SUFFIXES:
            old.with_name(old.name + suffix).unlink(missing_ok=True)
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
