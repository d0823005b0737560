"""Windows of other lengths: from an hourly recording to hourly estimates, with the same bundle."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from edge_agent.cli import main as edge_agent
from model_export.calibration import export
from model_export.cli.main import main
from model_export.recordings.catalogue import load
from model_export.recordings.stamps import parse_window
from tests.support.recordings import saved, tidy


@pytest.fixture(scope="module")
def hourly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two weeks of hourly rows, stamped at the start."""
    folder = tmp_path_factory.mktemp("hourly")
    minutes = tidy(windows=14 * 96)
    hours = pd.to_datetime(minutes.pop("timestamp")).dt.floor("h").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    return saved(minutes.groupby(hours).mean().reset_index(), folder / "5A2D_T-W.csv")


def run(capsys: pytest.CaptureFixture[str], *line: object) -> Any:
    capsys.readouterr()
    assert main([*map(str, line)]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_hourly_recording_is_fitted_evaluated_and_served(
    hourly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "5A2D.bundle"
    options = ("--sensor", "5A2D", "--out", out, "--window", "1h")
    fitted = run(capsys, "fit", hourly, *options)
    assert (fitted["window"], fitted["n_train"], fitted["n_test"]) == (3600, 269, 67)
    assert export.read(out).window_ms == 3_600_000
    assert run(capsys, "evaluate", out, hourly)["n"] == 336
    moved = run(capsys, "adapt", out, hourly, "--out", tmp_path / "moved.bundle")
    assert (moved["n_train"], export.read(tmp_path / "moved.bundle").window_ms) == (269, 3_600_000)
    assert edge_agent(["replay", "--bundles", str(out), "--sensor", "5A2D", str(hourly)]) == 0
    estimates = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(estimates) == 336
    model, dataset = export.read(out), load([hourly], "5A2D", "ppm", window_ms=3_600_000)
    dataset = dataset.warmed(model.warming)
    expected = model.predict(dataset.inputs, dataset.auxiliary)
    assert [one["value"] for one in estimates] == pytest.approx(expected.tolist(), abs=1e-8)


def test_windows_that_are_too_short_name_the_option(
    hourly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "5A2D.bundle")
    assert main(["fit", str(hourly), "--sensor", "5A2D", "--out", out]) == 1
    assert capsys.readouterr().err == (
        "model-export: 5A2D_T-W.csv: op1: expected a value at least every 15 minutes, got one every 60; "
        "use --window 1h\n"
    )


def test_the_doctor_counts_days_by_the_length_of_a_window(
    hourly: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """336 hourly windows are 14 days; counted as quarters of an hour they would be too few."""
    codes = [one["code"] for one in run(capsys, "diagnose", hourly, "--window", "1h")["findings"]]
    assert "colocation_short" not in codes


def test_long_windows_use_no_memory_shorter_than_themselves(tmp_path: Path) -> None:
    path, out = saved(tidy(windows=15 * 96), tmp_path / "5A2D.csv"), tmp_path / "5A2D.bundle"
    line = ["fit", str(path), "--sensor", "5A2D", "--out", str(out), "--window", "4h"]
    assert main(line) == 0
    assert export.read(out).channels == ("op1", "op2", "warming_4h")


@pytest.mark.parametrize("text", ["1min", "25h", "7min", "0min", "-1h", "hour", "60"])
def test_a_window_is_5_minutes_to_a_day_and_divides_it(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_window(text)
