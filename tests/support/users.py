"""Another user for a moment: what an ordinary account may read, tried by root."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

NOBODY = 65_534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")


@contextmanager
def nobody() -> Iterator[None]:
    """The user `nobody` meanwhile; modules must be imported before, because nobody may not read them."""
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def public_directory() -> Iterator[Path]:
    """A directory that everybody can read; pytest's own are private."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
