"""What a command shows: data on stdout, words and bars on stderr."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any

DIGITS = 6
LINES = 10  # of progress, where nobody looks at a bar


@dataclass(frozen=True, slots=True)
class Done:
    """What a command has to say: data for stdout, words for stderr."""

    data: Mapping[str, Any]
    words: tuple[str, ...] = ()


def tell(done: Done) -> None:
    """Words to stderr, data to stdout."""
    for line in done.words:
        say(line)
    print(json.dumps(_plain(done.data), indent=2, ensure_ascii=False))


def say(line: str) -> None:
    """One line for people."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def bar(work: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr, where somebody is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only where somebody is looking
    from rich.progress import Progress  # noqa: PLC0415 - as above

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(work, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def long_bar(title: str) -> Iterator[Callable[[float, float], None]]:
    """A bar with the time left for people, a line at every tenth for log files."""
    if not sys.stderr.isatty():
        yield _lines(title)
        return
    from rich.console import Console  # noqa: PLC0415 - only where somebody is looking
    from rich.progress import (  # noqa: PLC0415  # noqa: PLC0415 - as above
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
    said = 0

    def progress(done: float, total: float) -> None:
        nonlocal said
        if (tenths := int(LINES * done / total + 1e-9)) > said:  # sums of floats may end at 99.999 %
            said = tenths % LINES  # another run may follow
            say(f"{title}: {done / total:.0%}")

    return progress


def _plain(value: Any) -> Any:
    """Numbers to six significant digits, undefined ones as null."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
