"""docs/api.md: every example runs, in order, and the reference is that of the docstrings."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from model_export.cli.main import main
from tests.docs.api_reference import MARK, PAGE, reference
from tests.support.needs import RECORDINGS, require
from tests.support.recordings import FIRST_MS, saved, tidy

EXAMPLE = PAGE.parent / "examples" / "uci_seasons.py"
SEASONS = ("spring2004", "summer2004", "autumn2004", "winter2005")


def test_every_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one session, as a reader would type them; each prints what it says."""
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "colocation", "--datasets", "T-W,C-S", "--sensors", "5A2D"]) == 0
    capsys.readouterr()
    session: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE.read_text().partition(MARK)[0], re.DOTALL):
        exec(example, session)  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    assert re.search(r"R² 0\.9\d, the interval covers \d\d%", printed)
    assert re.search(r"after: R² 0\.9\d, coverage \d\d%", printed)
    assert {path.name for path in tmp_path.glob("*.bundle")} == {"5A2D.bundle", "by-hand.bundle"}
    assert pd.read_csv("windows.csv").columns.tolist()[:5] == ["start", "reference", "value", "low", "high"]
    assert (tmp_path / "elsewhere-figures" / "timeline.svg").exists()


def test_the_reference_is_that_of_the_docstrings() -> None:
    """Write it again with python -m tests.docs.api_reference."""
    assert PAGE.read_text().partition(MARK)[2].strip() == reference().strip()


def seasons(folder: Path) -> list[str]:
    done = subprocess.run([sys.executable, EXAMPLE, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_example_of_four_seasons_runs_on_simulated_hours(tmp_path: Path) -> None:
    for place, season in enumerate(SEASONS):
        minutes = tidy(windows=8 * 96, seed=place, first_ms=FIRST_MS + place * 90 * 86_400_000)
        hours = pd.to_datetime(minutes.pop("timestamp")).dt.floor("h").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        table = minutes.groupby(hours).mean().reset_index()
        table["reference"] += 0.1 * place  # a zero that shifts from season to season
        saved(table, tmp_path / f"uci-airquality-co2ch-{season}.csv.gz")
    lines = seasons(tmp_path)
    assert [line.partition(":")[0] for line in lines] == list(SEASONS)
    biases = [float(bias) for bias in re.findall(r"bias ([+-]\S+)", "\n".join(lines))]
    assert biases == pytest.approx([-0.1, -0.2, -0.3], abs=0.05)


@pytest.mark.long
def test_the_example_of_four_seasons_runs_on_the_real_recordings() -> None:
    require("real recordings")
    assert len(seasons(RECORDINGS)) == 4
