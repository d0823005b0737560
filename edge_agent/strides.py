"""Which batches of the journal may still hold readings of open windows, and so must not be trimmed."""

from collections.abc import Iterable
from typing import NamedTuple

STRIDE_MS, STRIDE_WINDOWS = 10_000, 1_000  # how finely it is remembered

Window = tuple[str, int]  # sensor, start


class Stride(NamedTuple):
    """The open windows that the batches from `first_batch` on belong to, for about ten seconds."""

    first_batch: int
    began_ms: int
    windows: set[Window]


class Strides:
    """Batches in the order they were committed, a few seconds of them at a time.

    >>> strides = Strides()
    >>> strides.note(1, 0, [("5A2D", 0)])
    >>> strides.note(2, STRIDE_MS, [("5A2D", 900_000)])
    >>> strides.first_open(), strides.first_open(beside={("5A2D", 0)})
    (1, 2)
    """

    def __init__(self) -> None:
        self._strides: list[Stride] = []

    def note(self, batch: int, now_ms: int, windows: Iterable[Window]) -> None:
        """A batch holds readings of these windows, which are open."""
        last = self._strides[-1] if self._strides else None
        # abs: after a clock was set back by a year, one stride would go on, and pin the journal, for a year.
        if last is None or abs(now_ms - last.began_ms) >= STRIDE_MS or len(last.windows) >= STRIDE_WINDOWS:
            self._strides.append(Stride(batch, now_ms, set()))
        self._strides[-1].windows.update(windows)

    def close(self, windows: set[Window]) -> None:
        """Let go of closed windows, and of the strides in front that hold no other."""
        for stride in self._strides if windows else ():
            stride.windows.difference_update(windows)
        done = next(
            (place for place, s in enumerate(self._strides[:-1]) if s.windows), len(self._strides) - 1
        )
        del self._strides[: max(done, 0)]

    def first_open(self, beside: frozenset[Window] | set[Window] = frozenset()) -> int | None:
        """The first batch that may hold readings of open windows `beside` these; None if there is none."""
        return next((stride.first_batch for stride in self._strides if stride.windows - beside), None)
