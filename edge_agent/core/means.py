"""Means over hours from the windows of one sensor, weighted by their minutes; never means of means."""

from collections.abc import Iterable, Iterator
from math import fsum
from typing import NamedTuple

from edge_agent.core.quality import Flag
from edge_agent.core.windows import COVERAGE

HOUR_MS = 3_600_000


class Part(NamedTuple):
    """What a mean needs of one window; `minutes` are those of the electrode that has fewest."""

    start_ms: int
    end_ms: int
    value: float | None
    minutes: int
    expected: int
    quality: int
    reasons: tuple[str, ...] = ()
    unit: str | None = None
    model: str | None = None


class SpanMean(NamedTuple):
    """The mean of the minutes in [start, end); without a value if too few of them have one."""

    start_ms: int
    end_ms: int
    value: float | None
    unit: str | None
    quality: int
    reasons: tuple[str, ...]
    minutes: int
    expected: int
    models: tuple[str, ...]


def running_means(
    parts: Iterable[Part], span_ms: int, until_ms: int, coverage: float = COVERAGE
) -> Iterator[SpanMean]:
    """The mean of every span that starts on an hour, ends by `until_ms` and contains a window.

    `parts` are windows in order. A window counts in a span only if it lies in it as a whole. For a span of
    one hour these are the hourly means, for 8 hours the running 8-hour means.

    >>> parts = [Part(start, start + 900_000, value, 15, 15, 1) for start, value in
    ...          ((0, 1.0), (900_000, 2.0), (1_800_000, 3.0))]
    >>> [(mean.value, mean.minutes, mean.expected) for mean in running_means(parts, HOUR_MS, HOUR_MS)]
    [(2.0, 45, 60)]
    """
    inside: list[Part] = []
    start_ms = 0
    for part in parts:
        if (next_ms := _first_span(part, span_ms)) > start_ms:
            yield from _spans(inside, start_ms, next_ms, span_ms, until_ms, coverage)
            start_ms = next_ms
            inside = [each for each in inside if each.start_ms >= start_ms]
        inside.append(part)
    yield from _spans(inside, start_ms, until_ms, span_ms, until_ms, coverage)


def _first_span(part: Part, span_ms: int) -> int:
    """The start of the first span that has this window as a whole."""
    return max(0, -(-(part.end_ms - span_ms) // HOUR_MS) * HOUR_MS)


def _spans(
    parts: list[Part], from_ms: int, to_ms: int, span_ms: int, until_ms: int, coverage: float
) -> Iterator[SpanMean]:
    """The spans that start in [from, to); no window after `parts` is in one of them."""
    last_ms = max((part.start_ms for part in parts), default=-1)
    for start_ms in range(from_ms, min(to_ms, last_ms + 1, until_ms - span_ms + 1), HOUR_MS):
        end_ms = start_ms + span_ms
        if within := [part for part in parts if start_ms <= part.start_ms and part.end_ms <= end_ms]:
            yield _mean(within, start_ms, end_ms, coverage)


def _mean(parts: list[Part], start_ms: int, end_ms: int, coverage: float) -> SpanMean:
    used = [part for part in parts if part.value is not None and part.quality != Flag.FAIL]
    minutes = sum(part.minutes for part in used)
    expected = max(
        part.expected * (end_ms - start_ms) // (part.end_ms - part.start_ms) for part in used or parts
    )
    units = {part.unit for part in used}
    models = tuple(dict.fromkeys(part.model for part in used if part.model))
    if minutes < coverage * expected or len(units) != 1:
        reason = "mixed_units" if len(units) > 1 else "insufficient_coverage"
        return SpanMean(start_ms, end_ms, None, None, Flag.MISSING, (reason,), minutes, expected, models)
    value = fsum((part.value or 0.0) * part.minutes for part in used) / minutes
    reasons = tuple(dict.fromkeys(reason for part in used for reason in part.reasons))
    quality = max(part.quality for part in used)
    return SpanMean(start_ms, end_ms, value, units.pop(), quality, reasons, minutes, expected, models)
