"""Scores inside train parts, by which defaults are chosen: python -m tests.bench.choose DIRECTORY

The last 20 % of every recording are cut off first and never looked at. What is left is split in six ways into
a side to learn from and a side to judge on; everything else is as in `tests.bench.compare`.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from model_export.calibration.fit import Recipe, paper
from model_export.recordings.dataset import Dataset, load, split
from tests.bench.compare import FAMILIES, METHODS, RECIPES, Family, Learner, Part, columns, respire

HOUR_MS = 3_600_000
MEMORIES = ((1,), (4,), (1, 8))  # hours, beside the default's 1 and 4
OTHERS = {
    f"memories of {' and '.join(map(str, hours))} h": replace(
        Recipe(), warming={f"warming_{each}h": round(each * HOUR_MS) for each in hours}
    )
    for hours in MEMORIES
}
KNOWN = {**RECIPES, **OTHERS}
LEARNERS: dict[str, Learner] = {
    **METHODS,
    **{name: partial(respire, recipe=recipe) for name, recipe in OTHERS.items()},
}

LOWEST = -1.0  # R² is cut off here, so that one hopeless pair does not decide

Index = NDArray[np.intp]


def sides(temperature: Array) -> dict[str, tuple[Index, Index]]:
    """Which windows to fit and which to test, separated by time or by temperature.

    >>> {name: len(judge) for name, (_, judge) in sides(np.arange(8.0)).items()}
    {'later': 2, 'earlier': 2, 'second half': 4, 'first half': 4, 'warmer': 2, 'colder': 2}
    """
    time, n = np.arange(len(temperature)), len(temperature)
    warmth = np.argsort(temperature, kind="stable")
    three_quarters, half = n * 3 // 4, n // 2
    return {
        "later": (time[:three_quarters], time[three_quarters:]),
        "earlier": (time[n - three_quarters :], time[: n - three_quarters]),
        "second half": (time[:half], time[half:]),
        "first half": (time[half:], time[:half]),
        "warmer": (np.sort(warmth[:three_quarters]), np.sort(warmth[three_quarters:])),
        "colder": (np.sort(warmth[n - three_quarters :]), np.sort(warmth[: n - three_quarters])),
    }


def parts(trains: list[Dataset]) -> Iterator[list[Part]]:
    """The recordings of one family, split and fitted in each of the six ways."""
    splits = [sides(train.auxiliary) for train in trains]
    for name in splits[0]:
        print(f"judging on the {name} windows of {trains[0].name} …", file=sys.stderr)
        pairs = [
            (train.part(s[name][0]), train.part(s[name][1])) for train, s in zip(trains, splits, strict=True)
        ]
        yield [
            Part(learn.name, learn, judge, {method: learner(learn) for method, learner in LEARNERS.items()})
            for learn, judge in pairs
        ]


def scores(folder: Path, family: Family) -> dict[str, float]:
    """The mean over columns of the mean R² over pairs and ways to split, for each method."""
    paths = sorted(folder.glob(family.pattern))
    trains = [split(load([path], path.name.split(".")[0][:64], "ppb"))[0] for path in paths]
    ways = list(parts(trains))
    return {
        method: mean(
            mean(max(pair[adapter], LOWEST) for way in column for pair in way)
            for column in zip(*(columns(way, method, recipe, family.same_days) for way in ways), strict=True)
            for adapter in (0, 1)
        )
        for method in LEARNERS
        for recipe in [KNOWN.get(method, paper(Recipe()))]
    }


def table(folder: Path) -> str:
    """One row a method, one column a family without injected faults, and their mean."""
    families = [family for family in FAMILIES if "delivered" not in family.pattern]
    found = [scores(folder, family) for family in families]
    lines = [
        f"| method | {' | '.join(family.title for family in families)} | mean |",
        "|---|" + "--:|" * (len(families) + 1),
    ]
    for method in LEARNERS:
        row = [score[method] for score in found]
        lines.append(f"| {method} | {' | '.join(f'{value:.3f}' for value in [*row, mean(row)])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
