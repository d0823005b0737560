"""A large file that reports how much of it is read."""

from collections.abc import Callable
from typing import BinaryIO

Progress = Callable[[int, int], None]


class Counted:
    """A file that reports how much of it is read."""

    def __init__(self, file: BinaryIO, size: int, progress: Progress) -> None:
        self._file, self._size, self._progress = file, size, progress
        self.closed = False

    def read(self, count: int = -1) -> bytes:
        """The next bytes."""
        data = self._file.read(count)
        self._progress(self._file.tell(), self._size)
        return data

    def readable(self) -> bool:
        """Yes."""
        return True

    def close(self) -> None:
        """The owner closes the file."""
