"""The temperatures of several files: the sensor's own, or those of a station beside it."""

from collections.abc import Iterable, Mapping

import numpy as np

from model_export.recordings.recording import Part

_DAY_MS = 86_400_000


def strangers(elsewhere: Mapping[str, Part], own: Iterable[Part]) -> list[str]:
    """The files, of those without a channel, whose thermometer was beside the sensor's own.

    A mean of both would be neither. Files that follow each other may have a few hours in common.
    """
    spans = [*map(_span, own)]
    return [name for name, part in elsewhere.items() if any(_beside(_span(part), each) for each in spans)]


def _span(part: Part) -> tuple[int, int]:
    """The first and the last time with a value; the last is before the first if there is none."""
    at_ms = part[0][np.isfinite(part[1])]
    return (int(at_ms.min()), int(at_ms.max())) if len(at_ms) else (0, -1)


def _beside(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two spans have a day in common, or half of the shorter one."""
    common_ms = min(one[1], other[1]) - max(one[0], other[0])
    return common_ms >= max(0.0, min(_DAY_MS, (one[1] - one[0]) / 2, (other[1] - other[0]) / 2))
