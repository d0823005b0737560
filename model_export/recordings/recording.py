"""A recording in memory: the series of each column of one sensor."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array

TEMPERATURE, REFERENCE = "temperature", "reference"
CELL = "electrochemical"  # the usual type of sensor

Part = tuple[NDArray[np.int64], Array]  # times and values of one column in one file; NaN where there is none


@dataclass(frozen=True, slots=True)
class Series:
    """One column over time: finite values at sorted times, each time once."""

    at_ms: NDArray[np.int64]
    values: Array


@dataclass(frozen=True, slots=True)
class Recording:
    """All values of one sensor in its files; each column has times of its own."""

    name: str
    sensor: str
    channels: tuple[str, ...]
    series: Mapping[str, Series]
    dropped: Mapping[str, int]  # reason -> values (or rows) left out
    notes: tuple[str, ...]  # for the user
    unit: str = ""  # of the reference, if a header such as reference [ppb] says it


def side_by_side(series: Mapping[str, Series]) -> tuple[NDArray[np.int64], dict[str, Array]]:
    """Every time of any column, sorted, and each column at these times, NaN where it has no value."""
    at_ms = np.unique(np.concatenate([one.at_ms for one in series.values()]))
    columns = {name: np.full(len(at_ms), np.nan) for name in series}
    for name, one in series.items():
        columns[name][np.searchsorted(at_ms, one.at_ms)] = one.values
    return at_ms, columns
