"""--help, its examples, --version, and the program itself."""

import re
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from model_export.cli.main import main
from tests.support.commands import COMMANDS, examples
from tests.support.processes import run_program


def test_it_prints_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The same as edge-agent's and as the bundle's exporter."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"model-export {version('respire-edge')}\n"


def test_every_command_has_an_example() -> None:
    """In its --help."""
    assert {*COMMANDS, "simulate", "diagnose", "recalibrate"} == {line.split()[1] for line in examples()}


@pytest.mark.parametrize("group", [[], ["fleet"]])
def test_the_list_of_commands_cuts_no_sentence(group: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal of 80 columns; the commands that most people need come first."""
    assert main([*group, "--help"]) == 0
    _, _, listed = capsys.readouterr().out.partition("Commands:\n")
    assert listed.startswith("  run " if group else "  fit ")
    assert all(line.endswith(".") and not line.endswith("...") for line in listed.splitlines())


@pytest.mark.parametrize(
    "command", ["fit", "evaluate", "adapt", "transfer", "compress", "inspect", "diagnose"]
)
def test_help_has_no_python_types(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """list[Path] means nothing to a user."""
    assert main([command, "--help"]) == 0
    assert not re.findall(r"<list.*?>|<Any>", capsys.readouterr().out)


def test_it_is_a_program() -> None:
    """python -m model_export; its --help does not wait for the trainer's libraries."""
    program = [sys.executable, "-X", "importtime", "-m", "model_export", "--help"]
    done = run_program(program, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    assert "Fit a sensor's calibration" in done.stdout
    assert not re.search(r"\| +(pandas|optuna|sklearn|matplotlib|scipy)$", done.stderr, re.MULTILINE)


def test_without_the_trainers_packages_it_is_one_line() -> None:
    """A gateway has model-export but not typer, pandas and the like."""
    program = (
        "import sys; sys.modules['typer'] = None; from model_export.__main__ import main; sys.exit(main())"
    )
    done = run_program(
        [sys.executable, "-c", program, "--help"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    expected = (
        "model-export: the package typer is not installed; pip install -c constraints.txt -e '.[export]'\n"
    )
    assert (1, "", expected) == (done.returncode, done.stdout, done.stderr)
