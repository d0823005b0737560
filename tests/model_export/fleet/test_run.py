"""A fleet on disk: every sensor gets a state and a reason, and a resumed run ends with the same files."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from edge_agent.core import bundle
from edge_agent.core.errors import BadRecording, BadSettings
from model_export.cli.main import main
from model_export.fleet.run import Request, run
from model_export.fleet.task import Settings
from tests.support.recordings import saved, tidy

DAY_MS = 86_400_000
FIRST_MS = 1_706_745_600_000


def calibrated(manifest: Path, out: Path, **options: Any) -> dict[str, Any]:
    said: list[str] = []
    request = Request(manifest, out, settings=Settings(trials=2), **options)
    return run(request, lambda: ThreadPoolExecutor(1), said.append)


def rows(out: Path) -> dict[str, dict[str, Any]]:
    return {row["sensor"]: row for row in pq.read_table(out / "results.parquet").to_pylist()}


def files(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings: sound, of two sites, without reference, cut, and with swapped electrodes."""
    folder = tmp_path_factory.mktemp("recordings")
    saved(tidy(240, seed=1), folder / "GOOD_T-W.csv")
    saved(tidy(240, seed=2), folder / "TWO_T-W.csv")
    moved = tidy(160, seed=3, first_ms=FIRST_MS + 60 * DAY_MS)
    saved(moved.assign(reference=0.3 + 1.2 * moved["reference"]), folder / "TWO_C-S.csv")
    saved(tidy(240, seed=4).drop(columns="reference"), folder / "BARE_T-W.csv")
    saved(tidy(240, seed=5).drop(columns="reference"), folder / "LONE_G-W.csv")
    (folder / "CUT_T-W.parquet").write_bytes(b"PAR1 and no more")
    swapped = tidy(240, seed=6).rename(columns={"op1": "op2", "op2": "op1"})
    saved(swapped, folder / "SWAP_T-W.csv")
    (folder / "photo.csv").write_text("no recording")
    return folder


@pytest.fixture(scope="module")
def first(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over all of them."""
    out = tmp_path_factory.mktemp("first") / "out"
    calibrated(folder, out)
    return out


def test_every_sensor_has_a_state_and_a_reason(first: Path) -> None:
    found = {name: (row["state"], row["transferred_from"]) for name, row in rows(first).items()}
    assert found == {
        "BARE": ("new", found["BARE"][1]),
        "CUT": ("refused", None),
        "GOOD": ("new", None),
        "LONE": ("refused", None),
        "SWAP": ("refused", None),
        "TWO": ("new", None),
    }
    assert found["BARE"][1] in ("GOOD", "TWO")
    reasons = {name: row["reason"] for name, row in rows(first).items() if row["state"] == "refused"}
    assert reasons["LONE"] == "no reference, and no sensor with a bundle beside it"
    assert reasons["CUT"].startswith("CUT_T-W.parquet: expected Parquet")
    assert "swapped" in reasons["SWAP"]


def test_bundles_are_those_of_the_rows(first: Path) -> None:
    for name, row in rows(first).items():
        path = first / "bundles" / f"{name}.bundle"
        assert path.exists() == (row["bundle"] is not None)
        if path.exists():
            model = bundle.decode(path.read_bytes())
            assert (model.sensor, model.id) == (name, row["bundle"])


def test_a_sensor_that_has_moved_is_adapted_to_its_newest_site(first: Path) -> None:
    row = rows(first)["TWO"]
    assert row["adapted_on"] == "TWO_C-S.csv"
    assert row["r2"] > 0.5
    assert row["until"].startswith("2024-04-02")
    assert "2024-09" <= row["valid_until"] < "2024-10"


def test_the_page_has_the_worst_first_and_what_to_do(first: Path) -> None:
    text = (first / "index.html").read_text()
    assert text.index("CUT") < text.index("LONE") < text.index("GOOD")
    assert "photo.csv" in text
    assert "Put it beside a sensor with a bundle" in text


def test_a_bundle_in_use_is_replaced_only_by_a_better_one(folder: Path, first: Path, tmp_path: Path) -> None:
    """TWO has the same bundle already; that of GOOD is worse."""
    (tmp_path / "current").mkdir()
    kept = (first / "bundles/TWO.bundle").read_bytes()
    (tmp_path / "current/TWO.bundle").write_bytes(kept)
    worse = bundle.decode((first / "bundles/GOOD.bundle").read_bytes())
    data = bundle.encode(replace(worse, adapter=(1.5, 0.4), id=""))
    (tmp_path / "current/GOOD.bundle").write_bytes(data)
    calibrated(folder, tmp_path / "out", current=tmp_path / "current")
    again = rows(tmp_path / "out")
    assert {name: again[name]["state"] for name in ("GOOD", "TWO")} == {
        "GOOD": "improved",
        "TWO": "unchanged",
    }
    assert (tmp_path / "out/bundles/TWO.bundle").read_bytes() == kept
    assert again["GOOD"]["current"] == bundle.decode(data).id
    assert again["GOOD"]["rmse"] < again["GOOD"]["rmse_current"]


@pytest.mark.parametrize(
    "change", [{"sensor": "TWO"}, {"gas": "NO2"}, {"window_ms": 3_600_000}, {"unit": "ppb"}, None]
)
def test_a_bundle_in_use_that_is_for_something_else_is_replaced(
    folder: Path, first: Path, tmp_path: Path, change: dict[str, Any] | None
) -> None:
    """Also a broken one: the sensor still gets its new bundle."""
    saved(tidy(240, seed=1), tmp_path / "GOOD_T-W.csv")
    own = (first / "bundles/GOOD.bundle").read_bytes()
    (tmp_path / "current").mkdir()
    strange = b"no bundle" if change is None else bundle.encode(replace(bundle.decode(own), id="", **change))
    (tmp_path / "current/GOOD.bundle").write_bytes(strange)
    calibrated(tmp_path, tmp_path / "out", current=tmp_path / "current")
    row = rows(tmp_path / "out")["GOOD"]
    assert (row["state"], row["rmse_current"]) == ("new", None)
    assert (tmp_path / "out/bundles/GOOD.bundle").read_bytes() == own


def test_a_run_is_resumed_with_the_same_files(folder: Path, first: Path) -> None:
    """Rows and bundles that are lost or damaged are made again; those that are there are read."""
    before = files(first)
    (first / "sensors/GOOD.json").unlink()
    (first / "bundles/BARE.bundle").unlink()
    (first / "sensors/TWO.json").write_text("{")
    (first / "results.parquet").unlink()
    calibrated(folder, first, resume=True)
    assert files(first) == before


def test_a_bundle_that_is_not_of_its_row_is_made_again(folder: Path, first: Path) -> None:
    """A run with other settings was killed between bundle and row; now the settings are as before."""
    before, path = files(first), first / "bundles/GOOD.bundle"
    path.write_bytes(bundle.encode(replace(bundle.decode(path.read_bytes()), adapter=(2.0, 0.0), id="")))
    calibrated(folder, first, resume=True)
    assert files(first) == before


def test_a_sensor_that_leaves_the_manifest_leaves_the_bundles_to_install(tmp_path: Path) -> None:
    for seed, name in enumerate(("STAY", "LEAVE")):
        saved(tidy(100, seed=seed), tmp_path / f"{name}_T-W.csv")
    calibrated(tmp_path, tmp_path / "out")
    (tmp_path / "LEAVE_T-W.csv").unlink()
    calibrated(tmp_path, tmp_path / "out", resume=True)
    assert [*rows(tmp_path / "out")] == ["STAY"]
    assert [path.name for path in (tmp_path / "out/bundles").iterdir()] == ["STAY.bundle"]


def test_a_folder_with_a_run_is_not_taken_for_another(folder: Path, first: Path) -> None:
    with pytest.raises(BadSettings, match="add --resume to go on with it"):
        calibrated(folder, first)


def test_a_recording_without_reference_does_not_refuse_the_sensor(tmp_path: Path) -> None:
    """A sensor was beside a reference in winter, and elsewhere in summer."""
    saved(tidy(240, seed=1), tmp_path / "5A2D_T-W.csv")
    alone = tidy(240, seed=2, first_ms=FIRST_MS + 60 * DAY_MS).drop(columns="reference")
    saved(alone, tmp_path / "5A2D_C-S.csv")
    calibrated(tmp_path, tmp_path / "out")
    row = rows(tmp_path / "out")["5A2D"]
    assert row["state"] == "new"
    assert row["reason"].endswith("fewer than 7; left out, without a reference: C-S")


def test_what_the_reader_noticed_is_in_the_row_and_on_the_page(tmp_path: Path) -> None:
    saved(tidy(120, seed=1).iloc[::-1], tmp_path / "5A2D_T-W.csv")
    saved(tidy(120, seed=2).drop(columns="reference").iloc[::-1], tmp_path / "BARE_T-W.csv")
    calibrated(tmp_path, tmp_path / "out")
    words = "rows were not in the order of time; sorted"
    noted = {sensor: row["notes"] for sensor, row in rows(tmp_path / "out").items()}
    assert [words in note for notes in (noted["5A2D"], noted["BARE"]) for note in notes] == [True, True]
    assert words in (tmp_path / "out" / "index.html").read_text()


def test_a_header_with_another_unit_than_the_manifest_is_refused(tmp_path: Path) -> None:
    """Which of the two is right is not known, and a wrong one makes a wrong bundle."""
    saved(tidy(120, seed=1).rename(columns={"reference": "reference (mg/m3)"}), tmp_path / "5A2D_T-W.csv")
    saved(tidy(120, seed=2), tmp_path / "5CB6_T-W.csv")
    calibrated(tmp_path, tmp_path / "out")
    row = rows(tmp_path / "out")["5A2D"]
    assert row["state"] == "refused"
    assert "reference: expected ppm, got mg/m3 in its header" in row["reason"]


def test_an_error_that_nobody_expects_says_how_to_see_it(tmp_path: Path) -> None:
    """--debug of fleet shows nothing of it: it was raised in a worker."""
    saved(tidy(120, seed=1), tmp_path / "5A2D_T-W.csv")
    (tmp_path / "out" / "sensors" / "5A2D.json").mkdir(parents=True)
    calibrated(tmp_path, tmp_path / "out", resume=True)
    row = rows(tmp_path / "out")["5A2D"]
    assert (row["state"], row["reason"].partition(": ")[2]) == (
        "refused",
        "could not be written: Is a directory",
    )
    assert row["advice"].startswith("Run fleet again with --resume. If it stays, run fit --debug")


def test_a_manifest_without_usable_lines_says_what_is_wrong(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.csv"
    manifest.write_text("file,sensor,site,season\na.csv,5A2D,T,W\n")
    words = "expected recordings, got none to use: manifest.csv: recording 1: expected path, sensor, site"
    with pytest.raises(BadRecording, match=words):
        calibrated(manifest, tmp_path / "out")


def test_recordings_of_one_sensor_in_two_units_are_named(tmp_path: Path) -> None:
    saved(tidy(200, seed=1), tmp_path / "a.csv")
    saved(tidy(200, seed=2, first_ms=FIRST_MS + 30 * DAY_MS), tmp_path / "b.csv")
    lines = ["path,sensor,site,season,unit", "a.csv,5A2D,T,W,ppm", "b.csv,5A2D,C,S,mg/m3"]
    (tmp_path / "manifest.csv").write_text("\n".join(lines))
    calibrated(tmp_path / "manifest.csv", tmp_path / "out")
    words = "expected one gas, unit, set of channels, window and type in all recordings"
    assert rows(tmp_path / "out")["5A2D"]["reason"].startswith(words)


def test_a_reference_that_is_not_outdoor_air_in_its_unit_is_told(tmp_path: Path) -> None:
    """As fit tells it: ppb in a manifest without a unit would be ppm on a map of the city."""
    table = tidy(100)
    saved(table.assign(reference=1000.0 * table["reference"]), tmp_path / "5A2D_T-W.csv")
    calibrated(tmp_path, tmp_path / "out")
    row = rows(tmp_path / "out")["5A2D"]
    assert row["reason"].endswith(" ppm is not outdoor CO (0.02 to 50 ppm); --unit ppb would be")
    assert row["advice"] == "Check the unit in the manifest."


def test_windows_and_the_type_of_sensor_are_those_of_the_manifest(tmp_path: Path) -> None:
    """A sensor without a reference gets the bundle of one of its kind only."""
    for seed, name in enumerate(("hot", "cell")):
        saved(tidy(400, seed=seed), tmp_path / f"{name}.csv")
        saved(tidy(400, seed=seed).drop(columns="reference"), tmp_path / f"{name}-bare.csv")
    lines = [
        "path,sensor,site,season,gas,window,sensor_type",
        "hot.csv,HOT,T,W,CO,1h,metal-oxide",
        "hot-bare.csv,HOT2,T,W,CO,1h,metal-oxide",
        "cell.csv,CELL,T,W,CO,,",
        "cell-bare.csv,CELL2,T,W,CO,,",
        "cell-bare.csv,OTHER,T,W,NO2,,",
    ]
    (tmp_path / "manifest.csv").write_text("\n".join(lines))
    calibrated(tmp_path / "manifest.csv", tmp_path / "out")
    found = {name: row["transferred_from"] for name, row in rows(tmp_path / "out").items()}
    assert found == {"HOT": None, "HOT2": "HOT", "CELL": None, "CELL2": "CELL", "OTHER": None}
    models = [bundle.decode(path.read_bytes()) for path in (tmp_path / "out/bundles").iterdir()]
    assert {model.sensor: (model.window_ms, model.sensor_type, bool(model.warming)) for model in models} == {
        "HOT": (3_600_000, "metal-oxide", False),
        "HOT2": (3_600_000, "metal-oxide", False),
        "CELL": (900_000, "electrochemical", True),
        "CELL2": (900_000, "electrochemical", True),
    }


def test_the_command_runs_in_processes_of_its_own(
    folder: Path, first: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process makes what a thread has made, to the bit."""
    before = files(first)
    (first / "sensors/GOOD.json").unlink()
    options = ["--out", str(first), "--resume", "--jobs", "1", "--trials", "2"]
    assert main(["fleet", str(folder), *options]) == 0
    told = capsys.readouterr()
    figures = json.loads(told.out)
    assert (figures["sensors"], figures["new"], figures["refused"]) == (6, 3, 3)
    assert "refused LONE: no reference, and no sensor with a bundle beside it" in told.err
    assert files(first) == before


def test_a_scheduler_without_encryption_is_refused_off_loopback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tidy(60), tmp_path / "5A2D_T-W.csv")
    command = ["fleet", str(tmp_path), "--out", str(tmp_path / "out"), "--scheduler"]
    assert main([*command, "tcp://10.0.0.7:8786"]) == 1
    assert "expected tls://10.0.0.7:8786, got tcp://" in capsys.readouterr().err
    assert main([*command, "tls://10.0.0.7:8786"]) == 1
    assert "expected --tls-ca, --tls-cert and --tls-key" in capsys.readouterr().err
    assert main([*command, "10.0.0.7:8786"]) == 1
    assert "expected tls://HOST:PORT" in capsys.readouterr().err
