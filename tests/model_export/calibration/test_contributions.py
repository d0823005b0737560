"""What each recording of a sensor adds."""

from dataclasses import replace
from pathlib import Path

import pytest

from model_export.calibration.contributions import contributions, in_words
from model_export.calibration.fit import Recipe, Source, fit_recording
from model_export.recordings.tables import read
from tests.support.recordings import FIRST_MS, saved, tidy

WEEK_MS = 7 * 86_400_000


def test_a_recording_of_another_zero_is_told(tmp_path: Path) -> None:
    """Three weeks, the second 0.5 ppm too high: the others fit it badly, the test is better without it."""
    paths = []
    for week, zero in enumerate((0.0, 0.5, 0.0)):
        table = tidy(windows=400, seed=week, first_ms=FIRST_MS + week * WEEK_MS)
        table["reference"] += zero
        paths.append(saved(table, tmp_path / f"week{week}.csv"))
    recipe = replace(Recipe(), warming={})
    recording = read(paths, "5A2D")
    result = fit_recording(recording, "ppm", tmp_path / "x.bundle", source=Source(), recipe=recipe)
    first, second, third = contributions(paths, result, Source(), recipe)
    assert [one.name for one in (first, second, third)] == ["week0.csv", "week1.csv", "week2.csv"]
    assert (first.n_train, second.n_train, third.n_train) == (400, 400, 160)
    assert second.r2_by_others < min(first.r2_by_others, third.r2_by_others)
    assert second.r2_test_without > second.r2_test == pytest.approx(first.r2_test)
    assert in_words(second).startswith("week1.csv: 400 train windows, ")


def test_a_single_recording_needs_no_comparison(tmp_path: Path) -> None:
    path = saved(tidy(windows=200), tmp_path / "week.csv")
    recording = read([path], "5A2D")
    result = fit_recording(recording, "ppm", tmp_path / "x.bundle", source=Source(), recipe=Recipe())
    assert contributions([path], result, Source(), Recipe()) == []
