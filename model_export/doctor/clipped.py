"""Columns that reach a limit of the amplifier or the logger: many values are equal to the extreme."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from scipy.stats import binom

from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.runs import runs
from model_export.recordings.tables import Series

Side = Literal["highest", "lowest"]

SIDES: tuple[Side, ...] = ("highest", "lowest")
RARE = 1e-6
LEVELS = 5  # distinct values next to the extreme that it is compared with
VISITS = 3  # separate visits to the extreme; one long visit is a stuck column
GRAVE = 0.01  # share of the values


def pile(series: Series, side: Side) -> tuple[float, int, int, float]:
    """The extreme, its count, the number of visits, and the probability of that count or more."""
    levels, counts = np.unique(series.values, return_counts=True)
    if side == "highest":
        levels, counts = levels[::-1], counts[::-1]
    extreme, here = float(levels[0]), int(counts[0])
    near = counts[1 : 1 + LEVELS]
    found = runs(series)
    visits = int(np.sum(series.values[found.starts] == extreme))
    return extreme, here, visits, float(binom.sf(here - 1, here + near.sum(), 1.0 / (1 + len(near))))


def rails(series: Series) -> list[float]:
    """The values at which a column is clipped."""
    piles = [pile(series, side) for side in SIDES]
    return [extreme for extreme, _, visits, p in piles if visits >= VISITS and p <= RARE]


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """Columns that are clipped at their highest or lowest value.

    Statistic: the count of the extreme, beside the counts of the LEVELS values next to it.
    Null: the extreme is as common as each of those, so its count is binomial.
    Threshold: a probability of RARE, and at least VISITS separate visits.
    """
    for case in cases:
        for column, series in case.recording.series.items():
            for side in SIDES:
                extreme, here, visits, p = pile(series, side)
                if visits >= VISITS and p <= RARE:
                    share = here / len(series.values)
                    yield _finding(case, column, side, extreme, here, share, visits, p)


def _finding(
    case: Case, column: str, side: Side, extreme: float, here: int, share: float, visits: int, p: float
) -> Finding:
    return case.finding(
        "clipped_channel",
        "error" if share > GRAVE else "warning",
        {
            "column": column,
            "side": side,
            "value": extreme,
            "values": here,
            "share": share,
            "visits": visits,
            "chance": p,
        },
        f"{column} is clipped at its {side} value {extreme:g}: {share:.1%} of its values, in {visits} visits",
        f"Values beyond {extreme:g} were lost. Cut those minutes out before fitting, and lower the "
        "amplifier's gain or widen the logger's range.",
    )
