"""The output of a command: data on stdout, messages and progress bars on stderr."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import isfinite
from typing import Any

DIGITS = 6
LINES = 10  # of progress, where stderr is not a terminal


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The output of a command: data or a sentence for stdout, messages for stderr."""

    data: Mapping[str, Any]
    messages: tuple[str, ...] = ()
    sentence: str = ""


# Whether stdout gets a sentence instead of JSON: it is a terminal, and --json is not given.
in_words: ContextVar[bool] = ContextVar("in_words", default=False)


def print_result(result: CommandResult) -> None:
    """Print messages to stderr; to stdout the sentence on a terminal, the data as JSON elsewhere."""
    for line in result.messages:
        say(line)
    if result.sentence and in_words.get():
        print(result.sentence)
        return
    print(json.dumps(_plain(result.data), indent=2, ensure_ascii=False))


def say(line: str) -> None:
    """Print one line to stderr."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def bar(work: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only needed on a terminal
    from rich.progress import Progress  # noqa: PLC0415 - as above

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(work, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def long_bar(title: str) -> Iterator[Callable[[float, float], None]]:
    """A progress bar with the time left on a terminal, a line at every tenth elsewhere."""
    if not sys.stderr.isatty():
        yield _lines(title)
        return
    from rich.console import Console  # noqa: PLC0415 - only needed on a terminal
    from rich.progress import (  # noqa: PLC0415 - as above
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    words, took, left = TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn()
    columns = (words, BarColumn(), TaskProgressColumn(), took, TextColumn("left"), left)
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=600.0) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(title: str) -> Callable[[float, float], None]:
    printed = 0

    def progress(done: float, total: float) -> None:
        nonlocal printed
        # Sums of floats may end at 99.999 %.
        if (tenths := int(LINES * done / total + 1e-9)) > printed:
            printed = tenths % LINES  # another run may follow
            say(f"{title}: {done / total:.0%}")

    return progress


def _plain(value: Any) -> Any:
    """Numbers to six significant digits, undefined ones as null."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
