"""Finding recordings: by their names, by a manifest, and what is set aside."""

from pathlib import Path

import pytest

from edge_agent.errors import BadRecording
from model_export.catalogue import Entry, Place, collect, find
from tests.recordings import saved, tidy


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_name_says_sensor_site_and_season(tmp_path: Path, ending: str) -> None:
    path = saved(tidy(windows=80), tmp_path / f"5A2D_T-W.{ending}")
    assert find(tmp_path) == ([Entry(Place("5A2D", "T", "W"), (path,))], [])


def test_a_sensors_name_may_have_underscores_and_hyphens(tmp_path: Path) -> None:
    (tmp_path / "van-1_left_T-W.csv").touch()
    assert find(tmp_path)[0][0].place == Place("van-1_left", "T", "W")


def test_a_name_that_says_nothing_is_reported(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").touch()
    (tmp_path / "readme.txt").touch()
    entries, skipped = find(tmp_path)
    assert entries == []
    assert [one.reason for one in skipped] == [
        "notes.csv: expected a name such as 5A2D_T-W.csv; rename it or list it in a manifest"
    ]


CSV = "path,sensor,site,season,unit,gas\njan.csv,dd1,kanpur,winter,ppb,O3\nfeb.csv,dd1,kanpur,winter,ppb,O3\n"
TOML = "\n".join(
    f'[[recording]]\npath = "{name}"\nsensor = "dd1"\nsite = "kanpur"\nseason = "winter"\n'
    'unit = "ppb"\ngas = "O3"'
    for name in ("jan.csv", "feb.csv")
)


@pytest.mark.parametrize(("name", "text"), [("manifest.csv", CSV), ("manifest.toml", TOML)])
@pytest.mark.parametrize("named", [True, False])
def test_a_manifest_names_what_files_do_not(tmp_path: Path, name: str, text: str, named: bool) -> None:
    """Paths start from the manifest's folder; files of one place are one recording; a folder's is found."""
    (tmp_path / name).write_text(text)
    paths = (tmp_path / "jan.csv", tmp_path / "feb.csv")
    expected = [Entry(Place("dd1", "kanpur", "winter"), paths, unit="ppb", gas="O3")]
    assert find(tmp_path / name if named else tmp_path) == (expected, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "path,sensor\na.csv,x\n",
            "m.csv: recording 1: expected path, .*, got no site, season; add them",
        ),
        ("path,sensor,site,season\na.csv,x/y,T,W\n", "m.csv: recording 1: sensor: expected 1-64 printable"),
        (
            "path,sensor,site,season,gas\na,x,T,W,CO\nb,x,T,W,O3\n",
            "x_T-W: expected one unit and gas",
        ),
    ],
)
def test_a_bad_manifest_says_where_and_what(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(BadRecording, match=message):
        find(tmp_path / "m.csv")


def test_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match=r"nowhere: expected a folder or a manifest"):
        find(tmp_path / "nowhere")


def test_one_unreadable_recording_is_set_aside_and_the_others_are_read(tmp_path: Path) -> None:
    """Bytes that are no table, a table without a reference, a recording too short: each with its reason."""
    saved(tidy(windows=100), tmp_path / "5A2D_T-W.csv")
    saved(tidy(windows=20), tmp_path / "5A2D_C-W.csv")
    saved(tidy(windows=100).drop(columns="reference"), tmp_path / "5A2D_B-W.csv")
    (tmp_path / "5A2D_G-W.csv.gz").write_bytes(b"\x1f\x8b not gzip at all")
    collection = collect(tmp_path)
    assert [str(member.place) for member in collection.members] == ["5A2D_T-W"]
    assert {one.name for one in collection.skipped} == {"5A2D_B-W", "5A2D_C-W", "5A2D_G-W"}
    assert all(one.reason.startswith(one.name) for one in collection.skipped)


def test_nothing_to_use_is_an_error_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "5A2D_T-W.csv").write_text("")
    with pytest.raises(BadRecording, match=r"got none to use; 5A2D_T-W.csv: expected a header and rows"):
        collect(tmp_path)
