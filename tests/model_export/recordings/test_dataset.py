"""Datasets: loading, the temporal split, and what no calibration could be learnt from."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.errors import BadRecording
from model_export.recordings.dataset import Dataset, load, require_trainable, split
from model_export.recordings.tables import Layout
from tests.support.models import drawn
from tests.support.recordings import saved, tidy


def test_a_recording_becomes_a_dataset(tmp_path: Path) -> None:
    """Channels, temperature and reference stand side by side, in the order of time."""
    dataset = load([saved(tidy(windows=60), tmp_path / "a.csv")], "5A2D", "ppm")
    assert (len(dataset), dataset.inputs.shape, dataset.channels) == (60, (60, 2), ("op1", "op2"))
    assert (dataset.sensor, dataset.unit, dataset.name) == ("5A2D", "ppm", "a.csv")
    assert (np.diff(dataset.start_ms) == 900_000).all()
    require_trainable(dataset)


def test_without_a_reference_the_target_is_nan(tmp_path: Path) -> None:
    """Transfer learns from channels alone."""
    path = saved(tidy(windows=10).drop(columns="reference"), tmp_path / "a.csv")
    dataset = load([path], "5A2D", "ppm", reference=None)
    assert (len(dataset), bool(np.isnan(dataset.target).all())) == (10, True)


@given(n=st.integers(2, 300), share=st.floats(0.0, 0.9))
def test_the_split_keeps_the_order_of_time(n: int, share: float) -> None:
    """All of train lies before all of test, nothing is lost and nothing doubled."""
    dataset = drawn(n)
    train, test = split(dataset, share)
    assert dataset.start_ms.tolist() == [*train.start_ms, *test.start_ms]
    assert round(n * share) == len(test)


def test_the_usual_split_is_80_to_20() -> None:
    """As in the paper."""
    train, test = split(drawn(100))
    assert (len(train), len(test)) == (80, 20)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda table: table[:600],
            "a.csv: expected at least 50 windows with all columns valid, got 40 (dropped: none); "
            "add a longer recording",
        ),
        (
            lambda table: table[table.index % 45 != 7].assign(op2=lambda t: t["op2"].where(t.index >= 720)),
            "a.csv: expected at least 50 windows with all columns valid, got 12 "
            "(dropped: 48 op2 below coverage); add a longer recording",
        ),
        (
            lambda table: table.assign(temperature=21.5),
            "a.csv: temperature: expected values that vary, got 21.5 in all 60 windows; "
            "check the sensor or map another column with --columns",
        ),
        (
            lambda table: table.assign(op1=0),
            "a.csv: op1: expected values that vary, got 0 in all 60 windows; "
            "check the sensor or map another column with --columns",
        ),
        (
            lambda table: table.assign(reference=0.4),
            "a.csv: reference: expected values that vary, got 0.4 in all 60 windows; "
            "check the sensor or map another column with --columns",
        ),
    ],
)
def test_untrainable_data_gets_one_clear_line(
    tmp_path: Path, change: Callable[[pd.DataFrame], pd.DataFrame], expected: str
) -> None:
    """Too little, or a quantity that never changes."""
    dataset: Dataset = load([saved(change(tidy(windows=60)), tmp_path / "a.csv")], "5A2D", "ppm")
    with pytest.raises(BadRecording) as caught:
        require_trainable(dataset)
    assert expected == str(caught.value)


def test_a_channel_may_not_have_the_name_of_one_that_is_derived(tmp_path: Path) -> None:
    table = tidy(windows=60).assign(warming_1h=lambda rows: rows["op1"])
    path = saved(table, tmp_path / "a.csv")
    with pytest.raises(BadRecording) as caught:
        load([path], "5A2D", "ppm", Layout(columns={"warming_1h": "warming_1h"}))
    assert str(caught.value) == (
        "a.csv: warming_1h: expected another name for a channel, warming_… is derived from temperature; "
        "rename it with --columns"
    )
