"""Recordings and a bundle for the tests of commands."""

from pathlib import Path

import pytest

from model_export.cli.main import main
from tests.support.recordings import FIRST_MS, saved, tidy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of two sensors side by side, and a bundle fitted to the first."""
    folder = tmp_path_factory.mktemp("recordings")
    table = tidy(windows=400)
    saved(table[:3000], folder / "january.csv")
    saved(table[3000:], folder / "february.csv")
    later = tidy(windows=200, seed=7, first_ms=FIRST_MS + 900_000 * 500)
    saved(later.assign(reference=later["reference"] * 1.3 + 0.2), folder / "march.csv")
    saved(table.assign(op1=table["op1"] * 0.9 + 11.0).drop(columns="reference"), folder / "5CB6.csv")
    saved(table.assign(op1=table["op1"] * 0.9 + 11.0), folder / "elsewhere.csv")
    saved(table.rename(columns={"op1": "co_we", "op2": "co_ae"}), folder / "van.parquet")
    (folder / "colocation").mkdir()
    for season in "WS":
        saved(table[:1200], folder / "colocation" / f"5A2D_T-{season}.csv")
    (folder / "manifest.csv").write_text("path,sensor,site,season\njanuary.csv,5A2D,T,W\n")
    data = [str(folder / "january.csv"), str(folder / "february.csv")]
    assert main(["fit", *data, "--sensor", "5A2D", "--out", str(folder / "5A2D.bundle")]) == 0
    return folder
