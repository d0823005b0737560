"""Columns that hit a ceiling or a floor: values pile up at their extreme.

Towards its extreme a column's values get rarer. The null is that the extreme is as common as the levels next
to it are on the average, a fair die between them all; an amplifier at its rail fails that plainly.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from scipy.stats import binom

from model_export.doctor.finding import Finding
from model_export.doctor.runs import runs
from model_export.recordings.tables import Recording, Series

Side = Literal["highest", "lowest"]

SIDES: tuple[Side, ...] = ("highest", "lowest")
RARE = 1e-6
LEVELS = 5  # next to the extreme
VISITS = 3  # separate times at the extreme; one long one is a stuck column
GRAVE = 0.01  # share of the values


def pile(series: Series, side: Side) -> tuple[float, int, int, float]:
    """The extreme, how often it occurs, in how many visits, and the chance of that many."""
    levels, counts = np.unique(series.values, return_counts=True)
    if side == "highest":
        levels, counts = levels[::-1], counts[::-1]
    extreme, here = float(levels[0]), int(counts[0])
    near = counts[1 : 1 + LEVELS]
    found = runs(series)
    visits = int(np.sum(series.values[found.starts] == extreme))
    return extreme, here, visits, float(binom.sf(here - 1, here + near.sum(), 1.0 / (1 + len(near))))


def rails(series: Series) -> list[float]:
    """The values at which a column is cut off."""
    piles = [pile(series, side) for side in SIDES]
    return [extreme for extreme, _, visits, chance in piles if _plain(visits, chance)]


def examine(recording: Recording, sensor: str, dataset: str) -> list[Finding]:
    """A finding for each column that piles up at an end."""
    findings = []
    for column, series in recording.series.items():
        for side in SIDES:
            extreme, here, visits, chance = pile(series, side)
            if _plain(visits, chance):
                evidence = {
                    "column": column,
                    "side": side,
                    "value": extreme,
                    "values": here,
                    "share": here / len(series.values),
                    "visits": visits,
                    "chance": chance,
                }
                findings.append(_finding(sensor, dataset, column, evidence))
    return findings


def _plain(visits: int, chance: float) -> bool:
    return visits >= VISITS and chance <= RARE


def _finding(sensor: str, dataset: str, column: str, evidence: Mapping[str, Any]) -> Finding:
    share = float(evidence["share"])
    return Finding(
        "clipped_channel",
        "error" if share > GRAVE else "warning",
        sensor,
        dataset,
        evidence,
        f"{column} is cut off at its {evidence['side']} value {evidence['value']:g}: it is there {share:.1%} "
        f"of the time, in {evidence['visits']} visits",
        f"Values beyond {evidence['value']:g} were lost: cut those minutes out before fitting, and lower the "
        "amplifier's gain or widen the logger's range.",
    )
