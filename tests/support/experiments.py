"""Runs of the experiment, and waiting for their processes."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from model_export.cli.console import say
from model_export.experiment.evaluation import Experiment, Settings, evaluate
from model_export.recordings.catalogue import collect

SETTINGS = Settings(trials=4)


def run(data: Path, out: Path, methods: Sequence[str], settings: Settings, jobs: int = 1) -> Experiment:
    return evaluate(collect(data), out, methods, settings, jobs=jobs, say=say)


def fits(out: Path) -> list[Path]:
    return [path for path in out.glob("fits/*/*.json") if not path.name.startswith(".")]


def wait(condition: Any) -> None:
    until = time.monotonic() + 120.0
    while not condition():
        assert time.monotonic() < until, "waited two minutes"
        time.sleep(0.02)


def alive(group: int) -> bool:
    """Whether any process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
