"""Corrections of a recording: exact, noted, and refused where there is nothing to correct."""

from pathlib import Path

import numpy as np
import pytest

from edge_agent.core.errors import BadRecording
from model_export.recordings.mending import Mending, mended, parse_limits, parse_swap
from model_export.recordings.stamps import parse_minutes
from model_export.recordings.tables import Layout, read
from tests.support.recordings import saved, tidy


def test_a_file_is_read_with_its_faults_corrected(tmp_path: Path) -> None:
    """Limits are those of the file's own columns; then columns are swapped and the clock is moved."""
    rows = tidy(windows=4)
    rows.loc[3, "op1"] = -9999.0
    path = saved(rows, tmp_path / "january.csv")
    raw = read([path], "5A2D")
    found = read([path], "5A2D", Layout(mending=Mending(60, ("op1", "op2"), {"op1": -100.0})))
    assert np.array_equal(found.series["op1"].values, raw.series["op2"].values)
    assert np.array_equal(found.series["op2"].values, np.delete(raw.series["op1"].values, 3))
    assert np.array_equal(found.series["reference"].at_ms, raw.series["reference"].at_ms + 3_600_000)
    assert found.notes == (
        "january.csv: op1: 1 values below -100 were dropped",
        "january.csv: op1 and op2 were swapped",
        "january.csv: the reference's stamps were moved by +60 minutes",
    )


def test_both_limits_of_a_column_count(tmp_path: Path) -> None:
    raw = read([saved(tidy(windows=4), tmp_path / "january.csv")], "5A2D")
    low, high = np.quantile(raw.series["op2"].values, [0.25, 0.75])
    kept = mended(raw, Mending(below={"op2": float(low)}, above={"op2": float(high)})).series["op2"].values
    assert low <= kept.min() <= kept.max() <= high
    assert len(kept) == 30


def test_without_a_correction_it_is_the_same_recording(tmp_path: Path) -> None:
    raw = read([saved(tidy(windows=4), tmp_path / "january.csv")], "5A2D")
    assert mended(raw, Mending()) is raw


@pytest.mark.parametrize(
    ("mending", "expected"),
    [
        (Mending(swap=("op1", "op3")), "op1, op2, temperature, reference to correct, got op3"),
        (Mending(below={"op1": 1e9}), "op1: expected values, got none: all are below 1e+09"),
    ],
)
def test_a_correction_that_fits_nothing_is_refused(tmp_path: Path, mending: Mending, expected: str) -> None:
    raw = read([saved(tidy(windows=4), tmp_path / "january.csv")], "5A2D")
    with pytest.raises(BadRecording, match=expected.replace("+", r"\+")):
        mended(raw, mending)


@pytest.mark.parametrize("text", ["", "60", "1.5h", "one hour", "60 s"])
def test_minutes_need_their_unit(text: str) -> None:
    with pytest.raises(ValueError, match="expected minutes or hours such as 60min or -1h"):
        parse_minutes(text)


@pytest.mark.parametrize("text", ["op1", "op1,op1", "op1,op2,op3", "op1,"])
def test_a_swap_is_of_two_columns(text: str) -> None:
    with pytest.raises(ValueError, match="expected two columns such as op1,op2"):
        parse_swap(text)


@pytest.mark.parametrize("text", ["op1", "op1=", "=5", "op1=nan", "op1=1,op1=2", "-100"])
def test_a_limit_is_of_a_column(text: str) -> None:
    with pytest.raises(ValueError, match="expected a limit for a column such as op1=-100"):
        parse_limits(text)
