"""Output files: checked before the work, written whole or not at all. Imports the agent's core."""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from edge_agent.core.errors import RespireError


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a crash or power cut leaves the old content or the new, never a part.

    Missing folders are made. A disk that is full or read-only is a RespireError with one line of text.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise RespireError(f"{path}: could not be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink()


def remove_leftovers(folders: Iterable[Path]) -> None:
    """Remove the parts of files that killed writers have left; nobody else may be writing there."""
    for folder in folders:
        for part in folder.glob(".*.[0-9]*.part"):
            part.unlink(missing_ok=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Make a folder, and refuse one that another run writes to; the system ends the lock of a killed run."""
    require_folder(folder)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            words = "another run writes here; wait for its end or name another --out"
            raise RespireError(f"{folder}: {words}") from error
        except OSError:
            pass  # NFS cannot lock a folder
        yield
    finally:
        os.close(descriptor)


def require_folder(folder: Path, output: Path | None = None) -> None:
    """Make the folder and, for a moment, a file in it: permissions alone do not show a read-only disk."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
        if output and output.exists() and not os.access(output, os.W_OK):
            raise PermissionError(None, "a file that may not be changed")
    except OSError as error:
        none = isinstance(error, FileExistsError | NotADirectoryError)
        reason = f"{folder} is not a folder" if none else error.strerror
        words = f"cannot be written: {reason}; choose another place"
        raise RespireError(f"{output or folder}: {words}") from error


def require_places(
    *,
    bundle: Path | None = None,
    page: Path | None = None,
    plot: Path | None = None,
    table: Path | None = None,
    inputs: Iterable[Path] = (),
) -> None:
    """Refuse outputs that cannot be written, or that would overwrite an input or each other."""
    taken = {path.resolve(): f"the input {path}" for path in inputs}
    for kind, path, example in (
        ("bundle", bundle, "5A2D.bundle"),
        ("report", page, "5A2D.html"),
        ("plot", plot, "5A2D.png"),
        ("recording", table, "recording.csv"),
    ):
        if path is None:
            continue
        _require_name(path, example)
        require_folder(path.parent, path)
        if path.resolve() in taken:
            raise RespireError(
                f"{path}: the {kind} would overwrite {taken[path.resolve()]}; choose another name"
            )
        taken[path.resolve()] = f"the {kind}"


def _require_name(path: Path, example: str) -> None:
    """A device would be replaced by a file of that name, which nobody wants of /dev/null."""
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "a device"
        raise RespireError(f"{path}: expected a file name such as {example}, got {kind}; name a file")


def _sync_folder(folder: Path) -> None:
    """The rename is stored in the folder, so the folder must reach the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
