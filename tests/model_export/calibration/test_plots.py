"""Plots, checked by what is drawn and not by pixels."""

from dataclasses import replace

import numpy as np
import pytest

from model_export.calibration import plots
from tests.support.models import drawn, linear

DAY = 96  # windows


@pytest.mark.parametrize(
    ("n", "n_train", "days", "title"),
    [
        (20 * DAY, 16 * DAY, 3.0, "the last 3 days, part of the test"),
        (10 * DAY, 8 * DAY, 3.0, "the last 3 days"),
        (10 * DAY, 10 * DAY, 3.0, "the last 3 days"),
        (2 * DAY, DAY, 2.0, "the whole recording"),
    ],
)
def test_the_timeline_shows_few_days_closely_and_all_by_day(
    n: int, n_train: int, days: float, title: str
) -> None:
    """A month of windows at this width would hide the reference."""
    dataset = drawn(n, noise=0.05)
    detail, whole = plots.timeline(linear(half_width=0.1), dataset, n_train, "Over time").axes
    times = np.asarray(detail.lines[0].get_xdata(), dtype="datetime64[ms]").astype(float) / 86_400_000
    assert times[-1] - times[0] == pytest.approx(days - 1 / DAY)
    assert detail.get_title("left") == title
    medians = next(line for line in whole.lines if line.get_marker() == "o")
    assert np.size(medians.get_xdata()) == n // DAY


def test_outliers_do_not_set_the_scale_of_the_errors() -> None:
    """Most errors fill the picture; those beyond its scale are counted."""
    dataset = drawn(1000, noise=0.05)
    target = dataset.target.copy()
    target[::100] += 5.0
    (axes,) = plots.residuals(linear(half_width=0.1), replace(dataset, target=target), 800, "Error").axes
    assert axes.get_ylim()[1] < 0.3
    beyond = int(
        (np.abs(linear().predict(dataset.inputs, dataset.auxiliary) - target) > axes.get_ylim()[1]).sum()
    )
    assert beyond >= 10
    assert axes.get_title("right") == f"{beyond} of 1000 windows lie beyond this scale"


def test_without_errors_beyond_the_scale_there_is_no_note() -> None:
    """The scale shows at least 1.5 times the interval."""
    (axes,) = plots.residuals(linear(half_width=0.1), drawn(100), 80, "Error").axes
    assert axes.get_title("right") == ""
    assert axes.get_ylim() == pytest.approx((-0.165, 0.165))


def test_the_timeline_has_no_interval_where_none_is_promised() -> None:
    """The band ends where an input leaves the training range, and begins again after it."""
    dataset = drawn(2 * DAY, noise=0.05)
    calm = np.full(len(dataset), 20.0)
    calm[50:80] = 40.0
    inputs = np.tile([230.0, 200.0], (len(dataset), 1))
    figure = plots.timeline(
        linear(half_width=0.1), replace(dataset, inputs=inputs, auxiliary=calm), DAY, "Over time"
    )
    (band,) = (each for each in figure.axes[0].collections if each.get_label() == "90% interval")
    assert len(band.get_paths()) == 2


@pytest.mark.parametrize(("n_train", "label", "off"), [(800, "median, test", 0.3), (0, "median", 0.06)])
def test_the_median_error_is_that_of_windows_that_were_not_fitted(
    n_train: int, label: str, off: float
) -> None:
    """In the train part it is zero by construction, and would hide a shift in the test part."""
    dataset = drawn(1000, noise=0.02)
    late = np.arange(1000) >= 800
    shifted = replace(dataset, target=dataset.target - np.where(late, 0.3, 0.0))
    (axes,) = plots.residuals(linear(half_width=0.1), shifted, n_train, "Error").axes
    (line,) = (each for each in axes.lines if str(each.get_label()).startswith("median"))
    assert line.get_label() == label
    assert np.mean(np.asarray(line.get_ydata(), dtype=float)) == pytest.approx(off, abs=0.06)


def test_a_fit_without_a_test_part_has_no_test_in_its_legend() -> None:
    figure = plots.scatter(linear(), drawn(100), 100, np.zeros(100, dtype=bool), "Against the reference")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["train", "1:1"]
