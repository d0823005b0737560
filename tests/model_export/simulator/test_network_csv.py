"""A network on disk equals that in memory, and the truth is in another folder."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edge_agent.core.errors import RespireError
from model_export.recordings.catalogue import load
from model_export.simulator.network import Network, simulate
from model_export.simulator.network_csv import write_network


@pytest.fixture(scope="module")
def network() -> Network:
    return simulate(1, sensors=["5A2D", "D3EB"], datasets=["B-W", "C-S"])


@pytest.fixture(scope="module")
def directory(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("colocation") / "new" / "folder"
    assert [*write_network(network, path)] == sorted(
        path.rglob("*.*"), key=_written_order(network, path).index
    )
    return path


def _written_order(network: Network, path: Path) -> list[Path]:
    recordings = [path / f"{recording.name}.csv" for recording in network.recordings]
    truths = [path / "truth" / f"{dataset}.csv" for dataset in network.colocations]
    return [*recordings, *truths, path / "truth" / "network.json"]


def test_every_recording_reads_back_as_it_was(network: Network, directory: Path) -> None:
    """To the digits of the file; rows without values are left out."""
    for recording in network.recordings:
        table = pd.read_csv(directory / f"{recording.name}.csv")
        assert [*table.columns] == ["timestamp", "op1", "op2", "temperature", "reference"]
        said = ~np.all([np.isnan(getattr(recording, name)) for name in table.columns[1:]], axis=0)
        stamps = pd.to_datetime(table["timestamp"], format="%Y-%m-%dT%H:%M:%SZ")
        assert stamps.astype("datetime64[ms]").astype("int64").tolist() == recording.at_ms[said].tolist()
        for name, digit in (("op1", 1e-3), ("op2", 1e-3), ("temperature", 1e-2), ("reference", 1e-3)):
            expected = getattr(recording, name)[said]
            assert table[name].to_numpy() == pytest.approx(expected, abs=0.51 * digit, nan_ok=True)


def test_the_trainers_reader_finds_the_windows_of_table_1(network: Network, directory: Path) -> None:
    """As many as the paper has, each with the reference of its start."""
    for recording in network.recordings:
        place = network.colocations[recording.dataset]
        dataset = load([directory / f"{recording.name}.csv"], recording.sensor, "ppm")
        assert len(dataset) == place.deployment.windows[recording.sensor]
        windows = (dataset.start_ms - recording.at_ms[0]) // 900_000
        assert dataset.target == pytest.approx(place.reference[windows], abs=1e-3)


def test_the_truth_lies_where_no_trainer_looks(network: Network, directory: Path) -> None:
    """Beside the recordings are only recordings; the air and the constants are one folder down."""
    assert {path.stem for path in directory.glob("*.csv")} == {r.name for r in network.recordings}
    for dataset, place in network.colocations.items():
        truth = pd.read_csv(directory / "truth" / f"{dataset}.csv")
        assert [*truth.columns] == ["timestamp", "co", "nox", "temperature"]
        assert truth["co"].to_numpy() == pytest.approx(place.air.co, abs=1e-4)
    constants = json.loads((directory / "truth" / "network.json").read_text())
    assert constants["seed"] == 1
    assert constants["packages"]["5A2D"]["co"]["cell"]["t90_s"] == network.packages["5A2D"].co.cell.t90_s
    assert constants["analysers"]["C-S"]["zero"] == network.colocations["C-S"].analyser.zero
    assert len(constants["outliers"]["C-S"]) == network.colocations["C-S"].outliers.sum()


def test_a_place_that_cannot_be_written_is_named(network: Network, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(RespireError) as caught:
        next(write_network(network, tmp_path / "taken"))
    assert str(caught.value).startswith(f"{tmp_path / 'taken'}: expected a directory to write, got ")
