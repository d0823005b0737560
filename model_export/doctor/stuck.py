"""Columns that repeat one value for hours.

A coarse column repeats itself: a thermometer with steps of 0.1 °C may show one value for an hour at night. So
a run is compared with the other runs of its column. The fault must not change what counts as usual. Runs of
an hour or more are therefore left out, and the tail index ξ is Hill's estimate for a tail cut off there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from edge_agent.core.messages import format_time
from edge_agent.core.windows import MINUTE_MS
from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.piles import rails
from model_export.doctor.runs import runs
from model_export.recordings.recording import Recording, Series

LEAST_MINUTES = 60
LEAST_VALUES = 8  # two hours of a reference with one value per 15 minutes
RARE = 1e-4  # expected number of runs as long or longer
ASIDE, FEWEST_ASIDE = 0.02, 5  # share and number of runs left out at most; with more the column is coarse
TAIL, FEWEST_TAIL = 0.01, 20  # share and least number of runs in the tail
THIN, THICK = 0.1, 10.0  # limits of the tail index
GRAVE = 0.02  # share of the values
LEFT = 0.1  # share of the values that must remain in a column


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of equal values, and how many runs as long the column would have by chance."""

    first: int
    count: int
    chance: float


def stretches(series: Series) -> tuple[Stretch, ...]:
    """Every run that is too long to be chance, in the order of time; clipped values are not stuck."""
    found = runs(series)
    long = found.of(found.lengths >= LEAST_VALUES)
    minutes = (series.at_ms[long.starts + long.lengths - 1] - series.at_ms[long.starts]) / MINUTE_MS
    long = long.of(minutes >= LEAST_MINUTES)
    if not len(long.starts):
        return ()
    chances = expected(long.lengths, found.lengths)
    rare = (chances <= RARE) & ~np.isin(series.values[long.starts], rails(series))
    return tuple(
        Stretch(int(long.starts[at]), int(long.lengths[at]), float(chances[at]))
        for at in np.flatnonzero(rare)
    )


def expected(lengths: NDArray[np.intp], every: NDArray[np.intp]) -> NDArray[np.float64]:
    """The expected number of runs as long as each suspect or longer; the longest of all are left out."""
    ordered = np.sort(every)
    aside = min(len(lengths), max(FEWEST_ASIDE, int(ASIDE * len(every))))
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
    """ξ of exponential logarithms cut off at `reach`: their mean is ξ - reach/(exp(reach/ξ) - 1).

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
    """The recording without stuck values, so that they do not look like another fault.

    A column that is nearly all stuck is kept: without it no other check could run.
    """
    series = dict(recording.series)
    for column, one in recording.series.items():
        found = stretches(one)
        kept = np.ones(len(one.values), dtype=bool)
        for stretch in found:
            kept[stretch.first : stretch.first + stretch.count] = False
        if found and kept.mean() > LEFT:
            series[column] = Series(one.at_ms[kept], one.values[kept])
    return replace(recording, series=series)


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """Columns that repeat one value for longer than their other runs explain.

    Statistic: the length r of each run of an hour or more.
    Null: the run belongs to the tail of the column's other runs, P(run > r) ~ r^(-1/ξ).
    Threshold: fewer than RARE runs as long are expected.
    """
    for case in cases:
        for column, series in case.recording.series.items():
            if found := stretches(series):
                yield _finding(case, _evidence(column, series, found))


def _evidence(column: str, series: Series, found: Iterable[Stretch]) -> dict[str, Any]:
    """The number and length of all stretches, and the time of the longest."""
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


def _finding(case: Case, evidence: dict[str, Any]) -> Finding:
    column, hours, times = evidence["column"], evidence["minutes"] / 60.0, evidence["stretches"]
    often = f"{times} times, {evidence['total_minutes'] / 60.0:.1f} hours in all; " if times > 1 else ""
    return case.finding(
        "stuck_channel",
        "error" if evidence["share"] > GRAVE else "warning",
        evidence,
        f"{column} was stuck {often}at {evidence['value']:g} for {hours:.1f} hours from {evidence['from']}",
        "Cut these hours out before fitting. Look for a loose plug or a logger that repeats its last value. "
        f"If {column} sticks again, replace the part.",
    )
