"""model-export as a user types it, in this process."""

import json
import shlex
from typing import Any

import pytest

from model_export.cli.main import main


def run(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """The data and the messages of a command that succeeds."""
    assert main(shlex.split(line)) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err
