"""What stands in the way of an output is told before the work."""

from collections.abc import Callable
from pathlib import Path

import pytest

from edge_agent.core.errors import RespireError
from model_export.cli.outputs import require_places

Place = Callable[[Path], None]


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
            "{at}/a.csv/x.bundle: expected a place to write, got File exists; name another",
        ),
        (
            lambda at: require_places(bundle=at / "x", page=at / "x"),
            "{at}/x: expected a file of its own, got one that is in use; name another",
        ),
        (
            lambda at: require_places(bundle=at / "a.csv", inputs=[at / "a.csv"]),
            "{at}/a.csv: expected a file of its own, got one that is in use; name another",
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
    assert str(caught.value).startswith("/proc/self/x.bundle: expected a place to write, got ")


def test_folders_are_made_and_nothing_is_left_in_them(tmp_path: Path) -> None:
    """An old output may be replaced."""
    (tmp_path / "old.html").touch()
    require_places(bundle=tmp_path / "new" / "5A2D.bundle", page=tmp_path / "old.html")
    assert [tmp_path / "new", tmp_path / "old.html"] == sorted(tmp_path.iterdir())
    assert list((tmp_path / "new").iterdir()) == []
