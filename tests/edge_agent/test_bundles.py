"""The directory of bundles: one for each sensor, and a clear word when not."""

from dataclasses import replace
from pathlib import Path

import pytest

from edge_agent.bundles import Bundles
from edge_agent.core import bundle
from edge_agent.core.errors import BadBundle
from tests.conftest import make_model
from tests.support.broker import wait_until


def put(directory: Path, name: str, sensor: str) -> None:
    (directory / name).write_bytes(bundle.encode(make_model(sensor)))


def make_model_id(sensor: str, seed: int) -> str:
    return bundle.decode(bundle.encode(make_model(sensor, seed=seed))).id


def test_each_sensor_gets_its_model_whatever_the_file_is_called(tmp_path: Path) -> None:
    put(tmp_path, "a.bundle", "5A2D")
    put(tmp_path, "b.bundle", "5CB6")
    put(tmp_path, ".half-written.bundle", "D3EB")
    (tmp_path / "notes.txt").write_text("not a bundle")
    assert sorted(Bundles(tmp_path).models) == ["5A2D", "5CB6"]
    assert sorted(Bundles(tmp_path / "b.bundle").models) == ["5CB6"]


def test_two_bundles_for_one_sensor_are_refused(tmp_path: Path) -> None:
    put(tmp_path, "a.bundle", "5A2D")
    put(tmp_path, "b.bundle", "5A2D")
    with pytest.raises(
        BadBundle, match=r"expected one bundle for sensor 5A2D, got a\.bundle and b\.bundle; remove one"
    ):
        Bundles(tmp_path)


def test_a_directory_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadBundle, match=r"No such file or directory; expected a directory of \.bundle files"):
        Bundles(tmp_path / "none")


def test_a_giant_file_is_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "giant.bundle").open("wb") as file:
        file.truncate(10**10)
    with pytest.raises(BadBundle, match=r"giant\.bundle: not a bundle: larger than 1048576 bytes$"):
        Bundles(tmp_path)


def test_changes_are_taken_in_and_a_bad_bundle_never_replaces_a_good_one(tmp_path: Path) -> None:
    put(tmp_path, "a.bundle", "5A2D")
    bundles = Bundles(tmp_path)
    before = bundles.models["5A2D"]
    assert bundles.refresh() == []

    (tmp_path / "a.bundle").write_bytes(b"cut")
    [refused] = bundles.refresh()
    assert "not a bundle" in (refused.reason or "")
    assert bundles.models == {"5A2D": before}
    assert bundles.refresh() == []

    (tmp_path / "a.bundle").write_bytes(bundle.encode(make_model("5A2D", seed=1)))
    put(tmp_path, "b.bundle", "5CB6")
    assert [(each.sensor, each.reason) for each in bundles.refresh()] == [("5A2D", None), ("5CB6", None)]
    assert bundles.models["5A2D"].id != before.id

    (tmp_path / "b.bundle").unlink()
    assert [(update.sensor, update.model) for update in bundles.refresh()] == [("5CB6", None)]
    assert list(bundles.models) == ["5A2D"]


def test_a_refused_bundle_is_read_again_when_its_permissions_change(tmp_path: Path) -> None:
    """A file that could not be read is mended by chmod, which leaves its time of modification alone."""
    bundles, file = Bundles(tmp_path), tmp_path / "a.bundle"
    file.write_bytes(b"cut")
    assert [bool(update.reason) for update in bundles.refresh()] == [True]
    assert bundles.refresh() == []
    before_ns = file.stat().st_ctime_ns

    def changed() -> bool:
        file.chmod(0o600)
        return file.stat().st_ctime_ns > before_ns

    wait_until(changed)
    assert [bool(update.reason) for update in bundles.refresh()] == [True]


def test_a_second_bundle_is_taken_when_the_first_is_removed(tmp_path: Path) -> None:
    """As the refusal advised: remove one, and the other counts."""
    put(tmp_path, "a.bundle", "5A2D")
    bundles = Bundles(tmp_path)
    put(tmp_path, "b.bundle", "5A2D")
    [refused] = bundles.refresh()
    assert (refused.reason or "").endswith("got a.bundle and b.bundle; remove one")
    (tmp_path / "a.bundle").unlink()
    assert [(update.file.name, update.model is None) for update in bundles.refresh()] == [
        ("a.bundle", True),
        ("b.bundle", False),
    ]
    assert list(bundles.models) == ["5A2D"]


def test_a_directory_that_goes_away_for_a_moment_costs_no_model(tmp_path: Path) -> None:
    """Replacing the whole directory is a fair way to update; the agent must live through it."""
    directory = tmp_path / "bundles"
    directory.mkdir()
    put(directory, "a.bundle", "5A2D")
    bundles = Bundles(directory)
    directory.rename(tmp_path / "old")
    [update] = bundles.refresh()
    assert (update.reason or "").endswith("No such file or directory; expected a directory of .bundle files")
    assert bundles.refresh() == [], "said once"
    assert list(bundles.models) == ["5A2D"]
    (tmp_path / "old").rename(directory)
    assert bundles.refresh() == []
    assert list(bundles.models) == ["5A2D"]


def test_a_file_that_turns_to_another_sensor_gives_up_the_first(tmp_path: Path) -> None:
    put(tmp_path, "a.bundle", "5A2D")
    bundles = Bundles(tmp_path)
    put(tmp_path, "a.bundle", "5CB60")
    assert [(update.sensor, update.model is None) for update in bundles.refresh()] == [
        ("5A2D", True),
        ("5CB60", False),
    ]


def test_a_second_bundle_is_taken_when_the_first_turns_to_another_sensor(tmp_path: Path) -> None:
    put(tmp_path, "a.bundle", "5A2D")
    bundles = Bundles(tmp_path)
    put(tmp_path, "b.bundle", "5A2D")
    assert [bool(update.reason) for update in bundles.refresh()] == [True]
    put(tmp_path, "a.bundle", "5CB60")
    assert [(update.sensor, update.model is None) for update in bundles.refresh()] == [
        ("5A2D", True),
        ("5CB60", False),
        ("5A2D", False),
    ]
    assert (sorted(bundles.models), bundles.refused) == (["5A2D", "5CB60"], {})


def test_a_file_that_cannot_be_looked_at_stops_no_other(tmp_path: Path) -> None:
    """A link to itself is like a bad sector: the kernel says neither that it is there nor that it is not."""
    put(tmp_path, "a.bundle", "5A2D")
    (tmp_path / "b.bundle").symlink_to(tmp_path / "b.bundle")
    bundles = Bundles(tmp_path, strict=False)
    assert list(bundles.models) == ["5A2D"]
    assert list(bundles.refused) == [tmp_path / "b.bundle"]


def test_two_files_can_exchange_their_sensors(tmp_path: Path) -> None:
    """Between two looks; what is removed is said first, because its card is removed."""
    put(tmp_path, "a.bundle", "5A2D")
    put(tmp_path, "b.bundle", "5CB60")
    bundles = Bundles(tmp_path)
    put(tmp_path, "a.bundle", "5CB60")
    put(tmp_path, "b.bundle", "5A2D")
    updates = bundles.refresh()
    assert [update.model is None for update in updates] == [True, True, False, False]
    assert [update.sensor for update in updates[2:]] == ["5CB60", "5A2D"]
    assert (sorted(bundles.models), bundles.refused) == (["5A2D", "5CB60"], {})


def test_a_file_that_cannot_give_its_new_model_keeps_the_old_one_unless_another_has_it(
    tmp_path: Path,
) -> None:
    """The third file has the sensor that the second wants."""
    for name, sensor in (("a", "5A2D"), ("b", "5CB6"), ("c", "D3EB")):
        put(tmp_path, f"{name}.bundle", sensor)
    bundles = Bundles(tmp_path)
    (tmp_path / "b.bundle").write_bytes(bundle.encode(make_model("D3EB", seed=1)))
    [refused] = bundles.refresh()
    assert (refused.reason or "").endswith("got c.bundle and b.bundle; remove one")
    assert sorted(bundles.models) == ["5A2D", "5CB6", "D3EB"]
    (tmp_path / "a.bundle").write_bytes(bundle.encode(make_model("5CB6", seed=1)))
    (tmp_path / "b.bundle").write_bytes(bundle.encode(make_model("D3EB", seed=2)))
    bundles.refresh()
    assert bundles.models["5CB6"].id == make_model_id("5CB6", seed=1)
    assert sorted(bundles.models) == ["5CB6", "D3EB"]


def test_a_model_for_windows_of_another_length_is_refused(tmp_path: Path) -> None:
    """Their means spread less, so its interval is wrong here; the others serve."""
    put(tmp_path, "a.bundle", "5A2D")
    hourly = replace(make_model("5CB6"), window_ms=3_600_000)
    (tmp_path / "b.bundle").write_bytes(bundle.encode(hourly))
    bundles = Bundles(tmp_path, strict=False, length_s=900)
    assert list(bundles.models) == ["5A2D"]
    file = tmp_path / "b.bundle"
    assert bundles.refused == {
        file: f"{file}: trained for windows of 3600 s, this agent's have 900 s; set length_s = 3600 under "
        "[windows], or fit it with --window 15min"
    }
    assert list(Bundles(tmp_path, strict=False, length_s=3600).models) == ["5CB6"]
