"""Values at the ends of a column: whether more are equal to the extreme than by chance."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
from scipy.special import bdtrc

from edge_agent.core.kernel import Array
from model_export.doctor.runs import visits
from model_export.recordings.recording import Series

Side = Literal["highest", "lowest"]

SIDES: tuple[Side, ...] = ("highest", "lowest")
RARE = 1e-6
LEVELS = 5  # distinct values next to the extreme that it is compared with
VISITS = 3  # separate visits to the extreme; one long visit is a stuck column


@dataclass(frozen=True, slots=True)
class Pile:
    """The values at one end of a column."""

    extreme: float
    count: int
    visits: int
    chance: float  # the probability of that count or more

    @property
    def clipped(self) -> bool:
        """Whether the extreme is too common to be chance."""
        return self.visits >= VISITS and self.chance <= RARE


def pile(series: Series, side: Side) -> Pile:
    """The extreme of a column, compared with the levels next to it."""
    levels = islice(_inwards(series.values, side), 1 + LEVELS)
    (extreme, count), *near = ((level, int(np.sum(series.values == level))) for level in levels)
    others = sum(counted for _, counted in near)
    chance = float(bdtrc(count - 1, count + others, 1.0 / (1 + len(near))))
    return Pile(extreme, count, visits(series, extreme), chance)


def _inwards(values: Array, side: Side) -> Iterator[float]:
    """The distinct values from one end of a column on; sorting it for a few of them would take longer.

    >>> [*_inwards(np.array([3.0, 1.0, 2.0, 3.0]), "highest")]
    [3.0, 2.0, 1.0]
    """
    left = np.ones(len(values), dtype=bool)
    while left.any():
        highest = side == "highest"
        level = values.max(where=left, initial=-np.inf) if highest else values.min(where=left, initial=np.inf)
        yield float(level)
        left = values < level if highest else values > level


def rails(series: Series) -> list[float]:
    """The values at which a column is clipped."""
    return [found.extreme for side in SIDES if (found := pile(series, side)).clipped]
