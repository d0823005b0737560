"""Columns that reach a limit of the amplifier or the logger: many values are equal to the extreme."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import binom

from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.runs import runs
from model_export.recordings.recording import Series

Side = Literal["highest", "lowest"]

SIDES: tuple[Side, ...] = ("highest", "lowest")
RARE = 1e-6
LEVELS = 5  # distinct values next to the extreme that it is compared with
VISITS = 3  # separate visits to the extreme; one long visit is a stuck column
GRAVE = 0.01  # share of the values


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
    chance = float(binom.sf(count - 1, count + near.sum(), 1.0 / (1 + len(near))))
    return Pile(extreme, count, visits, chance)


def rails(series: Series) -> list[float]:
    """The values at which a column is clipped."""
    return [found.extreme for side in SIDES if (found := pile(series, side)).clipped]


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """Columns that are clipped at their highest or lowest value.

    Statistic: the count of the extreme, beside the counts of the LEVELS values next to it.
    Null: the extreme is as common as each of those, so its count is binomial.
    Threshold: a probability of RARE, and at least VISITS separate visits.
    """
    for case in cases:
        for column, series in case.recording.series.items():
            for side in SIDES:
                if (found := pile(series, side)).clipped:
                    yield _finding(case, column, side, found, found.count / len(series.values))


def _finding(case: Case, column: str, side: Side, found: Pile, share: float) -> Finding:
    evidence = {
        "column": column,
        "side": side,
        "value": found.extreme,
        "values": found.count,
        "share": share,
        "visits": found.visits,
        "chance": found.chance,
    }
    return case.finding(
        "clipped_channel",
        "error" if share > GRAVE else "warning",
        evidence,
        f"{column} is clipped at its {side} value {found.extreme:g}: {share:.1%} of its values, in "
        f"{found.visits} visits",
        f"Values beyond {found.extreme:g} were lost. Cut those minutes out before fitting, and lower the "
        "amplifier's gain or widen the logger's range.",
    )
