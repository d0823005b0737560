"""Recordings: tidy CSV in, readings out, and one clear line for everything else."""

import gzip
from pathlib import Path

import pytest

from edge_agent.core.errors import BadRecording
from edge_agent.core.messages import Reading
from edge_agent.recording import PLAIN, read

CHANNELS = ("op1", "op2", "temperature")
HEADER = "timestamp,op1,op2,temperature,reference\n"


def test_rows_become_readings_and_empty_cells_none(tmp_path: Path) -> None:
    file = tmp_path / "5A2D.csv"
    file.write_text(f"{HEADER}2024-02-01T10:15:30Z,231.4,,24.3,0.8\n\n1706782590,1, 2 ,3\n")
    assert list(read(file, "5A2D", CHANNELS)) == [
        Reading("5A2D", "op1", 1_706_782_530_000, 231.4),
        Reading("5A2D", "temperature", 1_706_782_530_000, 24.3),
        Reading("5A2D", "op1", 1_706_782_590_000, 1.0),
        Reading("5A2D", "op2", 1_706_782_590_000, 2.0),
        Reading("5A2D", "temperature", 1_706_782_590_000, 3.0),
    ]


def test_gzip_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    file = tmp_path / "5A2D.csv.gz"
    file.write_bytes(gzip.compress(b"\xef\xbb\xbftimestamp,op1\r\n2024-02-01T10:15:30Z,1\r\n"))
    assert list(read(file, "5A2D", CHANNELS)) == [Reading("5A2D", "op1", 1_706_782_530_000, 1.0)]


@pytest.mark.parametrize("stamp", ["1e999", "-1e999", "nan", "1e300", "99999-01-01", "4102444800"])
def test_a_time_that_is_none_is_one_line(tmp_path: Path, stamp: str) -> None:
    file = tmp_path / "5A2D.csv"
    file.write_text(f"timestamp,op1\n{stamp},1\n")
    with pytest.raises(BadRecording, match=f"expected a timestamp as ISO 8601 or epoch, got '{stamp}'"):
        list(read(file, "5A2D", CHANNELS))


def test_the_rows_of_one_sensor_are_taken(tmp_path: Path) -> None:
    """A file may hold a whole van."""
    file = tmp_path / "van.csv"
    file.write_text("timestamp,sensor,op1\n1706782530,5A2D,1\n1706782530,5CB6,2\n1706782590,5A2D,3\n")
    assert [reading.value for reading in read(file, "5A2D", CHANNELS)] == [1.0, 3.0]
    with pytest.raises(BadRecording) as caught:
        list(read(file, "D3EB", CHANNELS))
    assert str(caught.value) == f"{file}: expected rows of sensor D3EB, got 5A2D, 5CB6; check --sensor"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "expected a header line, got an empty file; record something first"),
        (
            b"time,op1\n1,2\n",
            f"expected columns timestamp, op1, op2, temperature, got time, op1; {PLAIN}",
        ),
        (
            b"timestamp,we\n1,2\n",
            f"expected columns timestamp, op1, op2, temperature, got timestamp, we; {PLAIN}",
        ),
        (b"\xff\xfe\x00\x01\xff", f"not UTF-8; expected a CSV file, plain or .gz; {PLAIN}"),
    ],
)
def test_a_file_that_is_no_recording_says_so(tmp_path: Path, content: bytes, text: str) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(content)
    with pytest.raises(BadRecording) as caught:
        list(read(file, "5A2D", CHANNELS))
    assert str(caught.value) == f"{file}: {text}"


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("noon,1,2,3,", "expected a timestamp as ISO 8601 or epoch, got 'noon'; correct or remove the row"),
        ("1706782530,x,2,3,", "expected op1 as a finite number, got 'x'; leave it empty if missing"),
        ("1706782530,nan,2,3,", "expected op1 as a finite number, got 'nan'; leave it empty if missing"),
        ("1706782530,1", "expected as many cells as the header, got 2; is the file cut?"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, row: str, text: str) -> None:
    file = tmp_path / "x.csv"
    file.write_text(f"{HEADER}1706782500,1,2,3,4\n{row}\n")
    with pytest.raises(BadRecording) as caught:
        list(read(file, "5A2D", CHANNELS))
    assert str(caught.value) == f"{file}:3: {text}"


def test_a_missing_file_and_a_cut_gzip_are_one_line_each(tmp_path: Path) -> None:
    with pytest.raises(
        BadRecording, match=r"no\.csv: expected a recording, got no such file; check the path"
    ):
        list(read(tmp_path / "no.csv", "5A2D", CHANNELS))
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(HEADER.encode() * 1000)[:60])
    with pytest.raises(BadRecording, match=r"cut\.csv\.gz: .*expected a CSV file, plain or \.gz"):
        list(read(cut, "5A2D", CHANNELS))


def test_a_channel_the_model_needs_must_be_there(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("timestamp,op1,temperature\n")
    with pytest.raises(
        BadRecording, match="expected columns timestamp, op1, op2, got timestamp, op1, temperature"
    ):
        list(read(file, "5A2D", CHANNELS, needed=("op1", "op2")))
