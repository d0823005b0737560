"""The paper's evaluation: every method is fitted to every train part and tested on every other dataset."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
import pandas as pd

from edge_agent.core.errors import RespireError
from model_export.engine.run import reason
from model_export.experiment.cases import FittedMethod, rows, same_sensor
from model_export.experiment.ledger import Fit, Ledger, Task
from model_export.experiment.methods import COSTS, METHODS, Setup
from model_export.experiment.pool import Progress, Say, in_parallel
from model_export.recordings.catalogue import Collection, Member
from model_export.recordings.manifest import Skipped

Inputs = Literal["paper", "warmed"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that the results depend on, beside the data."""

    trials: int = 60
    seed: int = 0
    test_share: float = 0.2
    inputs: Inputs = "paper"  # of the baselines
    power: bool = False  # whether the baselines get the power of a metal-oxide signal, too


@dataclass(frozen=True, slots=True)
class Experiment:
    """A finished run: the data, the fits, and one row a case."""

    collection: Collection
    methods: tuple[str, ...]
    ledger: Ledger
    table: pd.DataFrame
    fitted: int
    reused: int
    failed: tuple[Skipped, ...] = ()

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The recordings that could not be used, and the fits that could not be made."""
        return (*self.collection.skipped, *self.failed)

    def fits(self, method: str) -> list[Member]:
        """The recordings that a method was fitted to."""
        return [one for one in self.collection.members if self.ledger.has(Task(method, one.place))]

    def fit(self, method: str, member: Member) -> Fit:
        """One stored fit."""
        return self.ledger.load(Task(method, member.place))


def evaluate(
    collection: Collection,
    out: Path,
    methods: Sequence[str],
    settings: Settings,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    say: Say,
) -> Experiment:
    """Fit what is not fitted yet, `jobs` at a time, and gather the results; failed fits are listed."""
    ledger = Ledger(out)
    ledger.begin(asdict(settings), collection.members)
    missing = [task for task in _tasks(methods, collection.members) if not ledger.has(task)]
    for task in filter(ledger.damaged, missing):
        say(f"{ledger.path(task)}: expected a whole fit, got a damaged one; it is fitted again")
    work = partial(fit_one, collection.members, settings, ledger)
    errors = in_parallel(work, _costly_first(missing, collection.members), jobs, progress, say)
    failed = [Skipped(str(task), reason(error)) for task, error in errors.items()]
    kept = _kept(ledger, methods, collection.members)
    if not kept:
        raise RespireError(f"{out}: expected at least one fit, got none; {failed[0].reason}")
    table = gather(ledger, kept)
    ledger.save_table(table)
    names = tuple(name for name in METHODS if any(task.method == name for task in kept))
    fitted = len(missing) - len(failed)
    return Experiment(collection, names, ledger, table, fitted, len(kept) - fitted, tuple(failed))


def _tasks(methods: Iterable[str], members: Iterable[Member]) -> list[Task]:
    names = tuple(methods)
    return [Task(name, member.place) for member in members for name in names]


def _kept(ledger: Ledger, methods: Sequence[str], members: Sequence[Member]) -> list[Task]:
    """The stored fits of the methods asked for, and of other methods that an earlier run completed."""
    done = [task for task in _tasks(METHODS, members) if ledger.has(task)]
    whole = [name for name in METHODS if sum(task.method == name for task in done) == len(members)]
    return [task for task in done if task.method in (*methods, *whole)]


def fit_one(members: Sequence[Member], settings: Settings, ledger: Ledger, task: Task) -> None:
    """Fit, test and store one task; only the stored seconds differ from run to run."""
    source = next(member for member in members if member.place == task.place)
    started = perf_counter()
    setup = Setup(
        settings.trials, settings.seed, source.sensor_type, settings.inputs == "warmed", settings.power
    )
    fitted = METHODS[task.method](source.train, setup)
    ledger.save(task, tested(fitted, source, members, perf_counter() - started))


def tested(fitted: FittedMethod, source: Member, members: Sequence[Member], seconds: float) -> dict[str, Any]:
    """A fit and all its results, as they are stored."""
    seen = [member.warmed(fitted.warming) for member in members]
    source = source.warmed(fitted.warming)
    own = same_sensor(fitted, source, seen)
    return {
        "parameters": fitted.parameters,
        "details": fitted.details,
        "seconds": seconds,
        "rows": list(rows(fitted, source, seen, own)),
        "own": {
            dataset: {
                "estimate": np.round(judged.estimate, 6).tolist(),
                "gain": judged.gain,
                "offset": judged.offset,
            }
            for dataset, judged in own.items()
        },
    }


def gather(ledger: Ledger, tasks: Iterable[Task]) -> pd.DataFrame:
    """Every case of every task, one row each."""
    found = [{"method": task.method, **row} for task in tasks for row in ledger.load(task)["rows"]]
    return pd.DataFrame(found)


def _costly_first(tasks: Sequence[Task], members: Sequence[Member]) -> dict[Task, float]:
    """The cost of each task, the longest first, so that no core is left with it at the end."""
    windows = {member.place: len(member.train) for member in members}
    costs = {task: COSTS[task.method] * windows[task.place] for task in tasks}
    return dict(sorted(costs.items(), key=lambda pair: -pair[1]))
