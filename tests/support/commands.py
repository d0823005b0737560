"""model-export as a user types it, in this process."""

import json
import re
import shlex
from typing import Any

import pytest

from model_export.cli.main import app, main

COMMANDS = (
    *("fit", "evaluate", "adapt", "transfer", "compress", "inspect", "convert", "experiment", "breakdown"),
)


def run(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """The data and the messages of a command that succeeds."""
    assert main(shlex.split(line)) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def examples() -> list[str]:
    """The example lines of every --help."""
    helps = [command.callback.__doc__ or "" for command in app.registered_commands if command.callback]
    joined = [re.sub(r"\\\n\s*", "", text) for text in helps]
    return [
        line.strip()
        for text in joined
        for line in text.splitlines()
        if line.strip().startswith("model-export ")
    ]
