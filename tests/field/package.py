"""Install the package in the guest as docs/operations.md says."""

import re
import subprocess
from pathlib import Path

from tests.field.machine import Machine


def bring(disk: Path, file: Path, place: str) -> None:
    """Write a file to a disk while its machine is off: ssh is slow in the emulator."""
    folder, _, name = place.rpartition("/")
    commands = f"cd {folder}\nwrite {file.resolve()} {name}\n"
    arguments = ["debugfs", "-w", "-f", "-", str(disk)]
    subprocess.run(arguments, input=commands, text=True, check=True, capture_output=True)


def install(machine: Machine) -> None:
    """The package that bring() has put into /srv; it compiles for minutes in the emulator."""
    machine.run("apt-get install -q -y --no-install-recommends /srv/edge-agent.deb", 900)


def configure(machine: Machine, bundle: Path, settings: str) -> None:
    """One bundle, settings in edge-agent.d; then start."""
    machine.put(bundle, "/etc/edge-agent/bundles/5A2D.bundle")
    machine.put(settings, "/etc/edge-agent/edge-agent.d/van.toml")
    machine.run("systemctl start edge-agent")


def newer(package: Path, work: Path) -> Path:
    """The same package with a higher version, in Debian and in Python."""
    tree = work / "newer"
    subprocess.run(["rm", "-rf", tree], check=True)
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(
        re.sub(r"^Version: .*$", "Version: 99.0-1~deb12", control.read_text(), flags=re.MULTILINE)
    )
    (metadata,) = tree.glob(
        "usr/lib/edge-agent/lib/python3.11/site-packages/respire_edge-*.dist-info/METADATA"
    )
    metadata.write_text(re.sub(r"^Version: .*$", "Version: 99.0", metadata.read_text(), flags=re.MULTILINE))
    file = work / "newer.deb"
    subprocess.run(
        ["dpkg-deb", "-Zgzip", "--root-owner-group", "-b", tree, file], check=True, capture_output=True
    )
    return file
