"""The simulated network in the trainer's form."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from model_export.recordings.recording import REFERENCE, TEMPERATURE, Recording, Series
from model_export.simulator import network as simulate
from model_export.simulator.campaign import SENSORS


def network(
    seed: int = 1,
    swapped: Iterable[str] = (),
    sensors: Iterable[str] = SENSORS,
    datasets: Iterable[str] | None = None,
    outliers: float = 0.01,
) -> dict[tuple[str, str], Recording]:
    """{(sensor, dataset): recording}."""
    found = simulate.simulate(seed, outliers, tuple(swapped), tuple(sensors), datasets)
    return {(one.sensor, one.dataset): recording(one) for one in found.recordings}


def recording(one: simulate.Recording) -> Recording:
    columns = {"op1": one.op1, "op2": one.op2, TEMPERATURE: one.temperature, REFERENCE: one.reference}
    series = {name: _series(one.at_ms, values) for name, values in columns.items()}
    return Recording(one.name, one.sensor, ("op1", "op2"), series, {}, ())


def _series(at_ms: NDArray[np.int64], values: NDArray[np.float64]) -> Series:
    there = np.isfinite(values)
    return Series(at_ms[there], values[there])
