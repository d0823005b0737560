"""Trainer and agent mean the same: two readers of recordings, two ways to compute warming, one result."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.pipeline import Pipeline
from edge_agent.core.warming import Past
from edge_agent.core.windows import Windows
from edge_agent.recording import read
from model_export.recordings import tables
from model_export.recordings.catalogue import load
from model_export.recordings.dataset import split, warmings
from tests.conftest import make_warming_model
from tests.support.recordings import saved, tidy

WINDOW_MS, HOUR_MS = 900_000, 3_600_000
MEMORIES = {"warming_1h": HOUR_MS, "warming_4h": 4 * HOUR_MS}
CHANNELS = ("op1", "op2", "temperature")
temperatures = st.lists(st.none() | st.floats(-40.0, 60.0), min_size=1, max_size=120)
ROWS = [
    "2024-02-01T10:15:30Z,5A2D,231.4,206.1,24.3",
    "2024-02-01T15:46:30+05:30,5A2D,,206.2,24.4",
    "2024-02-01 10:17:30.250,5A2D, 231.6 ,2.062e2,-24.5",
    "2024-02-01T10:17:30Z,5CB6,1,2,3",
    "2024-02-01T10:15:30Z,5A2D,999,999,999",
]


@pytest.mark.parametrize("rows", [ROWS, [f"{1706782530 + k},5A2D,{k},{k / 3},20" for k in range(5)]])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_replay_and_trainer_read_the_same_values(tmp_path: Path, rows: list[str], name: str) -> None:
    """Two readers, one meaning: times, sensors, empty cells, spaces, a byte order mark, gzip."""
    text = "\ufefftimestamp,sensor, op1,op2,temperature\n" + "\n".join(rows) + "\n"
    file = tmp_path / name
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    first: dict[str, dict[int, float]] = {}
    for reading in read(file, "5A2D", CHANNELS):
        first.setdefault(reading.channel, {}).setdefault(reading.at_ms, reading.value)
    series = tables.read([file], "5A2D", with_reference=False).series
    trained = {
        column: pytest.approx(dict(zip(one.at_ms.tolist(), one.values.tolist(), strict=True)), rel=1e-15)
        for column, one in series.items()
    }
    assert first == trained


@given(known=temperatures)
def test_a_whole_recording_at_once_is_the_same_to_the_bit(known: list[float | None]) -> None:
    """Parity of the trainer's quick way with the agent's."""
    past, expected, there = Past(WINDOW_MS), list[list[float]](), dict[int, float]()
    for place, temperature in enumerate(known):
        if temperature is not None:
            there[place * WINDOW_MS] = temperature
            found, _ = past.compare("5A2D", place * WINDOW_MS, temperature, MEMORIES, note=True)
            expected.append([*found.values()])
    assert warmings(there, there, MEMORIES.values()).tolist() == expected


def test_the_trainer_sees_what_the_agent_sees(tmp_path: Path) -> None:
    """Also where the reference, and so the window, is missing: the temperature was there."""
    table = tidy(windows=60)
    table.loc[15 * 20 : 15 * 30, "reference"] = np.nan
    table.loc[15 * 40 : 15 * 43, "temperature"] = np.nan
    path = saved(table, tmp_path / "5A2D_T-W.csv")
    dataset = load([path], "5A2D", "ppm").warmed(MEMORIES)
    pipeline = Pipeline(Windows(), {"5A2D": make_warming_model()})
    served = {
        estimate.start_ms: [estimate.inputs[name] for name in dataset.channels]
        for estimate in pipeline.replay(read(path, "5A2D", ("op1", "op2", "temperature")))
        if "temperature" in estimate.inputs
    }
    assert dataset.channels == ("op1", "op2", "warming_1h", "warming_4h")
    assert 45 <= len(dataset) < 57
    assert dataset.inputs.tolist() == [served[start_ms] for start_ms in dataset.start_ms.tolist()]


def test_a_test_part_goes_on_from_the_train_part(tmp_path: Path) -> None:
    dataset = load([saved(tidy(windows=60), tmp_path / "a.csv")], "5A2D", "ppm")
    whole = dataset.warmed(MEMORIES).inputs
    parts = [part.warmed(MEMORIES).inputs for part in split(dataset)]
    assert np.concatenate(parts).tolist() == whole.tolist()
    assert dataset.warmed({}) is dataset
