"""Mistakes of a user: one line for each, and the exit code."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from edge_agent.core.errors import BadRecording
from model_export.calibration import export
from model_export.cli.main import main
from tests.support.models import drawn, linear


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "evaluate none.bundle january.csv",
            "none.bundle: expected a bundle, got no such file; check the path",
        ),
        ("evaluate 5A2D.bundle none.csv", "none.csv: expected a recording, got no such file; check the path"),
        (
            "evaluate 5A2D.bundle 5CB6.csv",
            "5CB6.csv: expected a column reference, got timestamp, op1, op2, temperature; "
            "name it with --columns reference=…",
        ),
        (
            "evaluate january.csv january.csv",
            "january.csv: not a bundle, or an incomplete one; copy or export it again",
        ),
        (
            "fit january.csv --sensor a/b --out x.bundle",
            "--sensor: expected 1-64 printable characters without / + #, got 'a/b'",
        ),
        (
            "fit january.csv --sensor 5A2D --out x.bundle --unit ''",
            "--unit: expected a word such as ppm, got ''",
        ),
        (
            "fit january.csv --sensor 5A2D --out x.bundle --gas ' '",
            "--gas: expected a word such as CO, got ' '",
        ),
        (
            "fit january.csv --sensor 5A2D --out january.csv/x.bundle",
            "january.csv/x.bundle: cannot be written: january.csv is not a folder; choose another place",
        ),
        (
            "fit january.csv --sensor 5A2D --out x.bundle --report january.csv/x.html",
            "january.csv/x.html: cannot be written: january.csv is not a folder; choose another place",
        ),
        *(
            (line, ".: expected a file name such as 5A2D.bundle, got a directory; name a file")
            for line in (
                "fit none.csv --sensor 5A2D --out .",
                "fit none.csv --sensor 5A2D --out ''",
                "adapt 5A2D.bundle none.csv --out .",
                "transfer 5A2D.bundle --source none.csv --target none.csv --sensor 5CB6 --out .",
            )
        ),
        (
            "fit january.csv --sensor 5A2D --out x.bundle --report /dev/full",
            "/dev/full: expected a file name such as 5A2D.html, got a device; name a file",
        ),
        (
            "fit january.csv --sensor 5A2D --out x.bundle --timezone Mars/Olympus",
            "--timezone: expected a name such as Asia/Kolkata, got 'Mars/Olympus'",
        ),
        (
            "transfer 5A2D.bundle --source january.csv --target march.csv --sensor 5CB6 --out x.bundle",
            "march.csv: expected at least 50 windows in common with january.csv, got 0; "
            "january.csv is from 2024-02-01T00:00:00Z to 2024-02-03T01:45:00Z, "
            "march.csv is from 2024-02-06T05:00:00Z to 2024-02-08T06:45:00Z",
        ),
        (
            "convert january.csv --sensor 5A2D --out january.csv",
            "january.csv: the recording would overwrite the input january.csv; choose another name",
        ),
        (
            "convert january.csv --sensor 5A2D --out .",
            ".: expected a file name such as recording.csv, got a directory; name a file",
        ),
        (
            "fleet status --broker 127.0.0.1:1883 --out none",
            "none/results.parquet: expected the results of model-export fleet, got none; "
            "run model-export fleet MANIFEST --out none first",
        ),
        (
            "fleet status --broker 127.0.0.1:1883 --out none --password-file none",
            "none: expected a file with the password, got no such file or directory",
        ),
        (
            "compress adapted.bundle january.csv",
            "adapted.bundle: expected a bundle made by fit, got one with transfer or adapter",
        ),
        (
            "compress 5A2D.bundle january.csv",
            "january.csv: expected the recording that the bundle was fitted to (january.csv and 1 more: "
            "320 windows from 2024-02-01T00:00:00Z to 2024-02-04T08:00:00Z), "
            "got 160 windows from 2024-02-01T00:00:00Z to 2024-02-02T16:00:00Z; "
            "use the same files, --reference and --test-share as for fit",
        ),
        (
            "compress 5A2D.bundle elsewhere.csv",
            "elsewhere.csv: expected the recording that the bundle was fitted to (january.csv and 1 more: "
            "320 windows from 2024-02-01T00:00:00Z to 2024-02-04T08:00:00Z), "
            "got other values of op1 in them; use the same files, --reference and --test-share as for fit",
        ),
        (
            "compress bare.bundle january.csv",
            "bundle of 5A2D: expected the hyperparameters it was fitted with; fit it again",
        ),
    ],
)
def test_a_failure_is_one_line(
    inside: Path, capsys: pytest.CaptureFixture[str], line: str, expected: str
) -> None:
    """Exit 1, nothing on stdout, no traceback."""
    export.write(replace(linear(), adapter=(2.0, 0.0)), Path("adapted.bundle"), drawn(50))
    export.write(linear(), Path("bare.bundle"), drawn(50))
    assert main(shlex.split(line)) == 1
    said = capsys.readouterr()
    assert ("", f"model-export: {expected}\n") == (said.out, said.err)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "fit",
        "fit january.csv --sensor 5A2D",
        "fit january.csv --sensor 5A2D --out x --size none",
        "fit january.csv --sensor 5A2D --out x --size 0",
        "fit january.csv --sensor 5A2D --out x --kernel polynomial",
        "fit january.csv --sensor 5A2D --out x --columns op1",
        "fit january.csv --sensor 5A2D --out x --columns op1=a,op1=b",
        "fit january.csv --sensor 5A2D --out x --columns op1=a,op2=a",
        "adapt 5A2D.bundle --out x",
        "fit january.csv --sensor 5A2D --out x --valid-for 26w",
        "fit january.csv --sensor 5A2D --out x --valid-for 0d",
        "compress 5A2D.bundle january.csv --sizes 1,two",
        "calibrate january.csv",
    ],
)
def test_a_wrong_command_line_is_usage(inside: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    """Exit 2, with a hint on stderr."""
    assert main(shlex.split(line)) == 2
    said = capsys.readouterr()
    assert (said.out, said.err[:5]) == ("", "Usage") or "Usage" in said.out


def test_debug_shows_the_traceback(inside: Path) -> None:
    """--debug may be anywhere on the line."""
    with pytest.raises(BadRecording):
        main(["evaluate", "5A2D.bundle", "none.csv", "--debug"])
