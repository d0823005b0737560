"""Output files: what prevents one is reported before the work; each is written whole or not at all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from edge_agent.core.errors import RespireError
from model_export.files import require_places, write_atomically
from tests.support.journals import disk_without_room

Place = Callable[[Path], None]


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    """Folders are made; the temporary file has become the file."""
    path = tmp_path / "new" / "report.html"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert ([path], b"new") == (list(path.parent.iterdir()), path.read_bytes())


def test_a_full_disk_is_one_line_and_keeps_the_old_file(tmp_path: Path) -> None:
    """No temporary file is left."""
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


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (
            lambda at: require_places(bundle=at),
            "{at}: expected a file name such as 5A2D.bundle, got a directory; name a file",
        ),
        (
            lambda at: require_places(page=Path("/")),
            "/: expected a file name such as 5A2D.html, got a directory; name a file",
        ),
        (
            lambda at: require_places(plot=Path()),
            ".: expected a file name such as 5A2D.png, got a directory; name a file",
        ),
        (
            lambda at: require_places(bundle=Path("/dev/null")),
            "/dev/null: expected a file name such as 5A2D.bundle, got a device; name a file",
        ),
        (
            lambda at: require_places(bundle=at / "a.csv" / "x.bundle"),
            "{at}/a.csv/x.bundle: cannot be written: {at}/a.csv is not a folder; choose another place",
        ),
        (
            lambda at: require_places(bundle=at / "x", page=at / "x"),
            "{at}/x: the report would overwrite the bundle; choose another name",
        ),
        (
            lambda at: require_places(bundle=at / "a.csv", inputs=[at / "a.csv"]),
            "{at}/a.csv: the bundle would overwrite the input {at}/a.csv; choose another name",
        ),
    ],
)
def test_an_output_that_cannot_be_is_refused(tmp_path: Path, ask: Place, expected: str) -> None:
    """One line, with what to do."""
    (tmp_path / "a.csv").touch()
    with pytest.raises(RespireError) as caught:
        ask(tmp_path)
    assert expected.format(at=tmp_path) == str(caught.value)


def test_a_folder_that_takes_no_file_is_refused() -> None:
    """Even where permissions would allow it: /proc is read-only for root too."""
    with pytest.raises(RespireError) as caught:
        require_places(bundle=Path("/proc/self/x.bundle"))
    assert str(caught.value).startswith("/proc/self/x.bundle: cannot be written: ")


def test_folders_are_made_and_nothing_is_left_in_them(tmp_path: Path) -> None:
    """Existing files may be replaced."""
    (tmp_path / "old.html").touch()
    require_places(bundle=tmp_path / "new" / "5A2D.bundle", page=tmp_path / "old.html")
    assert [tmp_path / "new", tmp_path / "old.html"] == sorted(tmp_path.iterdir())
    assert list((tmp_path / "new").iterdir()) == []
