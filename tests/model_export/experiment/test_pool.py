"""The pool's errors; tests of the evaluation cover Ctrl-C and killed parents."""

import multiprocessing
import time
from collections.abc import Iterator

import pytest

from edge_agent.core.errors import RespireError
from model_export.experiment.ledger import Task
from model_export.experiment.pool import in_parallel
from model_export.recordings.names import Place

TASKS = [Task(name, Place("5A2D", "T", "W")) for name in ("RR", "DT", "KNN")]


class KillsTheWorker(dict[Task, float]):
    """Costs that kill the worker after the first task is submitted."""

    def __iter__(self) -> Iterator[Task]:
        first, *others = super().__iter__()
        yield first
        for worker in multiprocessing.active_children():
            worker.kill()
            worker.join()
            time.sleep(0.5)  # for the pool to notice
        yield from others


def linger(task: Task) -> None:
    time.sleep(600)


def refuse(task: Task) -> None:
    raise ValueError(f"no {task.method}\nmore")


def test_a_worker_killed_while_tasks_are_submitted_is_one_line() -> None:
    costs = KillsTheWorker(dict.fromkeys(TASKS, 1.0))
    with pytest.raises(RespireError, match=r"was killed, while fitting RR on 5A2D_T-W; what was fitted is"):
        in_parallel(linger, costs, jobs=1, progress=None, say=print)


def test_errors_are_returned_with_their_tasks() -> None:
    failed = in_parallel(refuse, dict.fromkeys(TASKS, 1.0), jobs=2, progress=None, say=print)
    assert {task: str(error) for task, error in failed.items()} == {
        task: f"no {task.method}\nmore" for task in TASKS
    }
