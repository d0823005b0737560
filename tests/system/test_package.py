"""The Debian packages agree with the project; make package-test installs them."""

import re
import tomllib
from pathlib import Path

from tests.support.processes import run_program

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "deploy" / "package"


def test_the_native_package_depends_on_what_the_wheel_needs() -> None:
    """The same libraries in the same versions; Debian's numpy has an epoch."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    control = (PACKAGE / "debian" / "control.trixie").read_text()
    depends = re.findall(r"python3-([\w-]+) \(>= (?:1:)?([\d.]+)\)", control)
    assert sorted(f"{name}>={version}" for name, version in depends) == sorted(project["dependencies"])


def test_the_settings_of_the_package_have_no_values(tmp_path: Path) -> None:
    """They are those of deploy/, each as a comment, so that an upgrade replaces them without a question."""
    script = (PACKAGE / "build.sh").read_text()
    (command,) = re.findall(r"^settings\(\) \{ (.*); \}$", script, re.MULTILINE)
    done = run_program(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert tomllib.loads(done.stdout) == {}
    without_marks = re.sub(r"^# (?=\[|\w+ = )", "", done.stdout, flags=re.MULTILINE)
    example = re.sub(
        r"^# (?=\[|\w+ = )", "", (ROOT / "deploy/edge-agent.toml").read_text(), flags=re.MULTILINE
    )
    assert without_marks == example


def test_a_release_without_a_key_is_refused() -> None:
    done = run_program(
        [PACKAGE / "release.sh", "x"], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}
    )
    assert (done.returncode, done.stderr.partition(";")[0]) == (
        1,
        "release: expected MINISIGN_KEY, the file of the secret key",
    )
