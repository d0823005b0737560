"""The default before evidence, power and growing intervals, to compare with: tuned by folds.

It has an interval of constant width, and an adapter by plain least squares. An interrupted run is resumed.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

import pandas as pd

from model_export.calibration import adapt
from model_export.calibration.fit import Recipe, chosen, fit_with_interval
from model_export.experiment.cases import FittedMethod
from model_export.experiment.evaluation import gather, tested
from model_export.experiment.ledger import Ledger, Task
from model_export.experiment.pool import in_parallel
from model_export.recordings.catalogue import Collection, Member
from model_export.recordings.dataset import Dataset

NAME = "RESPIRE-earlier"


def fitted(train: Dataset) -> FittedMethod:
    """The model of a train part, with its interval."""
    recipe = Recipe(tuning="folds")
    train = train.warmed(recipe.memories_ms(train.window_ms))
    model = fit_with_interval(train, chosen(train, recipe), recipe).model
    return FittedMethod(model.predict, {}, {}, train.warming, model, adapt.PLAIN)


def fit_one(members: Sequence[Member], ledger: Ledger, task: Task) -> None:
    """Fit, test and store one task."""
    source = next(member for member in members if member.place == task.place)
    started = perf_counter()
    ledger.save(task, tested(fitted(source.train), source, members, perf_counter() - started))


def table(collection: Collection, out: Path, jobs: int) -> pd.DataFrame:
    """Every case of it, one row each."""
    ledger, members = Ledger(out), collection.members
    ledger.begin({}, members)
    tasks = {Task(NAME, member.place): float(len(member.train)) for member in members}
    missing = {task: cost for task, cost in tasks.items() if not ledger.has(task)}
    for task, error in in_parallel(partial(fit_one, members, ledger), missing, jobs, None, print).items():
        print(f"{task}: {error}")
    return gather(ledger, filter(ledger.has, tasks))
