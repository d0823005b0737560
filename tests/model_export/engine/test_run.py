"""Tasks on real processes: rows and errors by name, also if a worker is killed."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from edge_agent.core.errors import BadRecording, BadSettings, RespireError
from model_export.engine.dask import Scheduler, end
from model_export.engine.processes import process_pool
from model_export.engine.run import RESTARTS, run_all


def work(task: tuple[str, Path]) -> str:
    """Answer, fail, or kill the process that runs it: once, or every time."""
    word, folder = task
    if word == "bad":
        raise BadRecording("bad.csv: expected a recording")
    if word == "bug":
        raise ZeroDivisionError("1 / 0")
    if word == "always" or (word == "once" and not (folder / "once").exists()):
        (folder / "once").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return word.upper()


def test_errors_are_named_and_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    said: list[str] = []
    tasks = {word: (word, tmp_path) for word in ("a", "bad", "once", "bug", "b")}
    done: list[tuple[float, float]] = []
    results = run_all(work, tasks, lambda: process_pool(1), said.append, lambda n, of: done.append((n, of)))
    assert results == {"a": "A", "once": "ONCE", "b": "B"}
    assert results.failed == {"bad": "bad.csv: expected a recording", "bug": "ZeroDivisionError: 1 / 0"}
    assert said == ["a worker or the scheduler was killed; what was not done is run again"]
    assert done[-1] == (5, 5)


def test_a_task_that_always_kills_its_worker_ends_the_run(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(RespireError, match="workers were killed 4 times; what is done is kept"):
        run_all(work, {"always": ("always", tmp_path)}, lambda: process_pool(1), said.append)
    assert len(said) == RESTARTS


class Stopped(Executor):
    """The user presses Ctrl-C."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise KeyboardInterrupt


def test_a_run_that_is_stopped_says_how_to_go_on() -> None:
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run_all(str, {"a": 1}, lambda: nullcontext(Stopped()), said.append)
    assert said == ["stopping; what is done is kept, so give the same line again (fleet: with --resume)"]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://localhost:8786", "tcp://[::1]:8786"])
def test_a_scheduler_on_this_machine_needs_no_certificate(address: str) -> None:
    Scheduler(address).require_safe()


@pytest.mark.parametrize(
    "address",
    [
        "tcp://10.0.0.7:8786",
        "tcp://city.example:8786",
        "http://127.0.0.1:1",
        "x",
        "tcp://localhost:99999",
        "tls://[::1",
    ],
)
def test_any_other_address_without_encryption_is_refused(address: str) -> None:
    with pytest.raises(BadSettings, match="expected tls://"):
        Scheduler(address).require_safe()


def test_certificates_that_cannot_be_used_are_named_at_once(tmp_path: Path) -> None:
    """A scheduler would be waited for otherwise."""
    missing, text = tmp_path / "ca.pem", tmp_path / "key.pem"
    text.write_text("no key")
    with pytest.raises(BadSettings, match=r"ca.pem: expected a certificate or key \(PEM\), got no such file"):
        Scheduler("tls://city.example:8786", missing, text, text).require_safe()
    with pytest.raises(
        BadSettings, match=r"expected the PEM files of an authority, a certificate and its key"
    ):
        Scheduler("tls://city.example:8786", text, text, text).require_safe()


@dataclass
class OfDask:
    """A future of Dask that has ended."""

    status: str
    result: Callable[[], str]

    def exception(self) -> Exception | None:
        return BadRecording("bad.csv") if self.status == "error" else None


def failing(error: BaseException) -> Callable[[], str]:
    def result() -> str:
        raise error

    return result


@pytest.mark.parametrize("status", ["finished", "lost"])
def test_a_row_of_the_cluster_is_ours(status: str) -> None:
    """Also one that was lost with its worker: Dask makes it again."""
    ours: Future[str] = Future()
    end(ours, OfDask(status, lambda: "row"))
    assert ours.result(0) == "row"


@pytest.mark.parametrize(
    ("its", "expected"),
    [
        (OfDask("error", failing(BadRecording("bad.csv"))), BadRecording),
        (OfDask("cancelled", failing(CancelledError())), BrokenExecutor),
        (OfDask("finished", failing(ConnectionError("closed"))), BrokenExecutor),
        (OfDask("finished", failing(CancelledError())), BrokenExecutor),
    ],
)
def test_a_future_ends_also_if_the_scheduler_dies_while_its_row_is_on_the_way(
    its: OfDask, expected: type[Exception]
) -> None:
    """A future without an end would be waited for by `fleet` for ever."""
    ours: Future[str] = Future()
    end(ours, its)
    assert isinstance(ours.exception(0), expected)


def test_a_future_ends_also_after_an_error_that_nobody_expects() -> None:
    ours: Future[str] = Future()
    with pytest.raises(AttributeError):
        end(ours, OfDask("finished", failing(AttributeError("None"))))
    assert isinstance(ours.exception(0), BrokenExecutor)
