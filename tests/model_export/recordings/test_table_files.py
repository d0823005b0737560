"""Files as tables, and one clear line for each way in which a file is none."""

from pathlib import Path

import pytest

from edge_agent.core.errors import BadRecording
from model_export.recordings.table_files import table


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", b"", "a.csv: expected a header and rows, the file is empty"),
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
                f"a.csv: expected values separated by commas, got {words} in between; "
                "save it with commas, and points in numbers",
            )
            for mark, words in ((";", "a semicolon"), ("\t", "a tab"))
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
