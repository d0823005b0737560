"""Each fifth of every train part as test part: python -m tests.bench.stretches DIRECTORY OUT [warmed]

The last 20 % of a recording are one event, and sensors that stood side by side share it. Here every method
learns from four fifths of a train part and is judged on the fifth, five times over, so that no single day
decides. The test parts are cut off first and never looked at. Goes on where it ended. With `warmed` the
baselines, too, are told how much warmer it is than it was.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from model_export.experiment.cases import RESPIRE
from model_export.experiment.evaluation import Settings, evaluate
from model_export.experiment.leaderboard import rivals
from model_export.experiment.methods import METHODS
from model_export.recordings.catalogue import Collection, Member, collect
from tests.bench.real import manifest, tell, warmed

STRETCHES = 5


def stretch(member: Member, number: int) -> Member:
    """A train part, split into a stretch to test and the windows before and after it."""
    windows = np.arange(len(member.train))
    judged = np.array_split(windows, STRETCHES)[number]
    rest = np.setdiff1d(windows, judged)
    return replace(member, train=member.train.part(rest), test=member.train.part(judged))


def tables(collection: Collection, out: Path, methods: Sequence[str]) -> Iterator[pd.DataFrame]:
    """The results of each stretch."""
    for number in range(STRETCHES):
        print(f"stretch {number + 1} of {STRETCHES}", file=sys.stderr)
        members = tuple(stretch(member, number) for member in collection.members)
        there = replace(collection, members=members)
        found = evaluate(there, out / f"{number}", methods, Settings(), jobs=os.cpu_count() or 1, say=print)
        yield found.table.assign(target_dataset=found.table["target_dataset"] + f" {number}")


def main(folder: Path, out: Path, fair: bool) -> None:
    """Run and print."""
    found, methods = collect(manifest(folder, out)), list(METHODS)
    if fair:
        found, methods = warmed(found), rivals(methods, RESPIRE)
    tell(pd.concat(tables(found, out, methods), ignore_index=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), fair=sys.argv[3:] == ["warmed"])
