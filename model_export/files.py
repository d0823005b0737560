"""Files that are written whole or not at all. Every room may use it. Imports the agent's core."""

import os
from contextlib import suppress
from pathlib import Path

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


def _sync_folder(folder: Path) -> None:
    """The rename is stored in the folder, so the folder must reach the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
