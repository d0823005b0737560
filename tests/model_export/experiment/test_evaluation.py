"""The whole evaluation: every case, and the figures of each; a killed run goes on."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from model_export.calibration import adapt, transfer
from model_export.experiment.cases import kind, trimmed_r2
from model_export.experiment.methods import METHODS, Setup
from model_export.recordings.catalogue import collect
from model_export.recordings.names import Place
from model_export.regression.metrics import r2
from tests.support.experiments import SETTINGS, alive, fits, run, wait
from tests.support.processes import start

METHODS_USED = ("RR", "RESPIRE")
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def alone(colocation: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recordings of the first sensor."""
    folder = tmp_path_factory.mktemp("alone")
    for path in colocation.glob("5A2D_*.csv"):
        shutil.copy(path, folder)
    return folder


@pytest.fixture(scope="module")
def finished(colocation: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run with two processes wrote."""
    out = tmp_path_factory.mktemp("out")
    table = run(colocation, out, METHODS_USED, SETTINGS, jobs=2).table
    pd.testing.assert_frame_equal(pd.read_parquet(out / "results.parquet"), table)
    assert len(pd.read_csv(out / "results.csv")) == len(table)
    return out


@pytest.fixture(scope="module")
def results(finished: Path) -> pd.DataFrame:
    return pd.read_parquet(finished / "results.parquet")


@pytest.fixture(scope="module")
def results_alone(results: pd.DataFrame) -> pd.DataFrame:
    """The cases that a run on the first sensor alone has, too."""
    return results.query("sensor == '5A2D' and target_sensor == '5A2D'").reset_index(drop=True)


def test_every_case_is_there_once(results: pd.DataFrame) -> None:
    """8 train parts and 2 methods: itself, 4 datasets of the own sensor twice, 4 of the other four times."""
    assert len(results) == 8 * 2 * (1 + 4 * 2 + 4 * 4)
    counts = results.groupby(["kind", "scenario"]).size().unstack(fill_value=0)
    assert counts.loc["train"].to_dict() == {"S1": 16, "S2": 0, "S3": 0, "S3a": 0, "S4": 0, "S5": 0}
    for name in ("SS", "SX", "XS", "XX"):
        assert [*counts.loc[name]] == [16] * 6
    names = ["method", "sensor", "dataset", "target_sensor", "target_dataset", "kind", "scenario"]
    assert len(results.drop_duplicates(names)) == len(results)
    assert results["r2"].notna().all()


def test_the_figures_are_those_of_the_parts_put_together_by_hand(
    colocation: Path, results: pd.DataFrame
) -> None:
    """The model of 5A2D in T-W on 5CB6 in C-S, with the modules that the experiment uses."""
    members = {str(member.place): member for member in collect(colocation).members}
    source, beside, target = members["5A2D_T-W"], members["5A2D_C-S"], members["5CB6_C-S"]
    predict = METHODS["RR"](source.train, Setup(trials=4)).predict
    matrix = transfer.fit_map(beside.train, target.train).matrix

    def mapped(part: Any) -> Any:
        return predict(transfer.apply(matrix, part.inputs), part.auxiliary)

    here = target.train
    gain, offset = adapt.fit_adapter(mapped(here), here.target, here.start_ms, adapt.Adapting())
    expected = r2(target.test.target, gain * mapped(target.test) + offset)
    case = results.query(
        "method == 'RR' and sensor == '5A2D' and dataset == 'T-W' and target_sensor == '5CB6'"
        " and target_dataset == 'C-S' and scenario == 'S5'"
    )
    assert case["kind"].tolist() == ["XX"]
    assert case["r2"].tolist() == pytest.approx([expected], abs=1e-12)


def test_intervals_are_scored_where_they_are_promised(results: pd.DataFrame) -> None:
    """At home and with adapter; not for another sensor without adapter, and for no baseline."""
    ours = results[results["method"] == "RESPIRE"].set_index("scenario")
    adapted = ours.loc[["S2", "S3a", "S5"]]
    assert adapted["promised"].notna().all()
    assert (adapted["coverage"].notna() == (adapted["promised"] > 0.0)).all()
    assert ours.loc[["S3", "S4"], "promised"].isna().all()
    assert (ours["interval_score"].dropna() > 0.0).all()
    assert results.loc[results["method"] == "RR", "coverage"].isna().all()


def test_the_adapter_undoes_a_shift_of_the_reference(results: pd.DataFrame) -> None:
    """Each dataset's reference has its own zero here, so every transfer gains."""
    moved = results[results["kind"].isin(["SX", "XS", "XX"]) & (results["method"] == "RESPIRE")]
    medians = moved.groupby("scenario")["r2"].median()
    assert medians["S2"] > medians["S1"] + 0.3
    assert medians["S5"] > medians["S4"] + 0.3


def test_a_transfer_map_makes_another_sensor_the_source(results: pd.DataFrame) -> None:
    """The second sensor is a linear image of the first, so with transfer it is the first."""
    same = results[(results["kind"] == "SS") & (results["method"] == "RR")]
    own = same[same["scenario"] == "S1"].set_index(["sensor", "dataset"])["r2"]
    behind = same[same["scenario"] == "S4"].set_index(["sensor", "dataset"])["r2"]
    np.testing.assert_allclose(behind.sort_index(), own.sort_index(), atol=1e-6)


@pytest.mark.parametrize(
    ("site", "season", "expected"), [("T", "W", "SS"), ("T", "S", "SX"), ("C", "W", "XS"), ("C", "S", "XX")]
)
def test_kinds_are_site_then_season(site: str, season: str, expected: str) -> None:
    assert kind(Place("5A2D", "T", "W"), Place("5CB6", site, season)) == expected


def test_leaving_out_the_worst_windows_undoes_what_outliers_cost() -> None:
    """With none left out it is R²."""
    rng = np.random.default_rng(0)
    reference = rng.normal(size=200)
    estimate = reference + rng.normal(0, 0.1, 200)
    estimate[:4] += 8.0
    assert trimmed_r2(reference, estimate, 0.0) == pytest.approx(r2(reference, estimate))
    assert r2(reference, estimate) < 0.0
    assert trimmed_r2(reference, estimate, 0.05) > 0.95


def test_results_do_not_depend_on_the_number_of_processes(
    alone: Path, results_alone: pd.DataFrame, tmp_path: Path
) -> None:
    table = run(alone, tmp_path / "out", METHODS_USED, SETTINGS, jobs=1).table
    pd.testing.assert_frame_equal(table, results_alone)


def test_more_methods_may_be_added_to_a_run(alone: Path, tmp_path: Path) -> None:
    run(alone, tmp_path / "out", ["RR"], SETTINGS)
    more = run(alone, tmp_path / "out", ["RR", "KNN"], SETTINGS)
    assert (more.fitted, more.reused) == (4, 4)
    assert set(more.table["method"]) == {"RR", "KNN"}


def test_a_run_of_some_methods_keeps_the_results_of_the_others(
    colocation: Path, finished: Path, results: pd.DataFrame, tmp_path: Path
) -> None:
    """Only complete methods: one without some fits would remove these cases from every board."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    more = run(colocation, tmp_path, ["DT"], SETTINGS)
    assert (more.methods, more.fitted, more.reused) == (("DT", "RR", "RESPIRE"), 8, 16)
    others = more.table[more.table["method"] != "DT"].reset_index(drop=True)
    pd.testing.assert_frame_equal(others, results)
    (tmp_path / "fits" / "DT" / "5A2D_T-W.json").unlink()
    assert run(colocation, tmp_path, METHODS_USED, SETTINGS).methods == METHODS_USED


def test_a_killed_run_goes_on_and_repeats_nothing(
    alone: Path, results_alone: pd.DataFrame, tmp_path: Path
) -> None:
    """SIGKILL after some fits: stored fits are neither lost nor repeated, and no worker survives."""
    out = tmp_path / "out"
    line = ["experiment", str(alone), "--out", str(out), "--methods", ",".join(METHODS_USED)]
    program = [sys.executable, "-m", "model_export", *line, "--trials", "4", "--jobs", "1"]
    victim = start(program, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait(lambda: fits(out))
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    wait(lambda: not alive(victim.pid))
    kept = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in fits(out)}
    assert kept
    resumed = run(alone, out, METHODS_USED, SETTINGS)
    assert (resumed.fitted, resumed.reused) == (8 - len(kept), len(kept))
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in kept} == kept
    pd.testing.assert_frame_equal(resumed.table, results_alone)
