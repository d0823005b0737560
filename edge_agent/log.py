"""Log events: JSON lines under systemd, readable lines on a terminal, repeated events at a limited rate."""

import logging
import os
import sys
from contextlib import suppress
from typing import Any

import structlog

from edge_agent.core.messages import Estimate, format_time
from edge_agent.systemd import PRIORITIES, journal_prefix

EVERY_MS = 10_000


class Stderr:
    """The standard error, which may be closed, full, or a pipe without a reader: the agent continues.

    Not sys.stderr: it would keep what it could not write. That is None if there was no stderr at the start;
    the descriptor may then be another file.
    """

    def write(self, text: str) -> None:
        """Write what can be written."""
        if sys.stderr is not None:
            with suppress(OSError):
                os.write(2, text.encode(errors="backslashreplace"))

    def flush(self) -> None:
        """Nothing is kept."""


def configure(level: str = "info", form: str = "auto") -> None:
    """Send events to stderr, so that stdout stays data."""
    pretty = form == "pretty" or (form == "auto" and os.isatty(2))
    # The console renderer writes tracebacks by itself, and structlog 25 warns if another processor does.
    renderers: list[Any] = (
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if pretty
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    prefixes = {level: journal_prefix(level) for level in PRIORITIES}

    def prefixed(_: Any, level: str, text: Any) -> str:
        prefix = prefixes[level]
        return prefix + str(text).replace("\n", f"\n{prefix}")

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *renderers,
            prefixed,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(Stderr()),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )


def logger() -> Any:
    """The one logger; events are `noun.past_participle` with fields."""
    return structlog.get_logger()


def window_fields(estimate: Estimate) -> dict[str, Any]:
    """The fields of a closed window's event."""
    minutes = [count for name, count in estimate.minutes.items() if name != "expected"]
    return {
        "sensor": estimate.sensor,
        "start": format_time(estimate.start_ms),
        "minutes": min(minutes, default=0),
        "value": None if estimate.value is None else round(estimate.value, 4),
        "quality": int(estimate.quality),
        "reasons": list(estimate.reasons),
    }


class Limited:
    """Logs a repeated event at a limited rate, with the number of events since the last one."""

    def __init__(self, every_ms: int = EVERY_MS) -> None:
        self._every_ms = every_ms
        self._last_ms: dict[tuple[str, str], int] = {}
        self._since: dict[tuple[str, str], int] = {}

    def warning(self, elapsed_ms: int, event: str, **fields: Any) -> None:
        """Log a warning, unless one of the same event and `kind` or `broker` was logged `every_ms` before."""
        this = event, fields.get("kind", fields.get("broker", ""))
        self._since[this] = self._since.get(this, 0) + 1
        if elapsed_ms - self._last_ms.get(this, -self._every_ms) >= self._every_ms:
            self._last_ms[this] = elapsed_ms
            logger().warning(event, **fields, since_last=self._since.pop(this))
