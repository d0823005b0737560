"""A pool of processes of this machine that end with their parent."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def process_pool(jobs: int) -> Iterator[Executor]:
    """`jobs` processes; what waits is dropped if the block ends with an error."""
    context = multiprocessing.get_context("spawn")  # forking a process that has threads may hang it
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare)
    try:
        yield pool
    finally:
        shut_down(pool)


def shut_down(pool: ProcessPoolExecutor) -> None:
    """Wait for the workers to end; what waits is dropped.

    Before 3.11.5 Python waits for ever if a worker was killed while a task was on its way to it (gh-94777).
    Nobody reads on this side, so closing this side's end lets the writer see that nobody is left.
    """
    queue = getattr(pool, "_call_queue", None)
    if sys.version_info < (3, 11, 5) and queue is not None:
        queue._reader.close()
    pool.shutdown(cancel_futures=True)


def _prepare() -> None:
    """Leave Ctrl-C to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


def end_with_parent() -> None:
    """A killed parent does not close the pool's queue, so its workers would wait for ever."""
    threading.Thread(target=_watch_parent, daemon=True).start()


def _watch_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)
