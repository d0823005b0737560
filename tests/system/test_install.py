"""A gateway's install: only what it needs, and the commands work with just that."""

import sys
from pathlib import Path

from edge_agent.core import bundle
from tests.conftest import make_model
from tests.support.processes import run_program

ROOT = Path(__file__).parents[2]
NOT_ON_A_GATEWAY = ("scipy", "pandas", "sklearn", "optuna", "matplotlib", "typer")


def test_a_plain_install_is_light_and_works(tmp_path: Path) -> None:
    """`pip install .` in an empty venv runs --help, inspect and replay without the trainer's libraries."""
    run_program([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python, agent = tmp_path / "venv/bin/python", tmp_path / "venv/bin/edge-agent"
    install = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "-c",
        ROOT / "constraints.txt",
        ROOT,
    ]
    run_program(install, check=True)

    probe = f"import importlib.util as u; print([n for n in {NOT_ON_A_GATEWAY} if u.find_spec(n)])"
    found = run_program([python, "-c", probe], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert found.stdout.strip() == "[]"

    (tmp_path / "5A2D.bundle").write_bytes(bundle.encode(make_model()))
    (tmp_path / "5A2D.csv").write_text("timestamp,op1,op2,temperature\n2024-02-01T10:15:00Z,231,206,24\n")
    for command in (
        ["--help"],
        ["inspect", "5A2D.bundle"],
        ["replay", "--bundles", ".", "--sensor", "5A2D", "5A2D.csv"],
    ):
        done = run_program([agent, *command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout

    trainer = run_program([tmp_path / "venv/bin/model-export", "--help"], capture_output=True, text=True)
    assert (trainer.returncode, trainer.stderr.count("\n")) == (1, 1), trainer.stderr
