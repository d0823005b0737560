"""Values at the ends of a column: whether more are equal to the extreme than by chance."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import bdtrc

from model_export.doctor.runs import runs
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
    levels, counts = np.unique(series.values, return_counts=True)
    if side == "highest":
        levels, counts = levels[::-1], counts[::-1]
    extreme, count, near = float(levels[0]), int(counts[0]), counts[1 : 1 + LEVELS]
    visits = int(np.sum(series.values[runs(series).starts] == extreme))
    chance = float(bdtrc(count - 1, count + near.sum(), 1.0 / (1 + len(near))))
    return Pile(extreme, count, visits, chance)


def rails(series: Series) -> list[float]:
    """The values at which a column is clipped."""
    return [found.extreme for side in SIDES if (found := pile(series, side)).clipped]
