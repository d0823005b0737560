"""The output of a command: data or a sentence on stdout, messages and progress bars on stderr."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from model_export.calibration.export import Exported
    from model_export.doctor.case import Diagnosis

DIGITS = 6
UNTESTED = "No test part"
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


def fit_sentence(figures: Mapping[str, Any], test_share: float, report: Path | None, verdict: str) -> str:
    """What `fit` reached, what it wrote, and whether to use it."""
    page = f"; report in {report}" if report else ""
    reached = _agreement({**figures, "r2": figures["r2_test"]}, f"on the last {test_share:.0%}")
    return (
        f"{reached if figures['n_test'] else UNTESTED}, "
        f"{_count(figures['support'], 'support vector')}, {figures['bytes']} bytes in {figures['bundle']}"
        f"{page}. {verdict}"
    )


def evaluate_sentence(figures: Mapping[str, Any]) -> str:
    """How well a bundle agrees with a reference."""
    agreement, unit = _agreement(figures, f"over {figures['n']} windows"), figures["unit"]
    return f"{agreement}, RMSE {figures['rmse']:.3g} {unit}, bias {figures['bias']:+.3g} {unit}."


def adapt_sentence(figures: Mapping[str, Any], written: "Exported", verdict: str) -> str:
    """What a gain and an offset changed."""
    before, interval = figures["before"], written.model.interval
    after = figures["after"] | {"level": interval.level if interval else None}
    covered = "" if isnan(before["coverage"]) else f", covered {before['coverage']:.0%}"
    reached = _agreement(after, f"on the last {_count(figures['n_test'], 'window')}")
    reached += f" (before: R² {before['r2']:.2f}{covered})"
    return (
        f"{reached if figures['n_test'] else UNTESTED}, gain {figures['gain']:.3g}, "
        f"offset {figures['offset']:+.3g} {figures['unit']}, {written.size_bytes} bytes in {written.path}. "
        f"{verdict}"
    )


def transfer_sentence(figures: Mapping[str, Any], written: "Exported", verdict: str) -> str:
    """How well the channels map."""
    maps = ", ".join(f"{channel} {r2:.2f}" for channel, r2 in figures["r2"].items())
    return (
        f"{figures['source']} to {figures['sensor']} over {_count(figures['n'], 'window')}, R² of the "
        f"channels: {maps}; {written.size_bytes} bytes in {written.path}. {verdict}"
    )


def diagnose_sentence(found: "Diagnosis") -> str:
    """Whether the recordings can be used; the findings themselves are on stderr."""
    grave = sum(finding.severity == "error" for finding in found.findings)
    if grave:
        return f"Not fit for a calibration: {_count(grave, 'grave finding')}."
    warned = sum(finding.severity == "warning" for finding in found.findings)
    return f"Fit for a calibration, with {_count(warned, 'warning')}." if warned else "No fault found."


def _agreement(score: Mapping[str, Any], where: str) -> str:
    from model_export.doctor.agreement import covers  # noqa: PLC0415 - --help need not wait

    interval = f", {covers(score['coverage'], score['promised'], score['level'])}" if score["level"] else ""
    return f"R² {score['r2']:.2f} {where}{interval}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
