"""Columns that stand still: runs of one value that are too long for the runs the column has otherwise.

Coarse columns repeat themselves: a thermometer of 0.1 °C may say the same for an hour at night. The null is
that a run comes from the same tail as the others, P(run > r) ~ r^(-1/ξ). What may be the fault must have no
say in ξ, however often it comes back: runs of an hour are set aside, and Hill's estimate is made for a tail
that is seen only up to there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from edge_agent.core.messages import format_time
from edge_agent.core.windows import MINUTE_MS
from model_export.doctor.clipped import rails
from model_export.doctor.finding import Finding
from model_export.doctor.runs import runs
from model_export.recordings.tables import Recording, Series

LEAST_MINUTES = 60
LEAST_VALUES = 8  # of a reference that comes every quarter of an hour
RARE = 1e-4  # runs so long that a column like this would have
ASIDE, FEWEST_ASIDE = 0.02, 5  # of the runs at most: a column that mostly stands for an hour is coarse
TAIL, FEWEST_TAIL = 0.01, 20  # of the runs make the tail
THIN, THICK = 0.1, 10.0  # index: no tail is trusted to be thinner, and none thicker tells anything
GRAVE = 0.02  # share of the values
LEFT = 0.1  # share of the values: fewer are no column any more


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some successive values that are one, and how many such a column would have by chance."""

    first: int
    count: int
    chance: float


def stretches(series: Series) -> tuple[Stretch, ...]:
    """Every run that is too long to be chance, in the order of time; a rail that is hit is another fault."""
    found = runs(series)
    minutes = (series.at_ms[found.starts + found.lengths - 1] - series.at_ms[found.starts]) / MINUTE_MS
    long = (found.lengths >= LEAST_VALUES) & (minutes >= LEAST_MINUTES)
    chances = expected(found.lengths, int(long.sum()))
    rare = long & (chances <= RARE) & ~np.isin(series.values[found.starts], rails(series))
    return tuple(
        Stretch(int(found.starts[at]), int(found.lengths[at]), float(chances[at]))
        for at in np.flatnonzero(rare)
    )


def expected(lengths: NDArray[np.intp], suspects: int) -> NDArray[np.float64]:
    """How many runs as long as each, or longer, a column like this has; the longest are `suspects`."""
    ordered = np.sort(lengths)
    aside = min(suspects, max(FEWEST_ASIDE, int(ASIDE * len(lengths))))
    others, seen_to = ordered[: len(ordered) - aside], ordered[len(ordered) - aside :][:1]
    if not len(others):
        return np.zeros(len(lengths))
    count = min(max(FEWEST_TAIL, int(TAIL * len(others))), len(others))
    tail, base = others[-count:], float(others[-count])
    reach = float(np.log(seen_to[0] / base)) if len(seen_to) else np.inf
    index = _index(np.log(tail / base), reach)
    total = count / (1.0 - np.exp(-max(reach, 1e-9) / index))
    return np.asarray(total * np.maximum(lengths / base, 1.0) ** (-1.0 / index))


def _index(logs: NDArray[np.float64], reach: float) -> float:
    """ξ of exponential logarithms seen up to `reach` only: their mean is ξ - reach/(exp(reach/ξ) - 1).

    >>> round(_index(np.array([0.2, 0.4]), np.inf), 3), _index(np.array([0.5, 0.6]), 1.0)
    (0.3, 10.0)
    """
    mean = float(np.mean(logs)) if len(logs) else 0.0

    def excess(index: float) -> float:
        return index - (reach / np.expm1(reach / index) if np.isfinite(reach) else 0.0) - mean

    if excess(THIN) >= 0.0:
        return THIN
    return float(brentq(excess, THIN, THICK)) if excess(THICK) > 0.0 else THICK


def without(recording: Recording) -> Recording:
    """The recording without the values that stood still, so that they do not look like another fault.

    A column that hardly ever moved stays as it is: without it there would be nothing to examine.
    """
    series = dict(recording.series)
    for column, one in recording.series.items():
        kept = np.ones(len(one.values), dtype=bool)
        for stretch in stretches(one):
            kept[stretch.first : stretch.first + stretch.count] = False
        if kept.mean() > LEFT:
            series[column] = Series(one.at_ms[kept], one.values[kept])
    return replace(recording, series=series)


def examine(recording: Recording, sensor: str, dataset: str) -> list[Finding]:
    """A finding for each column that stood still for longer than its own runs explain."""
    return [
        _finding(sensor, dataset, column, _evidence(column, series, found))
        for column, series in recording.series.items()
        if (found := stretches(series))
    ]


def _evidence(column: str, series: Series, found: Iterable[Stretch]) -> dict[str, Any]:
    """Of all stretches, and where the longest is."""
    every = [(_minutes(series, one), one) for one in found]
    minutes, longest = max(every, key=lambda each: each[0])
    last = longest.first + longest.count - 1
    return {
        "column": column,
        "value": float(series.values[longest.first]),
        "from": format_time(int(series.at_ms[longest.first])),
        "to": format_time(int(series.at_ms[last])),
        "minutes": minutes,
        "chance": longest.chance,
        "stretches": len(every),
        "total_minutes": sum(lasted for lasted, _ in every),
        "share": sum(one.count for _, one in every) / len(series.values),
    }


def _minutes(series: Series, one: Stretch) -> float:
    return float(series.at_ms[one.first + one.count - 1] - series.at_ms[one.first]) / MINUTE_MS


def _finding(sensor: str, dataset: str, column: str, evidence: Mapping[str, Any]) -> Finding:
    hours, times = float(evidence["minutes"]) / 60.0, int(evidence["stretches"])
    often = f"{times} times, {evidence['total_minutes'] / 60.0:.1f} hours in all; " if times > 1 else ""
    return Finding(
        "stuck_channel",
        "error" if float(evidence["share"]) > GRAVE else "warning",
        sensor,
        dataset,
        evidence,
        f"{column} stood still {often}at {evidence['value']:g} for {hours:.1f} hours from {evidence['from']}",
        "Cut these hours out before fitting. Look for a loose plug or a logger that repeats its last value; "
        f"if {column} sticks again, replace the part.",
    )
