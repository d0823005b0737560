"""Real co-location recordings, if they are available; none of them is in this repository."""

import json
from pathlib import Path

import pytest

from model_export.cli.main import main
from tests.support.needs import real_recordings


@pytest.mark.parametrize("path", real_recordings())
def test_every_recording_can_be_fitted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: Path
) -> None:
    """Every gas, one channel or two, faults left in or not; the model is at least 95 % smaller than N."""
    unit = "ppm" if path.name.startswith("airsenseur") else "ppb"
    gas = "NO2" if "no2" in path.name else "O3" if "o3" in path.name else "CO"
    bundle = str(tmp_path / "x.bundle")
    options = ["--sensor", "x", "--unit", unit, "--gas", gas, "--out", bundle]
    assert main(["fit", str(path), *options]) == 0
    said = capsys.readouterr()
    fitted = json.loads(said.out)
    grave = {line.removeprefix("error: ") for line in said.err.splitlines() if line.startswith("error: ")}
    faults = {"channels_swapped", "reference_clock_offset"} if "as-delivered" in path.name else set()
    assert grave == faults
    assert fitted["n_train"] > 400
    assert fitted["support"] <= 0.05 * fitted["n_train"]
    assert fitted["r2_train"] > 0.05
    assert main(["evaluate", bundle, str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == fitted["n_train"] + fitted["n_test"]
