"""The whole examination, from files to words."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from model_export.cli.main import diagnose as diagnose_command
from model_export.cli.main import main
from model_export.doctor.diagnose import diagnose
from model_export.recordings.names import identity
from model_export.recordings.recording import REFERENCE, Recording
from tests.support.colocations import FIRST_MS, colocation
from tests.support.faults import late, swapped


def saved(recording: Recording, path: Path) -> Path:
    columns = {name: pd.Series(one.values, one.at_ms) for name, one in recording.series.items()}
    table = pd.DataFrame(columns).rename_axis("timestamp").reset_index()
    table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("5A2D_T-W.csv", ("5A2D", "T-W")),
        ("5A2D_T-W.csv.gz", ("5A2D", "T-W")),
        ("5A2D_Site1-Summer.parquet", ("5A2D", "Site1-Summer")),
        ("metasense-elcajon-11.csv.gz", ("metasense-elcajon-11",) * 2),
        ("my_van_T-W.csv", ("my_van", "T-W")),
        ("5A2D_Köln-Winter.csv", ("5A2D", "Köln-Winter")),
        ("5A2D_site.1-W.csv.xz", ("5A2D", "site.1-W")),
        ("my_van.csv", ("my_van",) * 2),
        ("january.csv", ("january",) * 2),
    ],
)
def test_a_name_gives_sensor_and_deployment_or_is_both(name: str, expected: tuple[str, str]) -> None:
    assert identity(Path("somewhere") / name) == expected


def test_faults_in_files_are_told_as_json_and_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0, all keys, the gravest first, and advice that an operator can follow."""
    path = saved(swapped(late(colocation(), 60)), tmp_path / "5A2D_T-W.csv")
    assert main(["diagnose", str(path)]) == 0
    told = capsys.readouterr()
    data = json.loads(told.out)
    assert [finding["code"] for finding in data["findings"]] == ["reference_clock_offset", "channels_swapped"]
    for finding in data["findings"]:
        assert {"code", "severity", "sensor", "dataset", "evidence", "advice", "summary"} == finding.keys()
        assert (finding["sensor"], finding["dataset"], finding["severity"]) == ("5A2D", "T-W", "error")
    assert data["findings"][0]["evidence"]["minutes"] == 60
    assert data["examined"][0]["windows"] > 700
    assert "error: channels_swapped\n  5A2D in T-W: op1 and op2 are swapped: op2 changes by" in told.err
    assert told.err.endswith("2 findings in 1 recording of 1 sensor\n")


def test_the_advice_for_swapped_columns_is_a_cure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--columns as advised, and the finding is gone."""
    path = saved(swapped(colocation()), tmp_path / "5A2D_T-W.csv")
    assert main(["diagnose", str(path), "--columns", "op1=op2,op2=op1"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["findings"] == []
    assert told.err == "0 findings in 1 recording of 1 sensor\n"


def test_one_unreadable_file_among_many_is_told_and_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = saved(colocation(), tmp_path / "5A2D_T-W.csv")
    broken = tmp_path / "5CB6_T-W.csv"
    broken.write_text("")
    assert main(["diagnose", str(broken), str(sound)]) == 0
    told = capsys.readouterr()
    data = json.loads(told.out)
    reason = "5CB6_T-W.csv: expected a header and rows, got an empty file"
    assert data["skipped"] == [{"recording": str(broken), "reason": reason}]
    assert [one["sensor"] for one in data["examined"]] == ["5A2D"]
    assert f"not examined: {reason}" in told.err


def test_where_nothing_can_be_read_there_is_no_diagnosis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "5CB6_T-W.csv"
    broken.write_text("")
    assert main(["diagnose", str(broken)]) == 1
    assert capsys.readouterr().err == (
        "model-export: 5CB6_T-W.csv: expected a header and rows, got an empty file\n"
    )


def test_a_recording_of_an_afternoon_is_examined_as_far_as_it_goes(tmp_path: Path) -> None:
    """Too short for every test there is, and that is what is told."""
    found = diagnose([saved(colocation(days=0.2), tmp_path / "a.csv")])
    assert [finding.code for finding in found.findings] == ["colocation_short", "narrow_temperature"]


def test_a_sensor_that_is_named_owns_all_files(tmp_path: Path) -> None:
    """And they are its deployments, compared with each other."""
    first = colocation()
    second = late(colocation(seed=1, air=1, first_ms=first.series[REFERENCE].at_ms[-1] + 60_000), 0)
    values = second.series[REFERENCE].values
    values += 0.3
    paths = [saved(first, tmp_path / "may.csv"), saved(second, tmp_path / "june.csv")]
    found = diagnose(paths, sensor="5A2D")
    assert {case.sensor for case in found.cases} == {"5A2D"}
    (finding,) = found.findings
    assert (finding.code, finding.sensor) == ("reference_zero_shift", "5A2D")
    assert finding.evidence["shifts"]["june"]["shift"] == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("days", [0.2, 4.0])
def test_a_picture_is_drawn_of_long_and_short_recordings(tmp_path: Path, days: float) -> None:
    path = saved(late(colocation(days=days), 60), tmp_path / "a.csv")
    assert main(["diagnose", str(path), "--plot", str(tmp_path / "a.png")]) == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_constant_channels_are_not_fitted(tmp_path: Path) -> None:
    """Nothing to regress on: the other examinations still speak."""
    sound = colocation()
    sound.series["op2"].values[:] = 200.0
    found = diagnose([saved(sound, tmp_path / "a.csv")])
    assert [finding.code for finding in found.findings] == ["stuck_channel"]
    assert np.isfinite(found.findings[0].evidence["minutes"])


def test_the_examples_of_its_help_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As they stand, in a folder with such files."""
    monkeypatch.chdir(tmp_path)
    saved(colocation(days=4.0), Path("january.csv"))
    saved(colocation(days=4.0, seed=1, first_ms=FIRST_MS + 31 * 86_400_000), Path("february.csv"))
    lines = (diagnose_command.__doc__ or "").splitlines()
    examples = [line.split()[1:] for line in lines if line.strip().startswith("model-export")]
    assert len(examples) == 3
    for example in examples:
        assert main(example) == 0
        assert [one["sensor"] for one in json.loads(capsys.readouterr().out)["examined"]]
