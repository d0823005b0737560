"""What the tests of commands share."""

from pathlib import Path

import pytest


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Work in the `folder` of the module, with nothing printed yet."""
    monkeypatch.chdir(folder)
    capsys.readouterr()
    return folder
