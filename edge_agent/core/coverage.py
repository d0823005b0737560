"""Coverage: the minutes of a window that have readings, against those that are expected and needed."""

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from edge_agent.core.windows import COVERAGE, MINUTE_MS, Window

if TYPE_CHECKING:
    from edge_agent.core.model import Model  # numpy takes 0.1 s, and exports do not need it


class Coverage(NamedTuple):
    """The minutes of every channel that the window has or the model needs."""

    minutes: Mapping[str, int]
    expected: int  # of the channel that comes most often
    poor: frozenset[str]  # channels with too few minutes for their cadence
    sufficient: bool  # whether no channel that counts is poor
    complete: bool  # whether every expected minute of every channel that the model needs is there


def measure(window: Window, model: "Model | None", coverage: float = COVERAGE) -> Coverage:
    """How much of a window is there; without a model every channel that was heard counts, at one minute."""
    length_ms, cadences = window.end_ms - window.start_ms, model.cadence_minutes if model else {}
    needed = (*model.measured, model.auxiliary) if model else ()
    minutes = {
        name: window.channels[name].minutes if name in window.channels else 0
        for name in sorted({*window.channels, *needed})
    }
    poor = frozenset(
        name
        for name, heard in minutes.items()
        if heard < needed_minutes(length_ms, cadences.get(name, 1), coverage)
    )
    full = {name: expected_minutes(length_ms, cadences.get(name, 1)) for name in needed}
    return Coverage(
        minutes,
        expected=max(full.values(), default=expected_minutes(length_ms)),
        poor=poor,
        sufficient=poor.isdisjoint(needed or minutes),
        complete=bool(full) and all(minutes[name] >= most for name, most in full.items()),
    )


def expected_minutes(length_ms: int, cadence_minutes: int = 1) -> int:
    """How many minutes of a window have a reading, where one comes every `cadence_minutes`.

    >>> [expected_minutes(900_000, cadence) for cadence in (1, 4, 5, 15, 60)]
    [15, 3, 3, 1, 1]
    """
    return max(1, length_ms // (cadence_minutes * MINUTE_MS))


def needed_minutes(length_ms: int, cadence_minutes: int = 1, coverage: float = COVERAGE) -> int:
    """How many minutes of a window must have a reading: `coverage` of the expected ones, at least 1.

    Readings of a slow channel jitter, and one near the edge of a window falls into the next. So a slow
    channel never needs more than the minutes that every window has if stamps jitter by up to a minute:

    >>> [needed_minutes(900_000, cadence) for cadence in (1, 3, 4, 5, 15)]
    [12, 4, 3, 2, 1]
    """
    share = ceil(coverage * expected_minutes(length_ms, cadence_minutes))
    certain = (length_ms // MINUTE_MS - 1) // cadence_minutes if cadence_minutes > 1 else share
    return max(1, min(share, certain))
