"""`make field`: python -m tests.field PACKAGE, as root; parts of it with --only and --promises."""

import argparse
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.field import life
from tests.field.cuts import Cuts
from tests.field.package import bring, newer
from tests.field.report import say

HERE = Path(__file__).parent
BUNDLE = HERE.parents[1] / "tests/edge_agent/core/golden/format-2.bundle"
CONTROL_CUTS = 3


def main() -> int:
    """Run the chosen parts; 1 if a promise was not kept."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # end the machine and the broker, too
    image = options.out / "image"
    subprocess.run([HERE / "image.sh", image], check=True)
    parts = [options.only] if options.only else ["life", "cuts", "control"]
    began = time.monotonic()
    good = [_part(part, options, image) for part in parts]
    say(f"{'all promises kept' if all(good) else 'FAILED'}, {time.monotonic() - began:.0f} s")
    return 0 if all(good) else 1


def _part(part: str, options: argparse.Namespace, image: Path) -> bool:
    work: Path = options.out / part
    disk = work / "disk.img"
    if part == "life" and options.promises:
        return life.run(image, disk, work, BUNDLE, options.promises)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    if part == "life":
        _copy(image / "disk.img", disk)
        bring(disk, options.package, "/srv/edge-agent.deb")
        bring(disk, newer(options.package, work), "/srv/newer.deb")
        return life.run(image, disk, work, BUNDLE)
    _copy(_prepared(options, image), disk)
    durability, count = ("power-loss", options.cuts) if part == "cuts" else ("process-crash", CONTROL_CUTS)
    cuts = Cuts(image, disk, work, durability, options.seed)
    done, verdict = cuts.run(count, options.minutes)
    say(f"{durability}, {done} of {count} cuts: {verdict}")
    return verdict.sound and done >= count if part == "cuts" else verdict.lost > 0


def _prepared(options: argparse.Namespace, image: Path) -> Path:
    """A disk with the package on it; another package makes another disk."""
    disk: Path = options.out / f"{options.package.stem}.img"
    if not disk.exists():
        making = disk.with_suffix(".making")
        _copy(image / "disk.img", making)
        with (options.out / "prepare.log").open("w") as log:
            subprocess.run(
                [HERE / "prepare.sh", making, options.package, BUNDLE], check=True, stdout=log, stderr=log
            )
        making.rename(disk)
    return disk


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "--sparse=always", source, target], check=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.field")
    parser.add_argument("package", type=Path, help="the package for Debian 12, amd64")
    parser.add_argument("--cuts", type=int, default=30)
    parser.add_argument(
        "--minutes",
        type=float,
        default=120.0,
        help="no further cut after so many; fewer cuts than asked for fail",
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", choices=("life", "cuts", "control"))
    help_ = "with --only life: only these, on the disk of the last run"
    parser.add_argument("--promises", nargs="+", choices=life.NAMES, default=[], help=help_)
    parser.add_argument("--out", type=Path, default=Path("build/field"))
    options = parser.parse_args()
    options.out = options.out.resolve()
    return options


if __name__ == "__main__":
    sys.exit(main())
