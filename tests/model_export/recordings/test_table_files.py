"""Files as tables with one clear line for a file that is none, and time stamps."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import parse_time
from model_export.recordings.table_files import UNREADABLE, parse_stamps, table, zone

AT_MS = 1_706_782_530_000  # 2024-02-01T10:15:30Z


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", b"", "a.csv: expected a header and rows, got an empty file"),
        (
            "a.csv",
            b"timestamp,op1\n\xff\xfe,1\n",
            "a.csv: expected CSV, got something else or a cut file; --debug shows more",
        ),
        (
            "a.csv",
            "timestamp,op1\n2024-02-01T00:00:00Z,1\n".encode("utf-16"),
            "a.csv: expected UTF-8, got UTF-16; save it as CSV UTF-8",
        ),
        *(
            (
                "a.csv",
                mark.join(["timestamp", "op1\n1706745600"]).encode() + f"{mark}1,5{mark}2,5\n".encode(),
                f"a.csv: expected values separated by commas, got {words}; "
                "save it with commas, and with points in numbers",
            )
            for mark, words in ((";", "semicolons"), ("\t", "tabs"))
        ),
        (
            "a.csv.gz",
            b"timestamp,op1\n",
            "a.csv.gz: expected CSV, got something else or a cut file; --debug shows more",
        ),
        (
            "a.parquet",
            b"not parquet at all",
            "a.parquet: expected Parquet, got something else or a cut file; --debug shows more",
        ),
    ],
)
def test_an_unreadable_file_gets_one_clear_line(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    """Whatever the bytes, it is one line that names the file."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadRecording) as caught:
        table(path)
    assert expected == str(caught.value)


def test_a_missing_file_is_named_with_its_path() -> None:
    """The whole path, because that is what is wrong."""
    with pytest.raises(BadRecording) as caught:
        table(Path("nowhere/a.csv"))
    assert str(caught.value) == "nowhere/a.csv: expected a recording, got no such file; check the path"


def test_a_directory_is_not_a_recording(tmp_path: Path) -> None:
    """The whole path, and what to give instead."""
    with pytest.raises(BadRecording) as caught:
        table(tmp_path)
    assert str(caught.value) == f"{tmp_path}: expected a file, got a directory; name the files in it"


def test_spaces_around_a_column_name_do_not_count(tmp_path: Path) -> None:
    """As replay reads it; a table typed by hand often has them."""
    path = tmp_path / "a.csv"
    path.write_text("timestamp, op1 ,temperature\n1706745600,1,2\n")
    assert list(table(path).columns) == ["timestamp", "op1", "temperature"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2024-02-01T10:15:30Z", AT_MS),
        ("2024-02-01 10:15:30", AT_MS),
        ("2024-02-01T15:45:30+05:30", AT_MS),
        ("2024-02-01T10:15:30.250Z", AT_MS + 250),
        (1_706_782_530, AT_MS),
        (1_706_782_530.25, AT_MS + 250),
        (1_706_782_530_000, AT_MS),
        (pd.Timestamp("2024-02-01T10:15:30Z"), AT_MS),
        (pd.Timestamp("2024-02-01T10:15:30"), AT_MS),
        ("01/02/2024 10:15", UNREADABLE),
        ("2024-02-30T00:00:00Z", UNREADABLE),
        ("9999-12-31T00:00:00Z", UNREADABLE),
        ("1800-01-01T00:00:00Z", UNREADABLE),
        ("", UNREADABLE),
        (None, UNREADABLE),
        (-5, UNREADABLE),
        (float("inf"), UNREADABLE),
        (1e300, UNREADABLE),
    ],
)
def test_each_way_to_write_a_time(written: Any, expected: int) -> None:
    """ISO 8601, epoch and Parquet times are read; dates that could mean two things are not."""
    assert [expected] == parse_stamps(pd.Series([written])).at_ms.tolist()


def test_trainer_and_agent_read_the_same_time() -> None:
    """A stamp in a recording and in a message is the same moment."""
    written = ["2024-02-01T10:15:30Z", "2024-02-01T10:15:30.5+05:30", "2024-02-01T10:15:30"]
    expected = [parse_time(text) for text in written]
    assert expected == parse_stamps(pd.Series(written)).at_ms.tolist()


def test_a_local_time_takes_the_given_zone() -> None:
    """Stamps with an offset keep it; those without are local; a doubled or skipped hour is not guessed."""
    column = pd.Series(
        ["2024-07-01T12:00:00", "2024-07-01T12:00:00Z", "2024-10-27T02:30:00", "2024-03-31T02:30:00"]
    )
    read = parse_stamps(column, zone("Europe/Paris"))
    expected = [parse_time("2024-07-01T10:00:00Z"), parse_time("2024-07-01T12:00:00Z"), -1, -1]
    assert (expected, True) == (read.at_ms.tolist(), read.naive)


@pytest.mark.parametrize(
    ("column", "naive"),
    [
        (pd.Series(["2024-02-01T10:15:30"]), True),
        (pd.Series(["2024-02-01T10:15:30Z"]), False),
        (pd.Series([AT_MS]), False),
        (pd.Series([None, np.nan]), False),
        (pd.to_datetime(pd.Series(["2024-02-01T10:15:30"])), True),
    ],
)
def test_it_says_whether_a_zone_was_missing(column: Any, naive: bool) -> None:
    """Only stamps that could be meant as local time are naive."""
    assert naive == parse_stamps(column).naive


def test_an_unknown_zone_is_refused() -> None:
    """The text names an example."""
    with pytest.raises(BadRecording) as caught:
        zone("Mars/Olympus")
    assert str(caught.value) == "--timezone: expected a name such as Asia/Kolkata, got 'Mars/Olympus'"
