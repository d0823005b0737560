"""A file is written whole or not at all."""

from pathlib import Path

import pytest

from edge_agent.core.errors import RespireError
from model_export.files import write_atomically
from tests.edge_agent.test_journal import disk_without_room


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    """Folders are made; the temporary file has become the file."""
    path = tmp_path / "new" / "report.html"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert ([path], b"new") == (list(path.parent.iterdir()), path.read_bytes())


def test_a_full_disk_is_one_line_and_keeps_the_old_file(tmp_path: Path) -> None:
    """Neither the file nor its folder shows that somebody tried."""
    path = tmp_path / "results.csv"
    write_atomically(path, b"old")
    with disk_without_room(), pytest.raises(RespireError) as caught:
        write_atomically(path, b"new" * 1_000)
    assert str(caught.value) == f"{path}: could not be written: File too large"
    assert ([path], b"old") == (list(tmp_path.iterdir()), path.read_bytes())


@pytest.mark.parametrize(
    ("name", "reason"), [("folder", "Is a directory"), ("file/report.html", "File exists")]
)
def test_a_place_that_takes_no_file_is_named(tmp_path: Path, name: str, reason: str) -> None:
    """One line, with the path."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(RespireError) as caught:
        write_atomically(tmp_path / name, b"data")
    assert str(caught.value) == f"{tmp_path / name}: could not be written: {reason}"
    assert {"folder", "file"} == {path.name for path in tmp_path.iterdir()}
