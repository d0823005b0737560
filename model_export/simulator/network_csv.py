"""A simulated network on disk: tidy recordings to train on, and the truth in a folder apart.

    DIR/5A2D_T-W.csv         timestamp,op1,op2,temperature,reference     what a van records
    DIR/truth/T-W.csv        timestamp,co,nox,temperature                the true air, one row a minute
    DIR/truth/network.json   seed, swaps, every package's constants, every deployment's analyser

The trainer never reads DIR/truth: nobody knows the truth in the field.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from edge_agent.core.errors import RespireError
from model_export.files import write_atomically
from model_export.simulator.network import Colocation, Network, Recording
from model_export.simulator.weather import Times

TRUTH = "truth"


def write_network(network: Network, directory: Path) -> Iterator[Path]:
    """Write every file of the network; yield each path when the file is written."""
    try:
        (directory / TRUTH).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RespireError(
            f"{directory}: expected a directory to write, got {error.strerror}; name another"
        ) from error
    for path, data in _files(network):
        write_atomically(directory / path, data)
        yield directory / path


def _files(network: Network) -> Iterator[tuple[Path, bytes]]:
    """The path of each file inside the directory, and its content."""
    for recording in network.recordings:
        yield Path(f"{recording.name}.csv"), _csv(_recording_table(recording))
    for dataset, colocation in network.colocations.items():
        yield Path(TRUTH, f"{dataset}.csv"), _csv(_truth_table(colocation))
    yield Path(TRUTH, "network.json"), (json.dumps(_constants(network), indent=1) + "\n").encode()


def _csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, lineterminator="\n").encode()


def stamps(at_ms: Times) -> "np.ndarray[Any, np.dtype[np.str_]]":
    """ISO 8601 in UTC, to the second.

    >>> stamps(np.array([1706782500000])).tolist()
    ['2024-02-01T10:15:00Z']
    """
    seconds = np.datetime_as_string(at_ms.astype("datetime64[ms]"), unit="s")
    return np.char.add(seconds, "Z")


def _recording_table(recording: Recording) -> pd.DataFrame:
    """The rows with at least one value, rounded as an instrument would."""
    table = pd.DataFrame(
        {
            "timestamp": stamps(recording.at_ms),
            "op1": recording.op1.round(3),
            "op2": recording.op2.round(3),
            "temperature": recording.temperature.round(2),
            "reference": recording.reference.round(3),
        }
    )
    return table.dropna(how="all", subset=["op1", "op2", "temperature", "reference"])


def _truth_table(colocation: Colocation) -> pd.DataFrame:
    air = colocation.air
    columns = {"co": air.co.round(4), "nox": air.nox.round(5), "temperature": air.temperature.round(2)}
    return pd.DataFrame({"timestamp": stamps(air.at_ms), **columns})


def _constants(network: Network) -> dict[str, Any]:
    return {
        "seed": network.seed,
        "swapped": sorted(network.swapped),
        "packages": {sensor: asdict(package) for sensor, package in network.packages.items()},
        "analysers": {dataset: asdict(place.analyser) for dataset, place in network.colocations.items()},
        "outliers": {
            dataset: stamps(place.air.at_ms[::15][place.outliers]).tolist()
            for dataset, place in network.colocations.items()
        },
    }
