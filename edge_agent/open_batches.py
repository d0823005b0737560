"""Which batches of the journal may hold readings of open windows: these must not be deleted."""

from collections.abc import Set
from typing import NamedTuple

SPAN_MS, SPAN_WINDOWS = 10_000, 1_000  # a span of batches ends after so much time or so many windows

Window = tuple[str, int]  # sensor, start


class Span(NamedTuple):
    """The open windows with readings in the batches from `first_batch` on, for about ten seconds."""

    first_batch: int
    began_ms: int
    windows: set[Window]


class OpenBatches:
    """Spans of batches in the order of their commits; a span costs less memory than its batches.

    >>> batches = OpenBatches()
    >>> batches.update(1, 0, {("5A2D", 0)})
    >>> batches.update(2, SPAN_MS, {("5A2D", 900_000)})
    >>> batches.first_open(), batches.first_open(without={("5A2D", 0)})
    (1, 2)
    """

    def __init__(self) -> None:
        self._spans: list[Span] = []

    def update(
        self, batch: int, now_ms: int, windows: set[Window], closed: Set[Window] = frozenset()
    ) -> None:
        """Note a batch with readings of these windows; forget the closed ones, and spans without others."""
        if windows:
            self._span(batch, now_ms).update(windows)
        for span in self._spans if closed else ():
            span.windows.difference_update(closed)
        first = next((place for place, s in enumerate(self._spans[:-1]) if s.windows), len(self._spans) - 1)
        del self._spans[: max(first, 0)]

    def _span(self, batch: int, now_ms: int) -> set[Window]:
        last = self._spans[-1] if self._spans else None
        # abs: after a clock is set back by a year, one span would last, and keep its batches, for a year.
        if last is None or abs(now_ms - last.began_ms) >= SPAN_MS or len(last.windows) >= SPAN_WINDOWS:
            self._spans.append(Span(batch, now_ms, set()))
        return self._spans[-1].windows

    def first_open(self, without: Set[Window] = frozenset()) -> int | None:
        """The first batch that may hold readings of open windows, `without` some; None if there is none."""
        return next((span.first_batch for span in self._spans if span.windows - without), None)
