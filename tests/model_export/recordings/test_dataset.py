"""Datasets: 15-minute means by the agent's own windows, the temporal split, and what cannot be fitted to."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.errors import BadRecording
from edge_agent.core.kernel import Array
from model_export.recordings.catalogue import load
from model_export.recordings.dataset import Dataset, Stamp, require_trainable, split, windows
from model_export.recordings.recording import Recording, Series
from model_export.recordings.tables import Layout, cadence_minutes, read
from tests.support.models import drawn
from tests.support.recordings import FIRST_MS, saved, tidy

WINDOW_MS = 900_000
MINUTE_MS = 60_000
COLUMNS = ("op1", "op2", "temperature", "reference")


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


def averaged(table: pd.DataFrame, tmp_path: Path, reference: Stamp | None = "auto") -> Dataset:
    return load([saved(table, tmp_path / "a.csv")], "5A2D", "ppm", reference=reference)


def columns_of(dataset: Dataset) -> Array:
    return np.column_stack([dataset.inputs, dataset.auxiliary, dataset.target])


def test_means_are_those_of_the_rows(tmp_path: Path) -> None:
    """With a row each minute a window is the plain mean of 15 rows."""
    table = tidy(windows=10)
    averages = averaged(table, tmp_path)
    assert [FIRST_MS + WINDOW_MS * k for k in range(10)] == averages.start_ms.tolist()
    expected = table[list(COLUMNS)].to_numpy().reshape(10, 15, 4).mean(axis=1)
    np.testing.assert_allclose(columns_of(averages), expected, rtol=1e-9)
    assert (averages.dropped_windows, averages.notes, averages.cadence_minutes) == ({}, (), {})


@pytest.mark.parametrize(("lost", "kept"), [(0, True), (3, True), (4, False), (15, False)])
@pytest.mark.parametrize("column", ["op1", "op2", "temperature", "reference"])
def test_twelve_of_fifteen_minutes_are_enough(tmp_path: Path, column: str, lost: int, kept: bool) -> None:
    """The rule of the edge, on every column; a window that fails it is counted under the column at fault."""
    table = tidy(windows=10)
    table.loc[30 : 30 + lost - 1, column] = None
    averages = averaged(table, tmp_path)
    assert kept == (FIRST_MS + 2 * WINDOW_MS in averages.start_ms)
    assert ({} if kept else {f"{column} below coverage": 1}) == averages.dropped_windows


def test_every_window_is_kept_or_dropped_once(tmp_path: Path) -> None:
    """Nothing disappears without a reason, even windows where all is wrong at once."""
    table = tidy(windows=40)
    keep = np.random.default_rng(0).random(len(table)) < 0.8
    averages = averaged(table[keep], tmp_path)
    assert len(averages) + sum(averages.dropped_windows.values()) == 40
    assert len(averages) > 5


def test_a_reference_every_15_minutes_is_taken_as_it_comes(tmp_path: Path) -> None:
    """It is an average already: stamped with its start by default, with its end on request."""
    table = tidy(windows=10)
    slow = table["reference"].where(table.index % 15 == 0)
    start = averaged(table.assign(reference=slow), tmp_path)
    np.testing.assert_allclose(start.target, slow.dropna(), rtol=1e-9)
    assert start.notes == ("a.csv: reference: one value per 15 min; used as it is",)
    assert (start.dropped_rows, start.cadence_minutes) == ({}, {}), "empty cells in between are no fault"
    end = averaged(table.assign(reference=slow), tmp_path, "end")
    np.testing.assert_allclose(end.target, slow.dropna()[1:], rtol=1e-9)
    assert start.start_ms[:-1].tolist() == end.start_ms.tolist()


def test_channels_that_were_averaged_before_are_used(tmp_path: Path) -> None:
    """Some recordings are at 15 minutes already; then one value is the whole window."""
    table = tidy(windows=10)[::15]
    averages = averaged(table, tmp_path)
    np.testing.assert_allclose(columns_of(averages), table[list(COLUMNS)], rtol=1e-9)
    assert averages.notes == (
        "a.csv: op1, op2, temperature: one value per 15 min; a window needs 1 of 1",
        "a.csv: reference: one value per 15 min; used as it is",
    )


def test_a_slow_sensor_is_averaged_at_its_own_cadence(tmp_path: Path) -> None:
    """What the agent asks of a window is asked here too; the cadence goes into the bundle."""
    table = tidy(windows=10)
    sensor = ["op1", "op2", "temperature"]
    table.loc[table.index % 5 != 0, sensor] = np.nan
    table.loc[30, "op1"] = np.nan
    table.loc[60:65, "op1"] = np.nan
    averages = averaged(table, tmp_path)
    assert averages.cadence_minutes == dict.fromkeys(sensor, 5)
    assert averages.dropped_windows == {"op1 below coverage": 1}, "2 of 3 are enough, 1 is not"
    expected = table[:15][list(COLUMNS)].mean()
    np.testing.assert_allclose(columns_of(averages)[0], expected, rtol=1e-9)
    assert averages.notes == ("a.csv: op1, op2, temperature: one value per 5 min; a window needs 2 of 3",)


def test_an_hourly_reference_is_refused(tmp_path: Path) -> None:
    """An hour's mean is not a window's; the user may insist with --reference start."""
    table = tidy(windows=40)
    table["reference"] = table["reference"].where(table.index % 60 == 0)
    with pytest.raises(BadRecording) as caught:
        averaged(table, tmp_path)
    assert str(caught.value) == (
        "a.csv: reference: expected a value at least every 15 minutes, got one every 60; use --window 1h"
    )
    assert len(averaged(table, tmp_path, "start")) == 10


def test_sensor_and_reference_must_meet(tmp_path: Path) -> None:
    """A wrong time zone is the usual reason, so both spans are shown."""
    sensor = saved(tidy(windows=10).drop(columns="reference"), tmp_path / "sensor.csv")
    later = tidy(windows=10, first_ms=FIRST_MS + 20 * WINDOW_MS)[["timestamp", "reference"]]
    recording = read([sensor, saved(later, tmp_path / "reference.csv")], "5A2D")
    with pytest.raises(BadRecording) as caught:
        windows(recording, "ppm")
    assert str(caught.value) == (
        "sensor.csv and 1 more: expected sensor and reference at the same time, "
        "got the sensor 2024-02-01T00:00:00Z to 2024-02-01T02:15:00Z "
        "and the reference 2024-02-01T05:00:00Z to 2024-02-01T07:15:00Z; check --timezone"
    )


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [([0, 1, 2, 3], 1), ([0, 15, 30, 90, 105], 15), ([0, 1, 2, 5, 6, 9, 10], 1), ([0], 1), ([], 1)],
)
def test_cadence_is_the_most_common_gap(minutes: list[int], expected: int) -> None:
    """Losses and outages do not change how often a column is expected."""
    assert expected == cadence_minutes(np.array(minutes, dtype=np.int64) * MINUTE_MS)


def test_cadence_is_at_least_a_minute() -> None:
    """Coverage counts minutes, however often a sensor speaks."""
    assert cadence_minutes(np.arange(0, 60_000, 1_000, dtype=np.int64)) == 1


@given(st.permutations(range(60)))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    """Means are the same bits whatever the order of arrival in the file."""
    table = tidy(windows=4)

    def recording(rows: list[int]) -> Recording:
        at_ms = np.array(rows, dtype=np.int64) * MINUTE_MS
        sort = np.argsort(at_ms)
        return Recording(
            "a",
            "5A2D",
            ("op1", "op2"),
            {name: Series(at_ms[sort], table[name].to_numpy()[rows][sort]) for name in COLUMNS},
            {},
            (),
        )

    expected, actual = windows(recording(list(range(60))), "ppm"), windows(recording(order), "ppm")
    np.testing.assert_array_equal(columns_of(expected), columns_of(actual))
