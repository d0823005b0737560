"""Columns that stand still: the longest run of one value, against the runs the column has otherwise.

Coarse columns repeat themselves: a thermometer of 0.1 °C may say the same for an hour at night. The null is
that the longest run comes from the same tail as the others, P(run > r) ~ r^(-1/ξ) with Hill's ξ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge_agent.messages import format_time
from edge_agent.windows import MINUTE_MS
from model_export.doctor.finding import Finding
from model_export.tables import Recording, Series

LEAST_MINUTES = 60
LEAST_VALUES = 8  # of a reference that comes every quarter of an hour
RARE = 1e-4  # the chance of a run so long
APART = 5  # runs
TAIL, FEWEST_TAIL = 0.01, 20  # of the runs make the tail
THIN = 0.1  # index: no tail is trusted to be thinner


@dataclass(frozen=True, slots=True)
class Runs:
    """Stretches of equal values: where each starts and how many values it has."""

    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]


def runs(series: Series) -> Runs:
    """The runs of a column, in the order of time.

    >>> runs(Series(np.arange(5), np.array([1.0, 1.0, 2.0, 3.0, 3.0]))).lengths.tolist()
    [2, 1, 2]
    """
    changes = np.flatnonzero(np.diff(series.values) != 0.0) + 1
    starts = np.concatenate([[0], changes])
    return Runs(starts, np.diff(np.concatenate([starts, [len(series.values)]])))


def chance_of(longest: int, lengths: NDArray[np.intp]) -> float:
    """How often a column like this would have a run so long, by Hill's estimate of its runs' tail.

    The few longest are left out: a column may be stuck more than once.
    """
    others = np.sort(lengths)[:-APART]
    if not len(others):
        return 0.0
    count = min(max(FEWEST_TAIL, int(TAIL * len(others))), len(others) - 1)
    base = int(others[-1 - count]) + 1
    tail, below = others[others >= base], base - 0.5  # lengths are whole: half a value is the edge
    index = max(float(np.mean(np.log(tail / below))) if len(tail) else 0.0, THIN)
    return float(max(len(tail), 1) * (longest / below) ** (-1.0 / index))


def examine(recording: Recording, sensor: str, dataset: str) -> list[Finding]:
    """A finding for each column that stood still for longer than its own runs explain."""
    findings = []
    for column, series in recording.series.items():
        found = runs(series)
        longest = int(np.argmax(found.lengths))
        first, count = int(found.starts[longest]), int(found.lengths[longest])
        from_ms, to_ms = int(series.at_ms[first]), int(series.at_ms[first + count - 1])
        minutes = (to_ms - from_ms) / MINUTE_MS
        chance = chance_of(count, found.lengths)
        if minutes >= LEAST_MINUTES and count >= LEAST_VALUES and chance <= RARE:
            evidence = {
                "column": column,
                "value": float(series.values[first]),
                "from": format_time(from_ms),
                "to": format_time(to_ms),
                "minutes": minutes,
                "chance": chance,
                "share": count / len(series.values),
            }
            findings.append(_finding(sensor, dataset, column, evidence))
    return findings


def _finding(sensor: str, dataset: str, column: str, evidence: Mapping[str, Any]) -> Finding:
    hours = float(evidence["minutes"]) / 60.0
    return Finding(
        "stuck_channel",
        "error" if float(evidence["share"]) > 0.02 else "warning",
        sensor,
        dataset,
        evidence,
        f"{column} stood still at {evidence['value']:g} for {hours:.1f} hours from {evidence['from']}",
        "Cut these hours out before fitting. Look for a loose plug or a logger that repeats its last value; "
        f"if {column} sticks again, replace the part.",
    )
