"""Certificates made as docs/operations.md says."""

import re
import shutil
from pathlib import Path

from tests.support.needs import require
from tests.support.processes import run_program

ROOT = Path(__file__).parents[2]


def recipe() -> tuple[str, str]:
    """The commands in the document: to make everything, and to revoke the certificate of van-1."""
    section = (ROOT / "docs" / "operations.md").read_text().split("\n## Certificates\n")[1].split("\n## ")[0]
    make, revoke = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return make, revoke


def make_authority(place: Path, *vans: str) -> Path:
    """A folder with everything the recipe makes, for a broker on this machine, van-1 and more vans."""
    require("openssl")
    (place / "deploy").mkdir(parents=True)
    shutil.copy(ROOT / "deploy" / "certificates.cnf", place / "deploy")
    run_commands(recipe()[0].replace("city.example", "localhost"), place)
    for name in vans:
        certify(name, place / "authority")
    return place / "authority"


def certify(name: str, authority: Path, *options: str) -> None:
    """Make the certificate of another van, by the van's part of the recipe."""
    [van] = [part for part in recipe()[0].split("\n\n") if "-extensions van" in part]
    run_commands(van.replace("van-1", name).replace("-batch", " ".join(("-batch", *options))), authority)


def run_commands(commands: str, place: Path) -> None:
    """Run commands as in a terminal; the first that fails ends it."""
    done = run_program(["sh", "-ec", commands], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
