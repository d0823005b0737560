"""Files while they are read: how much of one is read, and when nobody holds it any more."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import BinaryIO

Progress = Callable[[int, int], None]
MOST_WAITS = 1000  # of a millisecond


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


@contextmanager
def let_go(file: BinaryIO) -> Iterator[None]:
    """Wait at the end until nobody else holds the file.

    A thread of Arrow holds it for about a millisecond after its last read. If Python ends before that, as
    after a refusal of the file, the process aborts.
    """
    holders = sys.getrefcount(file)
    try:
        yield
    finally:
        for _ in range(MOST_WAITS):
            if sys.getrefcount(file) <= holders:
                break
            sleep(0.001)
