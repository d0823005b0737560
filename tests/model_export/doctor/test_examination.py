"""The doctor beside fit, adapt and transfer: a ruined recording is not fitted in silence."""

import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from model_export.calibration.fit import Source
from model_export.cli.main import main
from model_export.doctor import mend
from model_export.doctor.examination import examined
from model_export.recordings.recording import Recording
from model_export.recordings.tables import read
from model_export.simulator.campaign import SENSORS
from tests.support.colocations import colocation
from tests.support.commands import run
from tests.support.faults import late, swapped
from tests.support.needs import RECORDINGS, real_recordings, require
from tests.support.simulated import network

OWNER = "--sensor 5A2D"


def saved(recording: Recording, path: Path) -> Path:
    mend.table(recording).to_csv(path, index=False)
    return path


def coded(path: Path, code: float = -9999.0) -> Path:
    """The same file with 2 % of op1 replaced by a code."""
    rows = pd.read_csv(path)
    hit = np.random.default_rng(0).random(len(rows)) < 0.02
    rows.loc[hit, "op1"] = code
    other = path.with_name(f"coded-{path.name}")
    rows.to_csv(other, index=False)
    return other


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound recording, one with a wrong clock and swapped electrodes, one with codes, and a bundle."""
    folder = tmp_path_factory.mktemp("recordings")
    sound = saved(colocation(), folder / "sound.csv")
    saved(swapped(late(colocation(), 60)), folder / "spoilt.csv")
    coded(sound)
    assert main(shlex.split(f"fit {sound} {OWNER} --out {folder}/5A2D.bundle")) == 0
    return folder


def codes(printed: dict[str, Any], severity: str = "error") -> set[str]:
    return {finding["code"] for finding in printed["findings"] if finding["severity"] == severity}


def test_a_sound_recording_is_fitted_without_a_word(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed, words = run(f"fit sound.csv {OWNER} --out new.bundle", capsys)
    assert (printed["verdict"], words) == ("No fault found.", "")


def test_a_ruined_recording_is_not_fitted_in_silence(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both faults are in the words, in the data and at the top of the report."""
    printed, words = run(f"fit spoilt.csv {OWNER} --out new.bundle --report new.html", capsys)
    assert codes(printed) == {"reference_clock_offset", "channels_swapped"}
    assert printed["verdict"] == (
        "Do not use this bundle: the reference's clock is 60 minutes behind; op1 and op2 are swapped."
    )
    assert "--shift-reference 60min" in words
    assert "--swap op1,op2" in words
    page = re.sub(r"data:image/png;base64,[^\"]*", "", Path("new.html").read_text())
    assert page.index("Do not use this bundle") < page.index("--swap op1,op2") < page.index("<img")


def test_codes_for_no_value_are_named(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed, words = run(f"fit coded-sound.csv {OWNER} --out new.bundle", capsys)
    assert codes(printed) == {"sentinel_values"}
    assert "values of -9999 that are no measurements" in words


def test_the_advice_can_be_followed_with_options(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bundle of the spoilt recording is then nearly that of the sound one."""
    sound, _ = run(f"fit sound.csv {OWNER} --out sound.bundle", capsys)
    mended, words = run(
        f"fit spoilt.csv {OWNER} --out new.bundle --swap op1,op2 --shift-reference 60min", capsys
    )
    assert (mended["verdict"], mended["r2_test"]) == ("No fault found.", pytest.approx(sound["r2_test"]))
    assert words.splitlines() == [
        "spoilt.csv: op1 and op2 were swapped",
        "spoilt.csv: the reference's stamps were moved by +60 minutes",
    ]
    dropped, _ = run(f"fit coded-sound.csv {OWNER} --out new.bundle --drop-below op1=0", capsys)
    assert dropped["verdict"] == "No fault found."


def test_diagnose_writes_the_mended_recording(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed, _ = run("diagnose spoilt.csv --mend mended.csv", capsys)
    assert printed["mended"]["options"] == ["--swap op1,op2", "--shift-reference 60min"]
    assert [one for one in printed["mended"]["findings"] if one["severity"] == "error"] == []
    fitted, words = run(f"fit mended.csv {OWNER} --out new.bundle", capsys)
    assert (fitted["verdict"], words) == ("No fault found.", "")
    nothing, words = run("diagnose sound.csv --mend other.csv", capsys)
    assert nothing["mended"] is None
    assert "nothing to correct; other.csv was not written" in words
    assert not Path("other.csv").exists()


@pytest.mark.parametrize(
    "line",
    [
        f"fit spoilt.csv {OWNER} --out strict.bundle",
        "adapt 5A2D.bundle coded-sound.csv --out strict.bundle",
        "transfer 5A2D.bundle --source sound.csv --target coded-sound.csv --sensor 5CB6 --out strict.bundle",
    ],
)
def test_strict_writes_nothing_and_exits_1(
    inside: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    assert main(shlex.split(f"{line} --strict")) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "--strict: expected a recording without grave faults, got: " in said.err
    assert not Path("strict.bundle").exists()


def test_adapt_and_transfer_say_it_too(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adapted, _ = run("adapt 5A2D.bundle spoilt.csv --out new.bundle", capsys)
    assert codes(adapted) == {"reference_clock_offset", "channels_swapped"}
    line = "transfer 5A2D.bundle --source sound.csv --sensor 5CB6 --out new.bundle --target"
    moved, _ = run(f"{line} coded-sound.csv", capsys)
    assert codes(moved) == {"sentinel_values"}
    moved, words = run(f"{line} sound.csv", capsys)
    assert moved["verdict"] == "No fault found."
    assert words.startswith("the bundle has no interval: ")
    assert words.count("\n") == 1


def on_a_terminal(line: str) -> str:
    """What a command prints to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "model_export", *shlex.split(line)], stdout=theirs, stderr=subprocess.DEVNULL
    ) as process:
        assert process.wait(timeout=120) == 0
    os.close(theirs)
    with os.fdopen(ours, "rb") as screen:
        return os.read(screen.fileno(), 65536).decode().replace("\r\n", "\n")


def test_on_a_terminal_words_come_first(inside: Path) -> None:
    """One sentence; --json gives the data there, too."""
    fitted = on_a_terminal(f"fit sound.csv {OWNER} --out new.bundle --report new.html")
    assert re.fullmatch(
        r"R² [01]\.\d\d on the last 20%, 90% interval covers \d+%, \d+ support vectors?, \d+ bytes in "
        r"new\.bundle; report in new\.html\. No fault found\.\n",
        fitted,
    )
    assert on_a_terminal("evaluate 5A2D.bundle sound.csv").startswith("R² 1.00 over ")
    assert on_a_terminal("diagnose spoilt.csv") == "Not fit for a calibration: 2 grave findings.\n"
    assert json.loads(on_a_terminal("evaluate 5A2D.bundle sound.csv --json"))["sensor"] == "5A2D"


def grave(path: Path) -> set[str]:
    return {one.code for one in examined(read([path], "X"), Source()) if one.severity == "error"}


def test_simulated_recordings_have_nothing_grave(tmp_path: Path) -> None:
    """Two sensors of the network."""
    for (sensor, dataset), recording in network(seed=2, sensors=SENSORS[::3], datasets=["T-W"]).items():
        assert grave(saved(recording, tmp_path / f"{sensor}_{dataset}.csv")) == set()


@pytest.mark.parametrize("path", real_recordings())
def test_only_real_recordings_with_real_faults_are_called_grave(path: Path) -> None:
    """As delivered, the two of MetaSense have a wrong clock and swapped electrodes."""
    faults = {"reference_clock_offset", "channels_swapped"} if "as-delivered" in path.name else set()
    assert grave(path) == faults


@pytest.mark.parametrize("name", ["satvam-dd1-oct-no2", "metasense-elcajon-12-as-delivered"])
def test_a_real_fit_that_fails_its_test_part_says_so(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require("real recordings")
    path = RECORDINGS / f"{name}.csv.gz"
    line = f"fit {path} --sensor X --unit ppb --gas NO2 --out {tmp_path}/x.bundle"
    printed, _ = run(line, capsys)
    assert {"low_r2", "low_coverage"} <= codes(printed, "warning")
