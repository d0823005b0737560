"""Many tasks on an executor: every task ends with its row or with its error, also if workers are killed."""

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import AbstractContextManager, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

from edge_agent.core.errors import RespireError
from model_export.engine.memory import keep_freed_memory

Task = TypeVar("Task")
Row = TypeVar("Row")
Progress = Callable[[float, float], None]  # tasks done, tasks in all
Say = Callable[[str], None]  # shows one line to the user
Open = Callable[[], AbstractContextManager[Executor]]

RESTARTS = 3  # pools after the first; a task that ends its worker every time must not go on for ever
HEAR_S = 0.5  # a Ctrl-C that comes just before the main thread sleeps does not wake it


def ended(futures: Collection[Future[Row]]) -> Iterator[Future[Row]]:
    """Each future when it ends, and a Ctrl-C at any moment."""
    done: SimpleQueue[Future[Row]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    left = len(futures)
    while left:
        with suppress(Empty):
            yield done.get(timeout=HEAR_S)
            left -= 1


class Results(dict[str, Row]):
    """The rows by the name of their task, and why the others have none."""

    def __init__(self) -> None:
        super().__init__()
        self.failed: dict[str, str] = {}


def run_all(
    work: Callable[[Task], Row],
    tasks: Mapping[str, Task],
    open_executor: Open,
    say: Say,
    progress: Progress | None = None,
) -> Results[Row]:
    """Run all tasks in the order given.

    A task gets paths and writes its own files, so a task that is run again does no harm. If a worker or a
    scheduler is killed, the tasks without a row are run again on a new executor.
    """
    results: Results[Row] = Results()
    for restart in range(RESTARTS + 1):
        ran = results.keys() | results.failed.keys()
        left = {name: task for name, task in tasks.items() if name not in ran}
        try:
            with open_executor() as executor, _told(say):
                _gather(executor, work, left, results, lambda: _tell(progress, results, len(tasks)))
            return results
        except BrokenExecutor:
            if restart < RESTARTS:
                say("a worker or the scheduler was killed; what was not done is run again")
    raise RespireError(
        f"workers were killed {RESTARTS + 1} times; what is done is kept, so give the same line again "
        "(fleet: with --resume), with fewer --jobs if memory is short"
    )


@contextmanager
def _told(say: Say) -> Iterator[None]:
    """Say what a Ctrl-C does, before the executor waits for the tasks that are running."""
    try:
        yield
    except KeyboardInterrupt:
        say("stopping; what is done is kept, so give the same line again (fleet: with --resume)")
        raise


def _gather(
    executor: Executor,
    work: Callable[[Task], Row],
    tasks: Mapping[str, Task],
    results: Results[Row],
    tell: Callable[[], None],
) -> None:
    futures: dict[Future[Row], str] = {
        executor.submit(_run, work, task): name for name, task in tasks.items()
    }
    for future in ended(futures):
        error = future.exception()
        if isinstance(error, BrokenExecutor):
            raise error
        if error:
            results.failed[futures[future]] = reason(error)
        else:
            results[futures[future]] = future.result()
        tell()


def _run(work: Callable[[Task], Row], task: Task) -> Row:
    keep_freed_memory()  # here, and not when the process starts: a cluster has its own workers
    return work(task)


def _tell(progress: Progress | None, results: Results[Row], total: int) -> None:
    if progress:
        progress(len(results) + len(results.failed), total)


def reason(error: BaseException) -> str:
    """An error in one line."""
    text = next(iter(str(error).splitlines()), "")
    return text if isinstance(error, RespireError) else f"{type(error).__name__}: {text}"
