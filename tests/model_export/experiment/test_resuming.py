"""What an interrupted run leaves: fits that count, damaged ones that do not, and no process."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from edge_agent.core.errors import BadSettings, RespireError
from model_export.experiment.evaluation import Settings
from model_export.experiment.ledger import Ledger, Task
from model_export.recordings.catalogue import collect
from model_export.recordings.dataset import SensorType
from model_export.recordings.names import Place
from tests.support.experiments import SETTINGS, alive, fits, run, wait
from tests.support.processes import start
from tests.support.recordings import saved, tidy

ROOT = Path(__file__).parents[3]


def test_other_settings_and_other_data_are_noticed(colocation: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "5A2D_T-W.csv").write_bytes((colocation / "5A2D_T-W.csv").read_bytes())
    run(data, tmp_path / "out", ["RR"], SETTINGS)
    with pytest.raises(BadSettings, match=r"out: expected what it was begun with, trials = 4, got 5; name"):
        run(data, tmp_path / "out", ["RR"], Settings(trials=5))
    (data / "5A2D_T-W.csv").write_bytes((colocation / "5A2D_T-S.csv").read_bytes())
    with pytest.raises(BadSettings, match=r"data 5A2D_T-W = [0-9a-f]{16}, got [0-9a-f]{16}; name"):
        run(data, tmp_path / "out", ["RR"], SETTINGS)


def test_another_type_of_sensor_is_noticed(colocation: Path, tmp_path: Path) -> None:
    """Its fits are others: with a power of the signal, and without warming."""
    (tmp_path / "5A2D_T-W.csv").write_bytes((colocation / "5A2D_T-W.csv").read_bytes())
    members = {kind: collect(tmp_path, sensor_type=kind).members for kind in get_args(SensorType)}
    ledger = Ledger(tmp_path / "out")
    ledger.begin({}, members["electrochemical"])
    ledger.begin({}, members["electrochemical"])
    with pytest.raises(BadSettings, match=r"data 5A2D_T-W = [0-9a-f]{16}, got [0-9a-f]{16}; name"):
        ledger.begin({}, members["metal-oxide"])


@pytest.mark.parametrize("left", [b"", b"{}", b"[1]", b'{"rows": [{"r2"', b'{"rows": []}', b"[" * 100_000])
def test_what_is_no_whole_fit_does_not_count(tmp_path: Path, left: bytes) -> None:
    ledger, task = Ledger(tmp_path), Task("RR", Place("5A2D", "T", "W"))
    assert (ledger.has(task), ledger.damaged(task)) == (False, False)
    ledger.path(task).parent.mkdir(parents=True)
    ledger.path(task).write_bytes(left)
    assert (ledger.has(task), ledger.damaged(task)) == (False, True)


def test_a_damaged_fit_is_named_and_fitted_again(
    colocation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, path = tmp_path / "data", tmp_path / "out" / "fits" / "RR" / "5A2D_T-W.json"
    data.mkdir()
    (data / "5A2D_T-W.csv").write_bytes((colocation / "5A2D_T-W.csv").read_bytes())
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}")
    found = run(data, tmp_path / "out", ["RR"], SETTINGS)
    assert (found.fitted, len(found.table)) == (1, 3)
    expected = f"{path}: expected a whole fit, got a damaged one; it is fitted again\n"
    assert capsys.readouterr().err == expected
    assert run(data, tmp_path / "out", ["RR"], SETTINGS).fitted == 0


def test_no_fit_at_all_is_an_error_that_says_why(colocation: Path, tmp_path: Path) -> None:
    (tmp_path / "5A2D_T-W.csv").write_bytes((colocation / "5A2D_T-W.csv").read_bytes())
    (tmp_path / "out" / "fits" / "RR" / "5A2D_T-W.json").mkdir(parents=True)
    with pytest.raises(RespireError, match=r"out: expected at least one fit, got none; .*Is a directory$"):
        run(tmp_path, tmp_path / "out", ["RR"], SETTINGS)


def test_a_killed_worker_is_told_with_the_fit_that_it_died_on(tmp_path: Path) -> None:
    saved(tidy(windows=200), tmp_path / "5A2D_T-W.csv")
    saved(tidy(windows=100), tmp_path / "5A2D_T-S.csv")
    victim = start(_endless(tmp_path, jobs=1), cwd=ROOT, stderr=subprocess.PIPE, text=True)
    wait(lambda: _workers(victim.pid))
    os.kill(_workers(victim.pid)[0], signal.SIGKILL)
    said = victim.communicate()[1]
    assert victim.returncode == 1
    assert said.startswith(
        "model-export: a process of the experiment was killed, while fitting RESPIRE-paper on 5A2D_T-W; what "
        "was fitted is kept"
    )


def _endless(data: Path, jobs: int) -> list[str]:
    """A run whose fits last for days: none ends during a test."""
    line = ["experiment", str(data), "--out", str(data / "out"), "--methods", "RESPIRE-paper"]
    return [sys.executable, "-m", "model_export", *line, "--trials", "9999999", "--jobs", str(jobs)]


def _workers(parent: int) -> list[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(one) for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


@pytest.mark.parametrize("text", ["[1]", "", "{"])
def test_a_damaged_beginning_is_one_line(colocation: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "experiment.json").write_text(text)
    with pytest.raises(RespireError, match=r"experiment.json: expected settings and data as JSON, got neith"):
        run(colocation, tmp_path, ["RR"], SETTINGS)


def test_the_first_interrupt_finishes_what_runs_and_the_second_ends_it(tmp_path: Path) -> None:
    """Ctrl-C reaches every process of the terminal, workers that are still importing too."""
    for name in ("5A2D_T-W.csv", "5A2D_T-S.csv"):
        saved(tidy(windows=200), tmp_path / name)
    with (tmp_path / "stderr").open("wb") as stderr:
        victim = start(_endless(tmp_path, jobs=2), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=stderr)
    children = Path(f"/proc/{victim.pid}/task/{victim.pid}/children")
    wait(lambda: len(children.read_text().split()) == 3)  # two workers, and what cleans up after them
    wait(lambda: _hears_interrupts(victim.pid))
    os.killpg(victim.pid, signal.SIGINT)
    wait((tmp_path / "stderr").read_text)
    os.killpg(victim.pid, signal.SIGINT)
    assert victim.wait(120.0) == 130
    wait(lambda: not alive(victim.pid))
    said = (tmp_path / "stderr").read_text()
    assert said == "stopping: the fits that are running are finished first; Ctrl-C again stops now\n"
    assert fits(tmp_path / "out") == []


def _hears_interrupts(process: int) -> bool:
    ignored = re.search(r"SigIgn:\s*(\w+)", Path(f"/proc/{process}/status").read_text())
    assert ignored
    return not int(ignored[1], 16) & 1 << signal.SIGINT - 1
