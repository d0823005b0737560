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
