"""Tasks in parallel processes, with an orderly end on Ctrl-C, on a killed worker and on a killed parent."""

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from edge_agent.core.errors import RespireError
from model_export.engine.processes import end_with_parent, shut_down
from model_export.engine.run import ended
from model_export.experiment.ledger import Task

Progress = Callable[[float, float], None]  # work done, work in all
Say = Callable[[str], None]  # shows one line to the user


def in_parallel(
    work: Callable[[Task], None],
    costs: Mapping[Task, float],
    jobs: int,
    progress: Progress | None,
    say: Say,
) -> dict[Task, BaseException]:
    """Run all tasks, `jobs` at a time, in the order given; return the errors of those that failed.

    The first Ctrl-C waits for the running tasks, the second stops at once. If a worker is killed, the error
    names its task. Workers end with their parent. joblib 1.6 does none of these: the first Ctrl-C stops at
    once, its error names no task, it has no worker for one job, and its workers survive a killed parent.
    """
    if not costs:
        return {}
    done, failed = 0.0, dict[Task, BaseException]()
    context = multiprocessing.get_context("spawn")  # forking a process that has threads may hang it
    pool = ProcessPoolExecutor(min(jobs, len(costs)), mp_context=context, initializer=_prepare)
    futures: dict[Future[None], Task] = {}
    try:
        with _ignore_sigint():
            for task in costs:
                futures[pool.submit(work, task)] = task
        for future in ended(futures):
            task, error = futures[future], future.exception()
            if isinstance(error, BrokenProcessPool):
                raise error
            if error:
                failed[task] = error
            done += costs[task]
            if progress:
                progress(done, sum(costs.values()))
    except BrokenProcessPool as error:
        raise RespireError(_killed(costs, futures, jobs)) from error
    except KeyboardInterrupt:
        _stop(futures, say)
        raise
    finally:
        shut_down(pool)
    return failed


def _killed(tasks: Iterable[Task], futures: Mapping[Future[None], Task], jobs: int) -> str:
    """Tasks start in order, so the first ones without a result were running."""
    done = {task for future, task in futures.items() if future.done() and not _broken(future)}
    left = [task for task in tasks if task not in done]
    return (
        f"a process of the experiment was killed, while fitting {', '.join(map(str, left[:jobs]))}; what was "
        "fitted is kept, so give the same line again, with fewer --jobs if memory is short, or without the "
        "method (--methods)"
    )


def _broken(future: Future[None]) -> bool:
    return isinstance(future.exception(), BrokenProcessPool)


@contextmanager
def _ignore_sigint() -> Iterator[None]:
    """Ignore Ctrl-C. Processes started meanwhile ignore it for good, because their parent handles it."""
    if threading.current_thread() is not threading.main_thread():  # Python handles it in the main thread only
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(futures: Iterable[Future[None]], say: Say) -> None:
    """Wait for the running tasks. Another Ctrl-C ends the workers first, so that the pool can shut down."""
    try:
        say("stopping: the fits that are running are finished first; Ctrl-C again stops now")
        for _ in ended([future for future in futures if not future.cancel()]):
            pass
    except KeyboardInterrupt:
        for worker in multiprocessing.active_children():
            worker.terminate()
        raise


def _prepare() -> None:
    """Limit a worker to one thread, and end it when its parent ends."""
    threadpool_limits(1)
    end_with_parent()
