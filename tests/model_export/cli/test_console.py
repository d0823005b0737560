"""The output of commands."""

import pytest

from model_export.cli.console import long_bar


def test_a_second_run_shows_its_progress_too(capsys: pytest.CaptureFixture[str]) -> None:
    """A line at every tenth, if stderr is not a terminal."""
    with long_bar("fitting") as progress:
        for done in (0.05, 0.5, 0.51, 1.0 - 1e-12):
            progress(done, 1.0)
        progress(1.0, 1.0)
        progress(2.0, 9.0)
    said = capsys.readouterr().err.splitlines()
    assert said == ["fitting: 50%", "fitting: 100%", "fitting: 100%", "fitting: 22%"]
