"""A city of 100 000 sensors: what is done before and after the tasks takes time linear in their number.

The limits are several times what it takes, and a third or less of what a loop in a loop takes.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from model_export.archive.layout import parts_in
from model_export.engine.run import run_all
from model_export.fleet.run import moves
from model_export.fleet.task import Settings, Task
from model_export.recordings.manifest import Entry
from model_export.recordings.names import Place


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Of CPU: the machine may have other work."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


def test_the_parts_of_two_thousand_sensors_and_a_year() -> None:
    archive = Path("archive")
    folders = [
        (f"S{number}", archive / f"sensor=S{number}" / f"month=2024-{month}")
        for number in range(2_000)
        for month in range(1, 13)
    ]
    with at_most(1.5):
        parts, refused = parts_in(folders, archive)
    assert (len(parts), refused) == (24_000, {})


class Breaking(Executor):
    """Does some tasks at once, and is broken from then on."""

    def __init__(self, most: int) -> None:
        self._left = most

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._left -= 1
        if self._left >= 0:
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(BrokenExecutor("killed"))
        return future


def test_a_worker_is_killed_after_twenty_thousand_tasks() -> None:
    @contextmanager
    def half() -> Iterator[Executor]:
        yield Breaking(20_000)

    said: list[str] = []
    tasks = {f"S{number}": number for number in range(40_000)}
    with at_most(3.0):
        results = run_all(str, tasks, half, said.append)
    assert (len(results), len(said)) == (40_000, 1)


def test_six_thousand_sensors_of_which_a_tenth_has_a_reference() -> None:
    tasks = {
        name: Task(name, (Entry(Place(name, f"site{number // 10}", "W"), ()),), None, Path("out"), Settings())
        for number in range(6_000)
        for name in [f"S{number:04}"]
    }
    rows = {name: {"bundle": "sha256:1", "r2": 0.9} for name in list(tasks)[::10]}
    with at_most(1.5):
        found = moves(tasks, rows, tasks.keys() - rows)
    assert len(found) == 5_400
    assert [sister.sensor for sister in found["S0019"].sisters] == ["S0010"]
