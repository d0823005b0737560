"""Two tables of docs/methods.md: python -m tests.bench.compare DIRECTORY

Trains on the first 80 % of each recording by three methods, and judges on the last 20 % of the same
recording, of another sensor and of another season.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.linear_model import RidgeCV  # type: ignore[import-untyped]
from sklearn.model_selection import KFold  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

from edge_agent.core.kernel import Array
from model_export.calibration import adapt, transfer
from model_export.calibration.fit import Recipe, chosen, fit, fit_model, paper, summary
from model_export.recordings.dataset import Dataset, load, split
from model_export.regression.metrics import r2

RIDGES = (0.1, 1.0, 10.0, 50.0, 100.0)  # the paper's search space for RR

Estimator = Callable[[Array, Array], Array]  # raw channels (n, d), temperatures (n,) -> estimates (n,)
Learner = Callable[[Dataset], Estimator]


@dataclass(frozen=True, slots=True)
class Family:
    """Recordings that can be exchanged for one another."""

    title: str
    pattern: str
    same_days: bool  # the sensors stood side by side, so a transfer can be fitted


FAMILIES = (
    Family("MetaSense CO, boards 11 and 12", "metasense-elcajon-??.csv.gz", True),
    Family("the same as delivered", "metasense-elcajon-??-as-delivered.csv.gz", True),
    Family("AirSensEUR CO, 7 units", "airsenseur-ispra-*.csv.gz", True),
    Family("SATVAM O3, June and October", "satvam-dd1-*-o3.csv.gz", False),
    Family("SATVAM NO2, June and October", "satvam-dd1-*-no2.csv.gz", False),
)


def respire(train: Dataset, recipe: Recipe) -> Estimator:
    """The model as on the edge."""
    train = train.warmed(recipe.warming)
    return fit_model(train, chosen(train, recipe), recipe).model.predict


def ridge(train: Dataset) -> Estimator:
    """Linear ridge regression on the channels and the temperature, tuned by 3 contiguous folds."""
    model = make_pipeline(StandardScaler(), RidgeCV(RIDGES, cv=KFold(3)))
    model.fit(np.column_stack([train.inputs, train.auxiliary]), train.target)
    return lambda inputs, auxiliary: model.predict(np.column_stack([inputs, auxiliary]))


RECIPES = {
    "paper's kernel": paper(Recipe()),
    "with trend": replace(Recipe(), warming={}),
    "with trend and warming (default)": Recipe(),
}
METHODS: dict[str, Learner] = {
    **{name: partial(respire, recipe=recipe) for name, recipe in RECIPES.items()},
    "ridge regression": ridge,
}


@dataclass(frozen=True, slots=True)
class Part:
    """One recording, split, with an estimator of each method fitted to its train part."""

    name: str
    train: Dataset
    test: Dataset
    estimators: dict[str, Estimator]

    def seen_with(self, recipe: Recipe) -> "Part":
        """With the channels of a recipe that are not measured."""
        train, test = self.train.warmed(recipe.warming), self.test.warmed(recipe.warming)
        return replace(self, train=train, test=test)


def part(path: Path) -> Part:
    train, test = split(load([path], path.name.split(".")[0][:64], "ppb"))
    print(f"learning from {path.name}", file=sys.stderr)
    return Part(path.name, train, test, {name: learner(train) for name, learner in METHODS.items()})


def scores(estimator: Estimator, target: Part) -> tuple[float, float]:
    """R² on the target's test part, without and with an adapter fitted to its train part."""
    estimate = estimator(target.test.inputs, target.test.auxiliary)
    gain, offset = adapt.fit_adapter(
        estimator(target.train.inputs, target.train.auxiliary), target.train.target
    )
    return r2(target.test.target, estimate), r2(target.test.target, gain * estimate + offset)


def transferred(estimator: Estimator, source: Part, target: Part) -> Estimator:
    """The source's estimator with a transfer fitted to the train parts, without a reference."""
    matrix = transfer.fit_map(source.train, target.train).matrix
    return lambda inputs, auxiliary: estimator(transfer.apply(matrix, inputs), auxiliary)


def columns(
    parts: Sequence[Part], method: str, recipe: Recipe, same_days: bool
) -> Iterable[list[tuple[float, float]]]:
    """The same recording, another one, and another one with transfer."""
    parts = [one.seen_with(recipe) for one in parts]
    yield [scores(one.estimators[method], one) for one in parts]
    pairs = list(permutations(parts, 2))
    yield [scores(source.estimators[method], target) for source, target in pairs]
    if same_days:
        yield [
            scores(transferred(source.estimators[method], source, target), target) for source, target in pairs
        ]


def cells(results: Iterable[list[tuple[float, float]]]) -> list[str]:
    """The medians, without and with adapter."""
    found = [f"{median(pair[adapter] for pair in pairs):.2f}" for pairs in results for adapter in (0, 1)]
    return found + ["–"] * (6 - len(found))


def fits(folder: Path) -> str:
    """The output of `model-export fit` for each recording."""
    keys = ("n_train", "n_test", "r2_train", "r2_test", "coverage", "support", "bytes")
    lines = [f"| recording | {' | '.join(keys)} |", "|---|" + "--:|" * len(keys)]
    for path in sorted(folder.glob("*.csv.gz")):
        dataset = load([path], "x", "ppb")
        with TemporaryDirectory() as scratch:
            figures = summary(fit(dataset, Recipe(), Path(scratch) / "x.bundle"))
        row = [f"{value:.2f}" if isinstance(value := figures[key], float) else str(value) for key in keys]
        lines.append(f"| {path.name.split('.')[0]} | {' | '.join(row)} |")
    return "\n".join(lines)


def comparison(folder: Path) -> str:
    """Median R² of each family, method and kind of transfer."""
    lines = [
        "| recordings | method | same | + adapter | other | + adapter | other, transfer | + adapter |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for family in FAMILIES:
        parts = [part(path) for path in sorted(folder.glob(family.pattern))]
        for method in METHODS:
            recipe = RECIPES.get(method, paper(Recipe()))
            row = cells(columns(parts, method, recipe, family.same_days))
            lines.append(f"| {family.title} | {method} | {' | '.join(row)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(fits(Path(sys.argv[1])), comparison(Path(sys.argv[1])), sep="\n\n")
