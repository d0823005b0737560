"""15-minute means by the agent's own windows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.errors import BadRecording
from model_export.recordings.averaging import Averages, Stamp, average, cadence_minutes
from model_export.recordings.tables import Layout, Recording, Series, read
from tests.support.recordings import FIRST_MS, saved, tidy

WINDOW_MS = 900_000
MINUTE_MS = 60_000


def averaged(table: pd.DataFrame, tmp_path: Path, reference: Stamp | None = "auto") -> Averages:
    recording = read([saved(table, tmp_path / "a.csv")], "5A2D", Layout(), None, reference is not None)
    return average(recording, reference)


def test_means_are_those_of_the_rows(tmp_path: Path) -> None:
    """With a row each minute a window is the plain mean of 15 rows."""
    table = tidy(windows=10)
    averages = averaged(table, tmp_path)
    assert averages.columns == ("op1", "op2", "temperature", "reference")
    assert [FIRST_MS + WINDOW_MS * k for k in range(10)] == averages.starts_ms
    expected = table[list(averages.columns)].to_numpy().reshape(10, 15, 4).mean(axis=1)
    np.testing.assert_allclose(averages.table, expected, rtol=1e-9)
    assert (averages.dropped, averages.notes) == ({}, ())


@pytest.mark.parametrize(("lost", "kept"), [(0, True), (3, True), (4, False), (15, False)])
@pytest.mark.parametrize("column", ["op1", "op2", "temperature", "reference"])
def test_twelve_of_fifteen_minutes_are_enough(tmp_path: Path, column: str, lost: int, kept: bool) -> None:
    """The rule of the edge, on every column; a window that fails it is counted under the column at fault."""
    table = tidy(windows=10)
    table.loc[30 : 30 + lost - 1, column] = None
    averages = averaged(table, tmp_path)
    assert kept == (FIRST_MS + 2 * WINDOW_MS in averages.starts_ms)
    assert ({} if kept else {f"{column} below coverage": 1}) == averages.dropped


def test_every_window_is_kept_or_dropped_once(tmp_path: Path) -> None:
    """Nothing disappears without a reason, even windows where all is wrong at once."""
    table = tidy(windows=40)
    keep = np.random.default_rng(0).random(len(table)) < 0.8
    averages = averaged(table[keep], tmp_path)
    assert len(averages.starts_ms) + sum(averages.dropped.values()) == 40
    assert len(averages.starts_ms) > 5


def test_a_reference_every_15_minutes_is_taken_as_it_comes(tmp_path: Path) -> None:
    """It is an average already: stamped with its start by default, with its end on request."""
    table = tidy(windows=10)
    slow = table["reference"].where(table.index % 15 == 0)
    start = averaged(table.assign(reference=slow), tmp_path)
    np.testing.assert_allclose(start.table[:, -1], slow.dropna(), rtol=1e-9)
    assert start.notes == ("a.csv: reference comes every 15 minutes; coverage is counted from that",)
    end = averaged(table.assign(reference=slow), tmp_path, "end")
    np.testing.assert_allclose(end.table[:, -1], slow.dropna()[1:], rtol=1e-9)
    assert start.starts_ms[:-1] == end.starts_ms


def test_channels_that_were_averaged_before_are_used(tmp_path: Path) -> None:
    """Some recordings are at 15 minutes already; then one value is the whole window."""
    table = tidy(windows=10)[::15]
    averages = averaged(table, tmp_path)
    np.testing.assert_allclose(averages.table, table[list(averages.columns)], rtol=1e-9)


def test_an_hourly_reference_is_refused(tmp_path: Path) -> None:
    """An hour's mean is not a window's; the user may insist with --reference start."""
    table = tidy(windows=40)
    table["reference"] = table["reference"].where(table.index % 60 == 0)
    with pytest.raises(BadRecording) as caught:
        averaged(table, tmp_path)
    assert str(caught.value) == (
        "a.csv: reference: expected a value at least every 15 minutes, got one every 60; "
        "use a recording with shorter averages"
    )
    assert len(averaged(table, tmp_path, "start").starts_ms) == 10


def test_sensor_and_reference_must_meet(tmp_path: Path) -> None:
    """A wrong time zone is the usual reason, so both spans are shown."""
    sensor = saved(tidy(windows=10).drop(columns="reference"), tmp_path / "sensor.csv")
    later = tidy(windows=10, first_ms=FIRST_MS + 20 * WINDOW_MS)[["timestamp", "reference"]]
    recording = read([sensor, saved(later, tmp_path / "reference.csv")], "5A2D")
    with pytest.raises(BadRecording) as caught:
        average(recording)
    assert str(caught.value) == (
        "sensor.csv and 1 more: expected sensor and reference at the same time, "
        "got the sensor 2024-02-01T00:00:00Z to 2024-02-01T02:15:00Z "
        "and the reference 2024-02-01T05:00:00Z to 2024-02-01T07:15:00Z; check --timezone"
    )


def test_without_a_reference_the_channels_stand_alone(tmp_path: Path) -> None:
    """Transfer needs none."""
    averages = averaged(tidy(windows=10).drop(columns="reference"), tmp_path, None)
    assert (averages.columns, len(averages.starts_ms)) == (("op1", "op2", "temperature"), 10)


def series(minutes: list[int]) -> Series:
    return Series(np.array(minutes, dtype=np.int64) * MINUTE_MS, np.zeros(len(minutes)))


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [([0, 1, 2, 3], 1), ([0, 15, 30, 90, 105], 15), ([0, 1, 2, 5, 6, 9, 10], 1), ([0], 1), ([], 1)],
)
def test_cadence_is_the_most_common_gap(minutes: list[int], expected: int) -> None:
    """Losses and outages do not change how often a column is expected."""
    assert expected == cadence_minutes(series(minutes))


def test_cadence_is_at_least_a_minute() -> None:
    """Coverage counts minutes, however often a sensor speaks."""
    assert cadence_minutes(Series(np.arange(0, 60_000, 1_000, dtype=np.int64), np.zeros(60))) == 1


@given(st.permutations(range(60)))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    """Means are the same bits whatever the order of arrival in the file."""
    table = tidy(windows=4)

    def recording(rows: list[int]) -> Recording:
        at_ms = np.array(rows, dtype=np.int64) * MINUTE_MS
        columns = ("op1", "op2", "temperature", "reference")
        sort = np.argsort(at_ms)
        return Recording(
            "a",
            "5A2D",
            ("op1", "op2"),
            {name: Series(at_ms[sort], table[name].to_numpy()[rows][sort]) for name in columns},
            {},
            (),
        )

    expected, actual = average(recording(list(range(60)))), average(recording(order))
    np.testing.assert_array_equal(expected.table, actual.table)
