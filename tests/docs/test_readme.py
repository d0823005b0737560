"""Every command in README runs, and every file it names exists."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.support.processes import run_program

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
]
MAKE = [command for command in COMMANDS if command.startswith("make ")]
INSTALL = [command for command in COMMANDS if "pip install" in command]
RUN = [command for command in COMMANDS if command not in MAKE + INSTALL]


def test_make_targets_of_readme_exist() -> None:
    """CI and the demo's own test run them; this test only checks that make knows them."""
    for command in MAKE:
        run_program([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)
    assert {"make demo", "make test", "make check", "make bench"} == set(MAKE)


def test_installs_of_readme_can_be_resolved() -> None:
    """test_install tests what they install; this test checks that the extras exist."""
    metadata = (ROOT / "pyproject.toml").read_text()
    extras = {extra for command in INSTALL for extra in re.findall(r"\[(\w+)\]", command)}
    assert len(INSTALL) == 2
    assert all(f"\n{extra} = [" in metadata for extra in extras)


def test_the_trainers_install_follows_the_repository() -> None:
    """It shares .venv with make demo: a copy would replace the editable install and become outdated."""
    assert [" -e " in command for command in INSTALL if "[export]" in command] == [True]


def test_the_way_from_recording_to_estimates_runs_as_written(tmp_path: Path) -> None:
    """Every other command, in order, in an empty folder."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for name in ("deploy", "constraints.txt"):
        (tmp_path / name).symlink_to(ROOT / name)
    for command in RUN:
        done = run_program(
            ["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        expected = 78 if "deploy/edge-agent.toml" in command else 0
        assert done.returncode == expected, f"{command}\n{done.stderr}"
    assert (tmp_path / "bundles/5A2D.bundle").stat().st_size < 2_000
    assert (tmp_path / "estimates.jsonl").read_text().count("\n") > 500
    assert (tmp_path / "5A2D.html").stat().st_size > 10_000


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#:]+)\)", README))
def test_a_file_that_readme_names_is_there(target: str) -> None:
    assert (ROOT / target).exists()
