"""Output files: checked before the work, written whole or not at all. Imports the agent's core."""

import os
from collections.abc import Iterable
from contextlib import suppress
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


def remove_leftovers(folder: Path) -> None:
    """Remove the parts of files that killed writers have left; nobody else may be writing there."""
    for part in folder.rglob(".*.part"):
        part.unlink(missing_ok=True)


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
        _require_folder(path)
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


def _require_folder(path: Path) -> None:
    """Make the folder and, for a moment, a file in it: permissions alone do not show a read-only disk."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path.parent):
            pass
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(None, "a file that may not be changed")
    except OSError as error:
        folder = isinstance(error, FileExistsError | NotADirectoryError)
        reason = f"{path.parent} is not a folder" if folder else error.strerror
        raise RespireError(f"{path}: cannot be written: {reason}; choose another place") from error


def _sync_folder(folder: Path) -> None:
    """The rename is stored in the folder, so the folder must reach the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
