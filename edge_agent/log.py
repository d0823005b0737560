"""Log events: JSON lines under systemd, readable lines on a terminal, repeated events at a limited rate."""

import logging
import sys
from typing import Any

import structlog

from edge_agent.core.messages import Estimate, format_time

EVERY_MS = 10_000


def configure(level: str = "info", form: str = "auto") -> None:
    """Send events to stderr, so that stdout stays data."""
    pretty = form == "pretty" or (form == "auto" and sys.stderr.isatty())
    renderer: Any = structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
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
        self._last_ms: dict[str, int] = {}
        self._since: dict[str, int] = {}

    def warning(self, elapsed_ms: int, event: str, **fields: Any) -> None:
        """Log a warning, unless the same event was logged less than `every_ms` ago."""
        self._since[event] = self._since.get(event, 0) + 1
        if elapsed_ms - self._last_ms.get(event, -self._every_ms) >= self._every_ms:
            self._last_ms[event] = elapsed_ms
            logger().warning(event, **fields, since_last=self._since.pop(event))
