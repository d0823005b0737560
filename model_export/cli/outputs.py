"""Files that a command will write: what stands in their way is told before the long work, not after it."""

import os
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryFile

from edge_agent.core.errors import RespireError


def require_places(
    *,
    bundle: Path | None = None,
    page: Path | None = None,
    plot: Path | None = None,
    inputs: Iterable[Path] = (),
) -> None:
    """Refuse outputs that cannot be written, or would replace a recording or one another."""
    taken = {path.resolve() for path in inputs}
    for path, example in ((bundle, "5A2D.bundle"), (page, "5A2D.html"), (plot, "5A2D.png")):
        if path is None:
            continue
        _require_name(path, example)
        _require_folder(path)
        if path.resolve() in taken:
            raise RespireError(f"{path}: expected a file of its own, got one that is in use; name another")
        taken.add(path.resolve())


def _require_name(path: Path, example: str) -> None:
    """A device would be replaced by a file of that name, which is not what /dev/null is for."""
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "a device"
        raise RespireError(f"{path}: expected a file name such as {example}, got {kind}; name a file")


def _require_folder(path: Path) -> None:
    """Make the folder, and a file in it for a moment: permissions alone do not tell of a read-only disk."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path.parent):
            pass
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(None, "a file that may not be changed")
    except OSError as error:
        raise RespireError(
            f"{path}: expected a place to write, got {error.strerror}; name another"
        ) from error
