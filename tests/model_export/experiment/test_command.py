"""`model-export experiment` as a user runs it: bad recordings, corrected ones, and the quick run's report."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from model_export.cli.main import main
from model_export.simulator.network import simulate
from model_export.simulator.network_csv import write_network
from tests.support.processes import run_program
from tests.support.recordings import colocated

ROOT = Path(__file__).parents[3]
ONE = ("--jobs", "1")  # a second process would import everything once more
ROWS = 15 * 500  # of a recording, one a minute


@pytest.fixture(scope="module")
def colocation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return colocated(tmp_path_factory.mktemp("colocation"))


def test_a_fit_that_fails_is_told_and_the_others_are_kept(
    colocation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder is in the place of one fit; the report is written without that fit."""
    for name in ("5A2D_T-W.csv", "5A2D_T-S.csv"):
        (tmp_path / name).write_bytes((colocation / name).read_bytes())
    path = tmp_path / "out" / "fits" / "RESPIRE" / "5A2D_T-W.json"
    path.mkdir(parents=True)
    line = ["experiment", str(tmp_path), "--out", str(tmp_path / "out"), "--methods", "RR,RESPIRE", *ONE]
    assert main([*line, "--trials", "4"]) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert (told["recordings"], told["fitted"], told["methods"]) == (2, 3, ["RR", "RESPIRE"])
    reason = f"{path}: could not be written: Is a directory"
    assert told["skipped"] == [{"name": "RESPIRE on 5A2D_T-W", "reason": reason}]
    assert f"skipped RESPIRE on 5A2D_T-W: {reason}" in said.err
    assert "RESPIRE on 5A2D_T-W" in (tmp_path / "out" / "report.html").read_text()
    assert len(pd.read_parquet(tmp_path / "out" / "results.parquet")) == 3 * 5


def test_one_unreadable_recording_is_told_and_the_rest_is_run(
    colocation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("5A2D_T-W.csv", "5A2D_T-S.csv"):
        (tmp_path / name).write_bytes((colocation / name).read_bytes())
    (tmp_path / "5A2D_C-W.parquet").write_bytes(b"not Parquet")
    out = str(tmp_path / "out")
    assert main(["experiment", str(tmp_path), "--out", out, "--methods", "RR", *ONE]) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert (told["recordings"], told["fitted"]) == (2, 2)
    assert [one["name"] for one in told["skipped"]] == ["5A2D_C-W"]
    assert "skipped 5A2D_C-W: 5A2D_C-W.parquet: expected Parquet" in said.err


def test_sensors_that_each_stood_once_have_a_report_without_tests(colocation: Path, tmp_path: Path) -> None:
    """No sensor moved, so there is nothing to test methods on."""
    for name in ("5A2D_T-W.csv", "5CB6_C-S.csv"):
        (tmp_path / name).write_bytes((colocation / name).read_bytes())
    line = ["experiment", str(tmp_path), "--out", str(tmp_path / "out"), "--methods", "RR,RESPIRE", *ONE]
    assert main([*line, "--trials", "2"]) == 0
    names = {path.stem for path in (tmp_path / "out" / "figures").iterdir()}
    assert "wins-sensors" in names
    assert not names & {"t-tests", "datasets-with-adapter", "series"}


def test_corrected_data_need_not_be_those_that_were_run(
    colocation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sensor in only one of them, or a bad recording, is reported and skipped."""
    for name in ("5A2D_T-W.csv", "5A2D_T-S.csv"):
        (tmp_path / name).write_bytes((colocation / name).read_bytes())
    (tmp_path / "corrected").mkdir()
    for name in ("5092_T-W.csv", "5092_T-S.csv", "5A2D_T-W.csv", "5A2D_C-S.csv"):
        (tmp_path / "corrected" / name).write_bytes((colocation / name.replace("5092", "5CB6")).read_bytes())
    (tmp_path / "corrected" / "5A2D_C-W.csv").write_text("")
    line = ["experiment", str(tmp_path), "--out", str(tmp_path / "out"), "--methods", "RR,RESPIRE", *ONE]
    assert main([*line, "--trials", "2"]) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert (told["corrected"], [one["name"] for one in told["skipped"]]) == (True, ["corrected: 5A2D_C-W"])
    assert "skipped corrected: 5A2D_C-W: 5A2D_C-W.csv: expected a header and rows" in said.err
    assert "corrected: 5A2D_C-W" in Path(told["report"]).read_text()
    names = {path.stem for path in (tmp_path / "out" / "figures").iterdir()}
    assert "weights-before-after" in names, "of 5A2D_T-W"
    assert "before-after" not in names, "no transfer was made in both"


def test_corrected_data_of_which_none_can_be_used_are_told(
    colocation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data found by default; data named with --corrected are an error before any work."""
    (tmp_path / "5A2D_T-W.csv").write_bytes((colocation / "5A2D_T-W.csv").read_bytes())
    (tmp_path / "corrected").mkdir()
    line = ["experiment", str(tmp_path), "--out", str(tmp_path / "out"), "--methods", "RR", *ONE]
    assert main([*line, "--corrected", str(tmp_path / "corrected")]) == 1
    assert not (tmp_path / "out").exists()
    capsys.readouterr()
    assert main(line) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["corrected"], [one["name"] for one in told["skipped"]]) == (
        False,
        ["corrected: all recordings"],
    )


def test_an_unknown_method_is_an_error_before_any_work(
    colocation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["experiment", str(colocation), "--out", str(tmp_path / "out"), "--methods", "SVM"]
    assert main(line) == 1
    expected = "DT,GBDT,KNN,KRR,MLP,RR,RESPIRE-paper,RESPIRE"
    assert capsys.readouterr().err == f"model-export: --methods: expected some of {expected}, got SVM\n"
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """`experiment --quick` on a part of the simulated network, with 5092 corrected in another folder."""
    data, out = tmp_path_factory.mktemp("network"), tmp_path_factory.mktemp("quick")
    datasets = ("B-W", "C-S")
    list(write_network(simulate(1, sensors=("5092", "5A2D"), datasets=datasets), data))
    mended = simulate(1, swapped=(), sensors=("5092",), datasets=datasets)
    list(write_network(mended, data / "corrected"))
    for path in data.rglob("*_*-*.csv"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[: ROWS + 1]))
    program = [sys.executable, "-m", "model_export", "experiment", str(data), "--out", str(out), "--quick"]
    done = run_program(program, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "fitting: 100%" in done.stderr
    return out, json.loads(done.stdout)


def test_quick_runs_two_sensors_and_three_methods(quick: tuple[Path, dict[str, Any]]) -> None:
    _, told = quick
    assert (told["sensors"], told["methods"]) == (["5092", "5A2D"], ["KRR", "RR", "RESPIRE"])
    assert (told["recordings"], told["fitted"], told["skipped"]) == (4, 12, [])
    wins = told["wins"]["RESPIRE"]["with_adapter"]
    assert all(counts["total"] == counts["SS"] + counts["transfer"] for counts in wins.values())
    assert sum(counts["transfer"] for counts in wins.values()) >= 4, "every case has a winner"


def test_the_takeaways_of_a_quick_run(quick: tuple[Path, dict[str, Any]]) -> None:
    """Transfers lower R², the adapter restores it, and correcting the swap raises it for every method."""
    before, after = (pd.read_parquet(out / "results.parquet") for out in (quick[0], quick[0] / "corrected"))
    sound = before[before["sensor"] == "5A2D"].pivot_table("r2", "kind", "scenario", aggfunc="median")
    assert sound["S1"]["train"] > sound["S1"]["XX"] + 0.05
    assert sound["S2"]["XX"] > sound["S1"]["XX"] + 0.05
    moved = "sensor == '5092' and scenario == 'S2' and kind in ('SX', 'XS', 'XX')"
    swapped, put_right = (table.query(moved).groupby("method")["r2"].median() for table in (before, after))
    assert (put_right > swapped + 0.2).all()


def test_the_page_needs_nothing_else(quick: tuple[Path, dict[str, Any]]) -> None:
    """All pictures are embedded; each is also a PNG file."""
    out, told = quick
    text = Path(told["report"]).read_text()
    sources = re.findall(r'(?:src|href)="([^"]{0,30})', text)
    assert sources
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    names = {path.stem for path in (out / "figures").iterdir()}
    assert names >= {
        *("wins-home", "wins-with-adapter", "wins-without-adapter", "wins-sensors", "t-tests", "series"),
        *("r2-with-adapter", "datasets-with-adapter", "robust-r2", "scenarios", "sensors", "weights"),
        *("compression", "before-after", "weights-before-after"),
    }
    assert len(sources) == len(names)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (out / "figures").iterdir())


def test_a_folder_that_cannot_be_written_is_one_line(
    colocation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["experiment", str(colocation), "--out", str(tmp_path / "file"), "--methods", "RR"]) == 1
    expected = f"model-export: {tmp_path}/file/experiment.json: could not be written: File exists\n"
    assert capsys.readouterr().err == expected
