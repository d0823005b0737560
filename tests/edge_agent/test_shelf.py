"""The directory of bundles: one for each sensor, and a clear word when not."""

from pathlib import Path

import pytest

from edge_agent import shelf
from edge_agent.core import bundle
from edge_agent.core.errors import BadBundle
from tests.conftest import make_model
from tests.support.broker import wait_until


def put(directory: Path, name: str, sensor: str) -> None:
    (directory / name).write_bytes(bundle.encode(make_model(sensor)))


def test_each_sensor_gets_its_model_whatever_the_file_is_called(tmp_path: Path) -> None:
    put(tmp_path, "a.bundle", "5A2D")
    put(tmp_path, "b.bundle", "5CB6")
    put(tmp_path, ".half-written.bundle", "D3EB")
    (tmp_path / "notes.txt").write_text("not a bundle")
    assert sorted(shelf.Shelf(tmp_path).models) == ["5A2D", "5CB6"]
    assert sorted(shelf.Shelf(tmp_path / "b.bundle").models) == ["5CB6"]


def test_two_bundles_for_one_sensor_are_refused(tmp_path: Path) -> None:
    put(tmp_path, "a.bundle", "5A2D")
    put(tmp_path, "b.bundle", "5A2D")
    with pytest.raises(
        BadBundle, match=r"expected one bundle for sensor 5A2D, got a\.bundle and b\.bundle; remove one"
    ):
        shelf.Shelf(tmp_path)


def test_a_directory_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadBundle, match=r"No such file or directory; expected a directory of \.bundle files"):
        shelf.Shelf(tmp_path / "none")


def test_a_giant_file_is_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "giant.bundle").open("wb") as file:
        file.truncate(10**10)
    with pytest.raises(BadBundle, match="expected at most 1048576 bytes"):
        shelf.Shelf(tmp_path)


def test_changes_are_taken_in_and_a_bad_bundle_never_replaces_a_good_one(tmp_path: Path) -> None:
    put(tmp_path, "a.bundle", "5A2D")
    shelf_ = shelf.Shelf(tmp_path)
    before = shelf_.models["5A2D"]
    assert shelf_.refresh() == []

    (tmp_path / "a.bundle").write_bytes(b"cut")
    [refused] = shelf_.refresh()
    assert "not a bundle" in (refused.problem or "")
    assert shelf_.models == {"5A2D": before}
    assert shelf_.refresh() == []

    (tmp_path / "a.bundle").write_bytes(bundle.encode(make_model("5A2D", seed=1)))
    put(tmp_path, "b.bundle", "5CB6")
    assert [(news.sensor, news.problem) for news in shelf_.refresh()] == [("5A2D", None), ("5CB6", None)]
    assert shelf_.models["5A2D"].id != before.id

    (tmp_path / "b.bundle").unlink()
    assert [(news.sensor, news.model) for news in shelf_.refresh()] == [("5CB6", None)]
    assert list(shelf_.models) == ["5A2D"]


def test_a_refused_bundle_is_read_again_when_its_permissions_change(tmp_path: Path) -> None:
    """A file that could not be read is mended by chmod, which leaves its time of modification alone."""
    shelf_, file = shelf.Shelf(tmp_path), tmp_path / "a.bundle"
    file.write_bytes(b"cut")
    assert [bool(news.problem) for news in shelf_.refresh()] == [True]
    assert shelf_.refresh() == []
    before_ns = file.stat().st_ctime_ns
    wait_until(lambda: file.chmod(0o600) or file.stat().st_ctime_ns > before_ns)  # type: ignore[func-returns-value]
    assert [bool(news.problem) for news in shelf_.refresh()] == [True]


def test_a_second_bundle_is_taken_when_the_first_is_removed(tmp_path: Path) -> None:
    """As the refusal advised: remove one, and the other counts."""
    put(tmp_path, "a.bundle", "5A2D")
    shelf_ = shelf.Shelf(tmp_path)
    put(tmp_path, "b.bundle", "5A2D")
    [refused] = shelf_.refresh()
    assert (refused.problem or "").endswith("got a.bundle and b.bundle; remove one")
    (tmp_path / "a.bundle").unlink()
    assert [(news.file.name, news.model is None) for news in shelf_.refresh()] == [
        ("a.bundle", True),
        ("b.bundle", False),
    ]
    assert list(shelf_.models) == ["5A2D"]


def test_a_directory_that_goes_away_for_a_moment_costs_no_model(tmp_path: Path) -> None:
    """Replacing the whole directory is a fair way to update; the agent must live through it."""
    directory = tmp_path / "bundles"
    directory.mkdir()
    put(directory, "a.bundle", "5A2D")
    shelf_ = shelf.Shelf(directory)
    directory.rename(tmp_path / "old")
    [news] = shelf_.refresh()
    assert (news.problem or "").endswith("No such file or directory; expected a directory of .bundle files")
    assert shelf_.refresh() == [], "said once"
    assert list(shelf_.models) == ["5A2D"]
    (tmp_path / "old").rename(directory)
    assert shelf_.refresh() == []
    assert list(shelf_.models) == ["5A2D"]


def test_a_file_that_turns_to_another_sensor_gives_up_the_first(tmp_path: Path) -> None:
    put(tmp_path, "a.bundle", "5A2D")
    shelf_ = shelf.Shelf(tmp_path)
    put(tmp_path, "a.bundle", "5CB60")
    assert [(news.sensor, news.model is None) for news in shelf_.refresh()] == [
        ("5A2D", True),
        ("5CB60", False),
    ]
