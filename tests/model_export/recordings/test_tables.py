"""Files as series of values over time, and one clear line for each way they can be wrong."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edge_agent.core.errors import BadRecording
from model_export.recordings.dataset import windows
from model_export.recordings.recording import Recording
from model_export.recordings.tables import Layout, read
from tests.support.recordings import FIRST_MS, saved, tidy

Change = Callable[[pd.DataFrame], pd.DataFrame]


def read_one(
    table: pd.DataFrame, path: Path, layout: Layout | None = None, sensor: str = "5A2D"
) -> Recording:
    return read([saved(table, path)], sensor, layout)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_csv_and_parquet_give_the_same_series(tmp_path: Path, name: str) -> None:
    """The format of a file does not change what it says."""
    table = tidy(windows=10)
    recording = read_one(table, tmp_path / name)
    assert recording.channels == ("op1", "op2")
    for column in ("op1", "op2", "temperature", "reference"):
        series = recording.series[column]
        np.testing.assert_allclose(series.values, table[column], rtol=1e-12)
        assert list(range(FIRST_MS, FIRST_MS + 150 * 60_000, 60_000)) == series.at_ms.tolist()
    assert (recording.dropped, recording.notes) == ({}, ())


@pytest.mark.parametrize("name", ["timestamp", "Time"])
def test_a_table_of_pandas_may_have_its_times_in_the_index(tmp_path: Path, name: str) -> None:
    table = tidy(windows=20)
    times = pd.to_datetime(table["timestamp"]).dt.tz_convert("Asia/Kolkata").rename(name)
    table.drop(columns="timestamp").set_index(times).to_parquet(tmp_path / "indexed.parquet")
    recording = read([tmp_path / "indexed.parquet"], "5A2D")
    for column, series in read([saved(table, tmp_path / "plain.csv")], "5A2D").series.items():
        np.testing.assert_array_equal(recording.series[column].at_ms, series.at_ms)
        np.testing.assert_allclose(recording.series[column].values, series.values)


def test_columns_are_mapped_and_zones_applied(tmp_path: Path) -> None:
    """Their names and their local time become ours."""
    table = tidy(windows=10).rename(columns={"op1": "co_we", "op2": "co_ae", "timestamp": "when"})
    table["when"] = table["when"].str.rstrip("Z")
    layout = Layout({"op1": "co_we", "op2": "co_ae", "timestamp": "when"}, "Asia/Kolkata")
    recording = read_one(table, tmp_path / "a.csv", layout)
    assert recording.channels == ("op1", "op2")
    assert recording.series["op1"].at_ms[0] == FIRST_MS - 5.5 * 3_600_000


def test_a_sensor_with_one_channel_is_read(tmp_path: Path) -> None:
    """Without op2 there is one channel; a channel of another name can be mapped."""
    table = tidy(windows=10).drop(columns="op2")
    assert read_one(table, tmp_path / "a.csv").channels == ("op1",)
    table = table.rename(columns={"op1": "NO2 nA"})
    assert read_one(table, tmp_path / "b.csv", Layout({"no2": "NO2 nA"})).channels == ("no2",)


def test_files_of_one_sensor_are_joined(tmp_path: Path) -> None:
    """Months in several files, and the reference in a file of its own with its own times."""
    table = tidy(windows=20)
    sensor, reference = table.drop(columns="reference"), table[["timestamp", "reference"]].iloc[::15]
    first = saved(sensor[:150], tmp_path / "january.csv")
    second = saved(sensor[150:], tmp_path / "february.parquet")
    other = saved(reference, tmp_path / "analyser.csv")
    recording = read([second, first, other], "5A2D")
    assert (len(recording.series["op1"].at_ms), len(recording.series["reference"].at_ms)) == (300, 20)
    np.testing.assert_allclose(recording.series["op1"].values, table["op1"])
    assert (recording.dropped, recording.notes) == ({}, ())


def test_the_rows_of_one_sensor_are_taken(tmp_path: Path) -> None:
    """A file may hold a whole van."""
    ours, theirs = tidy(windows=4).assign(sensor="5A2D"), tidy(windows=4, seed=1).assign(sensor="5CB6")
    both = pd.concat([ours, theirs]).sort_values("timestamp", kind="stable")
    recording = read_one(both, tmp_path / "van.csv", sensor="5CB6")
    np.testing.assert_allclose(recording.series["op1"].values, theirs["op1"])
    with pytest.raises(BadRecording) as caught:
        read_one(both, tmp_path / "van.csv", sensor="D3EB")
    assert str(caught.value) == "van.csv: expected rows of sensor D3EB, got 5A2D, 5CB6; check --sensor"


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    """Missing, unreadable, impossible and repeated values are told apart."""
    table = tidy(windows=10).astype({"op1": object})
    table.loc[0, "op1"], table.loc[1, "op1"], table.loc[2, "op1"] = "error", None, 1e300
    table.loc[3, "timestamp"] = "yesterday"
    table = pd.concat([table, table[10:15].assign(op1=0.0)])
    recording = read_one(table, tmp_path / "a.csv")
    expected = {
        "unreadable timestamp": 1,
        "op1 missing": 1,
        "op1 not a number": 2,
        "op1 duplicate": 5,
        "op2 duplicate": 5,
        "temperature duplicate": 5,
        "reference duplicate": 5,
    }
    assert expected == recording.dropped
    assert recording.series["op1"].values.min() > 0.0, "of two values at one time the first counts"
    assert recording.notes == (
        "a.csv: 1 time stamp not readable, the first 'yesterday' in row 4 after the header; "
        "write them like 2024-02-01T10:15:00Z",
        "a.csv: rows were not in the order of time; sorted",
        "a.csv: 5 rows repeat a time; the first of each counts",
    )


def test_stamps_without_a_zone_are_noted(tmp_path: Path) -> None:
    """Reading local time as UTC is the commonest reason for a calibration that does not work."""
    table = tidy(windows=4)
    table["timestamp"] = table["timestamp"].str.rstrip("Z")
    assert read_one(table, tmp_path / "a.csv").notes == (
        "a.csv: time stamps have no time zone, read as UTC; change it with --timezone",
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda table: table.assign(op1=None),
            "a.csv: op1: expected numbers, got none in 150 rows; map another with --columns",
        ),
        (
            lambda table: table.assign(temperature="n/a"),
            "a.csv: temperature: expected numbers, got none in 150 rows; map another with --columns",
        ),
        (
            lambda table: table.drop(columns="op1"),
            "a.csv: expected a column op1, got timestamp, op2, temperature, reference; "
            "name it with --columns op1=…",
        ),
        (
            lambda table: table.drop(columns="temperature"),
            "a.csv: expected a column temperature, got timestamp, op1, op2, reference; "
            "name it with --columns temperature=…",
        ),
        (
            lambda table: table.drop(columns="reference"),
            "a.csv: expected a column reference, got timestamp, op1, op2, temperature; "
            "name it with --columns reference=…",
        ),
        (
            lambda table: table.drop(columns="timestamp"),
            "a.csv: expected a column timestamp, got op1, op2, temperature, reference; "
            "name it with --columns timestamp=…",
        ),
        (
            lambda table: table.rename(columns=lambda name: f"my_{name}"),
            "a.csv: expected columns timestamp, op1, temperature, reference, "
            "got my_timestamp, my_op1, my_op2, my_temperature, my_reference; "
            "name them with --columns timestamp=…,op1=…,temperature=…,reference=…",
        ),
        (
            lambda table: table.assign(timestamp="12/09/2017 16:53"),
            "a.csv: expected dates that can be read in one way, got 12/09/2017; "
            "say which it is with --dates day-first or --dates month-first",
        ),
        (lambda table: table[:0], "a.csv: expected a header and rows, got no rows"),
    ],
)
def test_a_bad_table_gets_one_clear_line(tmp_path: Path, change: Change, expected: str) -> None:
    """Where, expected what, got what, what to do."""
    with pytest.raises(BadRecording) as caught:
        read_one(change(tidy(windows=10)), tmp_path / "a.csv")
    assert expected == str(caught.value)


@pytest.mark.parametrize(
    ("header", "unit", "told"),
    [
        ("reference [mg/m³]", "ppm", "mg/m3"),
        ("Reference (ppb)", "ppm", "ppb"),
        ("reference [ug/m^3]", "µg/m³", ""),
        ("Reference [PPM]", "ppm", ""),
        ("reference [a.u.]", "ppm", ""),
        ("reference", "ppm", ""),
    ],
)
def test_another_unit_in_the_header_of_the_reference_is_refused(
    tmp_path: Path, header: str, unit: str, told: str
) -> None:
    """Between ppm and mg/m³ of CO are 16 %, which no range of outdoor air can show."""
    recording = read_one(tidy(windows=10).rename(columns={"reference": header}), tmp_path / "a.csv")
    if not told:
        assert windows(recording, unit).notes == ()
        return
    with pytest.raises(BadRecording) as caught:
        windows(recording, unit)
    assert str(caught.value) == (
        f"a.csv: reference: expected {unit}, got {told} in its header; "
        f"use --unit {told} or convert the column"
    )


def test_files_with_two_units_of_the_reference_are_refused(tmp_path: Path) -> None:
    table = tidy(windows=10)
    paths = [
        saved(table.rename(columns={"reference": f"reference [{unit}]"}), tmp_path / f"{unit}.csv")
        for unit in ("ppm", "ppb")
    ]
    with pytest.raises(BadRecording) as caught:
        read(paths, "5A2D")
    words = "reference: expected one unit, got ppm in ppm.csv and ppb in ppb.csv; convert one"
    assert str(caught.value) == words


def test_a_mapped_column_that_is_absent_is_named(tmp_path: Path) -> None:
    """The text uses the file's own words."""
    with pytest.raises(BadRecording) as caught:
        read_one(tidy(windows=10), tmp_path / "a.csv", Layout({"op2": "co_ae"}))
    assert str(caught.value) == (
        "a.csv: expected a column co_ae, got timestamp, op1, op2, temperature, reference; "
        "correct --columns op2=co_ae"
    )


def test_a_mapping_to_a_name_that_is_not_ours_is_told(tmp_path: Path) -> None:
    """It would be a channel of its own, but here it is a slip: op1 is gone."""
    with pytest.raises(BadRecording) as caught:
        read_one(tidy(windows=10), tmp_path / "a.csv", Layout({"opp1": "op1"}))
    assert str(caught.value) == (
        "a.csv: expected a column op1, got timestamp, opp1=op1, op2, temperature, reference; "
        "our names for --columns are timestamp, op1, op2, …, temperature and reference"
    )


def test_the_file_without_a_timestamp_is_named(tmp_path: Path) -> None:
    """Among several it is not always the first."""
    table = tidy(windows=10)
    paths = [
        saved(table, tmp_path / "a.csv"),
        saved(table.drop(columns="timestamp"), tmp_path / "b.csv"),
    ]
    with pytest.raises(BadRecording) as caught:
        read(paths, "5A2D")
    assert str(caught.value) == (
        "b.csv: expected a column timestamp, got op1, op2, temperature, reference; "
        "name it with --columns timestamp=…"
    )


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """Nobody can tell which is meant; what is not read may repeat."""
    path = tmp_path / "a.csv"
    rows = saved(tidy(windows=10), path).read_text().split("\n", 1)[1]
    path.write_text(f"timestamp,op1,op1,temperature,reference\n{rows}")
    with pytest.raises(BadRecording) as caught:
        read([path], "5A2D")
    assert str(caught.value) == "a.csv: expected each column once, got op1 twice; rename or remove one"
    path.write_text(f"timestamp,op1,note,note,reference\n{rows}")
    with pytest.raises(BadRecording, match="expected a column temperature"):
        read([path], "5A2D")
