"""`simulate` as a user runs it: files or a van, JSON on stdout, a clean end on a signal."""

import json
import signal
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner, Result

from edge_agent.core.errors import BadSettings
from model_export.cli.main import main
from model_export.cli.simulate import command
from tests.support.broker import AT_MOST_S, Broker, client, wait_until
from tests.support.processes import start

app = typer.Typer()
app.command()(command)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_a_directory_gets_the_recordings_and_stdout_their_names(tmp_path: Path) -> None:
    """Words and progress go to stderr, so stdout is JSON and nothing else."""
    result = run(
        str(tmp_path), "--sensors", "5A2D,D3EB", "--datasets", "B-W", "--swapped", "none", "--seed", "7"
    )
    assert result.exit_code == 0
    written = ["5A2D_B-W.csv", "D3EB_B-W.csv", "truth/B-W.csv", "truth/network.json"]
    assert json.loads(result.stdout) == {
        "seed": 7,
        "swapped": [],
        "files": [str(tmp_path / name) for name in written],
    }
    assert all((tmp_path / name).stat().st_size for name in written)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "expected either a directory or --live"),
        (["somewhere", "--live"], "expected either a directory or --live"),
        (["--live", "--broker", "1883"], "expected HOST:PORT, got '1883'"),
        (["--live", "--broker", "127.0.0.1:0"], "expected HOST:PORT, got '127.0.0.1:0'"),
        (["--live", "--speed-up", "inf"], "Input should be less than or equal to 1000000"),
        (["--live", "--outliers", "0.1"], "Invalid value for --outliers: expected only without --live"),
        (["somewhere", "--fault", "5A2D=swap@1d"], "Invalid value for --fault: expected only with --live"),
        (["somewhere", "--speed-up", "9"], "Invalid value for --speed-up: expected only with --live"),
        (["somewhere", "--sensors", "none"], "Invalid value for --sensors: expected at least one"),
        (["somewhere", "--outliers", "0.9"], "Input should be less than or equal to 0.5"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(arguments: list[str], complaint: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert complaint in " ".join(result.stderr.replace("│", " ").split())


def examples() -> list[str]:
    """The example lines of --help."""
    lines = (command.__doc__ or "").splitlines()
    return [line.split("model-export simulate ")[1] for line in lines if "model-export simulate " in line]


@pytest.mark.parametrize("line", examples())
def test_the_examples_run(line: str, broker: Broker, tmp_path: Path) -> None:
    """As they stand, but for the port of the broker; files are there, and every reading is acknowledged."""
    words = line.replace("127.0.0.1:1883", f"{broker.host}:{broker.port}").split()
    with chdir(tmp_path):
        told = json.loads(run(*words).stdout)
        if "--live" not in line:
            assert all((tmp_path / name).stat().st_size for name in told["files"])
            return
        if told["sent"] < 75 * 6:  # a busy machine has held it up until its time was over
            told = json.loads(run(*words).stdout)
    assert told["acknowledged"] == told["sent"] == 75 * 6


def test_an_unknown_sensor_is_a_deliberate_failure(tmp_path: Path) -> None:
    """The command line's main turns it into one line."""
    result = run(str(tmp_path), "--sensors", "5A2D,FFFF")
    assert isinstance(result.exception, BadSettings)
    assert not [*tmp_path.iterdir()]


def test_a_full_disk_is_one_line(tiny_disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The files that fitted are whole, and nothing of the others is left."""
    (tiny_disk / "filler").write_bytes(b"0" * 2_000_000)
    assert main(["simulate", str(tiny_disk), "--datasets", "B-W"]) == 1
    written = sorted(tiny_disk.rglob("*.csv"))
    assert written
    assert {len(pd.read_csv(path).columns) for path in written} == {5}
    assert [*tiny_disk.rglob("*.part")] == []
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"model-export: {tiny_disk}/")
    assert line.endswith(".csv: could not be written: No space left on device")


def test_a_disk_that_fills_up_under_a_van_is_one_line(
    tiny_disk: Path, broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    (tiny_disk / "truth.csv").touch()
    with pytest.raises(OSError, match="No space left"):
        (tiny_disk / "filler").write_bytes(b"0" * 5_000_000)
    van = ["simulate", "--live", "--broker", f"{broker.host}:{broker.port}", "--seconds", "1"]
    assert main([*van, "--truth", str(tiny_disk / "truth.csv")]) == 1
    expected = "expected a file to write, got No space left on device; name another"
    assert capsys.readouterr().err == f"model-export: {tiny_disk}/truth.csv: {expected}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_van_cleanly(broker: Broker, number: signal.Signals) -> None:
    """Exit 0, everything sent is acknowledged, nothing on stderr."""
    address = f"{broker.host}:{broker.port}"
    arrived: list[object] = []
    program = [sys.executable, "-m", "model_export", "simulate", "--live", "--broker", address]
    with client(broker) as subscriber:
        subscriber.on_message = lambda *_: arrived.append(None)
        subscriber.subscribe("sensors/#")
        van = start([*program, "--speed-up", "600"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: len(arrived) > 30 or van.poll() is not None)
        van.send_signal(number)
        stdout, stderr = van.communicate(timeout=AT_MOST_S)
    assert (van.returncode, stderr) == (0, b"")
    summary = json.loads(stdout)
    assert summary["acknowledged"] == summary["sent"] > 30


def test_a_city_in_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--sensors", "2", "--days", "1", "--format", "parquet", "--jobs", "1"]
    assert main(["simulate", str(tmp_path), *options]) == 0
    assert json.loads(capsys.readouterr().out)["sensors"] == 2
    assert len([*tmp_path.glob("sensor=*/month=2024-01/readings.parquet")]) == 2
    assert (tmp_path / "manifest.csv").read_text().count("\n") == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--format", "parquet", "--sensors", "5A2D"], "expected a number such as 1000"),
        (["--format", "parquet", "--datasets", "T-W"], "expected only with --format csv"),
        (["--days", "3"], "expected only with --format parquet"),
    ],
)
def test_options_of_the_other_format_are_refused(
    tmp_path: Path, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(tmp_path), *options]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
