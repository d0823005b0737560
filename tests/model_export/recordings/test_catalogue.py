"""Finding recordings: by their names, by a manifest, and what is set aside."""

import os
from pathlib import Path

import pytest

from edge_agent.core.errors import BadRecording
from model_export.recordings.catalogue import collect, load
from model_export.recordings.manifest import Entry, Skipped, find
from model_export.recordings.names import Place
from model_export.recordings.tables import Layout
from tests.support.recordings import FIRST_MS, saved, tidy


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "CSV", "csv.zip", "zip", "csv.xz", "CSV.GZ"])
def test_a_name_says_sensor_site_and_season(tmp_path: Path, ending: str) -> None:
    path = saved(tidy(windows=80), tmp_path / f"5A2D_T-W.{ending}")
    assert find(tmp_path) == ([Entry(Place("5A2D", "T", "W"), (path,))], [])
    assert len(collect(tmp_path).members) == 1


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


@pytest.mark.parametrize(("name", "ending"), [("5A2D_T-W.xlsx", ".xlsx"), ("5A2D_T-W", "no ending")])
def test_a_recording_in_another_form_is_named(tmp_path: Path, name: str, ending: str) -> None:
    (tmp_path / name).touch()
    expected = f"{name}: expected a table (.csv, .parquet, .gz, .bz2, .zip, .xz), got {ending}"
    assert find(tmp_path) == ([], [Skipped(name, expected)])


def test_two_files_of_one_name_are_not_taken_together_without_a_word(tmp_path: Path) -> None:
    for name in ("5A2D_T-W.csv", "5A2D_T-W.csv.gz"):
        (tmp_path / name).touch()
    entries, skipped = find(tmp_path)
    assert entries == [Entry(Place("5A2D", "T", "W"), (tmp_path / "5A2D_T-W.csv",))]
    assert [one.reason for one in skipped] == [
        "5A2D_T-W.csv.gz: expected one file for 5A2D_T-W, got 5A2D_T-W.csv too; "
        "remove one, or list both in a manifest"
    ]


def test_a_name_that_is_no_text_can_be_told(tmp_path: Path) -> None:
    """As bytes of another encoding give it, and too long a one."""
    (tmp_path / os.fsdecode(b"\xe5_T-W.csv")).touch()
    (tmp_path / f"{'x' * 200}_T-W.csv").touch()
    names = [one.name for one in find(tmp_path)[1]]
    assert names == [f"{'x' * 200}_T-W.csv", "\\udce5_T-W.csv"]


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


GOOD = "\ngood.csv,5A2D,T,W,"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a.csv,x,,", "expected path, sensor, site, season, got no site, season; add them"),
        (
            "a.csv,x/y,T,W",
            "sensor: expected 1-64 printable characters without / + #, got 'x/y'; rename it",
        ),
        (
            "a.csv,a,T-1,W",
            "site: expected no - or _, the separators of SENSOR_SITE-SEASON, got 'T-1'; rename it",
        ),
        (
            "a.csv,a,T,1_W",
            "season: expected no - or _, the separators of SENSOR_SITE-SEASON, got '1_W'; rename it",
        ),
        (
            f"a.csv,{'å' * 64},{'ß' * 60},W",
            "expected sensor, site and season of at most 200 bytes, got 251; shorten them",
        ),
        (
            "a.csv,5A2D,T,W,ppb",
            "unit: expected 'ppm' as in the other rows of 5A2D_T-W, got 'ppb'; make them the same",
        ),
        ('a.csv,x,T,W,ppb,"op1"', "columns: expected op1=co_we,op2=co_ae,… got 'op1'"),
        (
            "a.csv,x,T,W,ppb,,noon",
            "reference: expected one of auto, average, start, end, got 'noon'",
        ),
    ],
)
def test_a_bad_row_of_a_manifest_is_set_aside(tmp_path: Path, row: str, reason: str) -> None:
    (tmp_path / "m.csv").write_text(f"path,sensor,site,season,unit,columns,reference{GOOD}\n{row}\n")
    entries, skipped = find(tmp_path / "m.csv")
    assert entries == [Entry(Place("5A2D", "T", "W"), (tmp_path / "good.csv",))]
    assert skipped == [Skipped("recording 2", f"m.csv: recording 2: {reason}")]


def test_a_manifest_may_come_from_a_spreadsheet(tmp_path: Path) -> None:
    """A byte order mark, and spaces after the commas."""
    text = '\ufeffpath, sensor, site , season, columns\na.csv, 5A2D, T, W , "op1=WE, op2=AE"\n'
    (tmp_path / "m.csv").write_text(text)
    columns = {"op1": "WE", "op2": "AE"}
    expected = [Entry(Place("5A2D", "T", "W"), (tmp_path / "a.csv",), columns=columns)]
    assert find(tmp_path / "m.csv") == (expected, [])


@pytest.mark.parametrize(
    ("name", "meant"),
    [("units", "unit"), ("Unit", "unit"), ("time_zone", "timezone"), ("sensor-type", "sensor_type")],
)
def test_a_column_of_a_manifest_that_is_spelled_otherwise_is_refused(
    tmp_path: Path, name: str, meant: str
) -> None:
    """It would be left out in silence: ppb would become ppm. A column of one's own is left out."""
    (tmp_path / "m.csv").write_text(f"path,sensor,site,season,{name}\na.csv,5A2D,T,W,ppb\n")
    with pytest.raises(BadRecording) as caught:
        find(tmp_path / "m.csv")
    assert str(caught.value) == f"m.csv: expected a column {meant}, got {name}; rename it"
    (tmp_path / "m.csv").write_text("path,sensor,site,season,remark,sensor_id\na.csv,5A2D,T,W,roof,7\n")
    assert find(tmp_path / "m.csv") == ([Entry(Place("5A2D", "T", "W"), (tmp_path / "a.csv",))], [])


def test_a_unit_that_is_no_text_is_refused(tmp_path: Path) -> None:
    head = '[[recording]]\npath = "a.csv"\nsensor = "5A2D"\nsite = "T"\nseason = "W"\n'
    (tmp_path / "m.toml").write_text(head + "unit = 5\n")
    entries, skipped = find(tmp_path / "m.toml")
    reason = "m.toml: recording 1: unit: expected text, got 5; put it in quotes"
    assert (entries, skipped) == ([], [Skipped("recording 1", reason)])


def test_a_manifest_says_how_files_are_written(tmp_path: Path) -> None:
    """Other column names, a zone for stamps that have none, and the reference's stamp."""
    table = tidy(windows=120).rename(columns={"op1": "WE", "op2": "AE", "timestamp": "at"})
    table["at"] = table["at"].str.removesuffix("Z")
    saved(table, tmp_path / "a.csv")
    head = "path,sensor,site,season,columns,timezone,reference"
    row = 'a.csv,5A2D,T,W,"op1=WE,op2=AE,timestamp=at",Asia/Kolkata,average'
    (tmp_path / "manifest.csv").write_text(f"{head}\n{row}\n")
    (member,) = collect(tmp_path).members
    columns = {"op1": "WE", "op2": "AE", "timestamp": "at"}
    layout = Layout(columns, "Asia/Kolkata")
    expected = load([tmp_path / "a.csv"], "5A2D", "ppm", layout, reference="average")
    assert member.train.start_ms[0] == expected.start_ms[0] == FIRST_MS - 19_800_000
    assert len(member.train) + len(member.test) == len(expected)


def test_a_manifest_gives_windows_and_types_of_sensors(tmp_path: Path) -> None:
    """A row without them has those of the whole run; recordings that differ in them are not compared."""
    saved(tidy(windows=400), tmp_path / "a.csv")
    rows = "a.csv,A,T,W,1h,metal-oxide\na.csv,B,T,W,,\nbad.csv,C,T,W,7min,\nbad.csv,D,T,W,,glass\n"
    (tmp_path / "m.csv").write_text("path,sensor,site,season,window,sensor_type\n" + rows)
    found = collect(tmp_path / "m.csv", window_ms=1_800_000)
    hourly, usual = found.members
    assert (hourly.train.window_ms, hourly.sensor_type) == (3_600_000, "metal-oxide")
    assert (usual.train.window_ms, usual.sensor_type) == (1_800_000, "electrochemical")
    assert not hourly.comparable(usual)
    assert [one.reason.partition(": expected ")[0] for one in found.skipped] == [
        "m.csv: recording 3: window",
        "m.csv: recording 4: sensor_type",
    ]


def test_advice_names_the_manifest_and_not_the_options_of_fit(tmp_path: Path) -> None:
    saved(tidy(windows=100), tmp_path / "5A2D_T-W.csv")
    saved(tidy(windows=100).rename(columns={"op1": "WE"}), tmp_path / "5A2D_T-S.csv")
    reasons = [one.reason for one in collect(tmp_path).skipped]
    assert len(reasons) == 1
    assert reasons[0].endswith("; name it with a manifest's columns op1=…")


def test_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match=r"nowhere: expected a folder or a manifest"):
        find(tmp_path / "nowhere")


def test_one_unreadable_recording_is_set_aside_and_the_others_are_read(tmp_path: Path) -> None:
    """Bytes that are no table, a table without a reference, a recording too short: each with its reason."""
    saved(tidy(windows=100), tmp_path / "5A2D_T-W.csv")
    saved(tidy(windows=20), tmp_path / "5A2D_C-W.csv")
    saved(tidy(windows=100).drop(columns="reference"), tmp_path / "5A2D_B-W.csv")
    (tmp_path / "5A2D_G-W.csv.gz").write_bytes(b"\x1f\x8b not gzip at all")
    (tmp_path / "5A2D_H-W.zip").write_bytes(b"not zip at all")
    (tmp_path / "5A2D_I-W.csv.xz").write_bytes(b"not xz at all")
    collection = collect(tmp_path)
    assert [str(member.place) for member in collection.members] == ["5A2D_T-W"]
    assert {one.name for one in collection.skipped} == {
        f"5A2D_{dataset}" for dataset in ("B-W", "C-W", "G-W", "H-W", "I-W")
    }
    assert all(one.reason.startswith(one.name) for one in collection.skipped)


def test_nothing_to_use_is_an_error_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "5A2D_T-W.csv").write_text("")
    with pytest.raises(BadRecording, match=r"got none to use; 5A2D_T-W.csv: expected a header and rows"):
        collect(tmp_path)


def test_the_busiest_sensors_have_the_most_windows_in_all(tmp_path: Path) -> None:
    """B has the longest recording, C the most windows, A comes first by name only."""
    for name, windows in (("A_T-W", 100), ("B_T-W", 180), ("C_T-W", 120), ("C_T-S", 120)):
        saved(tidy(windows=windows), tmp_path / f"{name}.csv")
    collection = collect(tmp_path)
    assert collection.busiest(2) == ("C", "B")
    assert [str(one.place) for one in collection.of(["C"]).members] == ["C_T-S", "C_T-W"]
