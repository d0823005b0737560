"""The output of commands."""

import pytest

from model_export.cli.console import evaluate_sentence, fit_sentence, long_bar

SCORE = {"n": 400, "r2": 0.91, "rmse": 0.1234, "bias": -0.05, "level": 0.9, "unit": "ppm"}
FIT = {"r2_test": 0.91, "level": 0.9, "n_test": 80, "support": 1, "bytes": 1256, "bundle": "5A2D.bundle"}
NAN = float("nan")


@pytest.mark.parametrize(
    ("coverage", "promised", "words"),
    [
        (0.88, 1.0, ", 90% interval covers 88%"),
        (0.99, 0.35, ", 90% interval covers 99% (35% of the windows have one)"),
        (0.99, 0.996, ", 90% interval covers 99%"),
        (NAN, 0.0, ", no window has an interval"),
    ],
)
def test_coverage_says_of_how_many_windows(coverage: float, promised: float, words: str) -> None:
    """A window with an input outside training has no interval, and cannot be outside of it."""
    covered = {"coverage": coverage, "promised": promised}
    assert evaluate_sentence(SCORE | covered) == (
        f"R² 0.91 over 400 windows{words}, RMSE 0.123 ppm, bias -0.05 ppm."
    )
    assert fit_sentence(FIT | covered, 0.2, None, "No fault found.") == (
        f"R² 0.91 on the last 20%{words}, 1 support vector, 1256 bytes in 5A2D.bundle. No fault found."
    )


def test_a_fit_without_a_test_part_has_no_figures_of_it() -> None:
    untested = FIT | {"r2_test": NAN, "coverage": NAN, "promised": NAN, "n_test": 0}
    assert fit_sentence(untested, 0.0, None, "No fault found.") == (
        "No test part, 1 support vector, 1256 bytes in 5A2D.bundle. No fault found."
    )


def test_a_second_run_shows_its_progress_too(capsys: pytest.CaptureFixture[str]) -> None:
    """A line at every tenth, if stderr is not a terminal."""
    with long_bar("fitting") as progress:
        for done in (0.05, 0.5, 0.51, 1.0 - 1e-12):
            progress(done, 1.0)
        progress(1.0, 1.0)
        progress(2.0, 9.0)
    said = capsys.readouterr().err.splitlines()
    assert said == ["fitting: 50%", "fitting: 100%", "fitting: 100%", "fitting: 22%"]
