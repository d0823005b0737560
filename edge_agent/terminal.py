"""What the commands share: data on stdout, words on stderr, settings with a word on where they come from."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edge_agent.settings import Settings

DONE, FAILED, CONFIGURATION = 0, 1, 78


def say(words: str) -> None:
    """Words for people go to stderr."""
    print(words, file=sys.stderr)


def print_json(record: dict[str, Any]) -> None:
    """One line per key, so that people find it beside long lists of numbers."""
    lines = (f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in record.items())
    print("{\n" + ",\n".join(lines) + "\n}")


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def load_settings(file: Path | None) -> "Settings":
    """The settings of a command; says so if there is no file."""
    from edge_agent import settings as configuration  # noqa: PLC0415 - pydantic takes 0.2 s

    if file is None and not configuration.DEFAULT_FILE.exists():
        say(f"edge-agent: {configuration.DEFAULT_FILE} not found; using defaults and EDGE_AGENT_… variables")
    return configuration.load(file)
