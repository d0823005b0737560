"""The error by hour of the day and by day of the week: what a calibration misses regularly."""

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from model_export.figures.axes import GREY, INK, STYLE, VERMILLION, blank, legend_below
from model_export.recordings.dataset import Dataset

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
WEEK = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")


@rc_context(STYLE)
def profiles(model: Model, dataset: Dataset, title: str) -> Figure:
    """Median and middle 80 % of the error in each hour (UTC) and on each day of the week."""
    error = model.predict(dataset.inputs, dataset.auxiliary) - dataset.target
    days = dataset.start_ms // DAY_MS
    weekly = len(np.unique(days)) >= 2 * len(WEEK)
    figure = blank(3.0, f"{title} and day" if weekly else title)
    panels = figure.subplots(1, 1 + weekly, sharey=True, squeeze=False, width_ratios=[2, 1][: 1 + weekly])[0]
    _profile(panels[0], dataset.start_ms % DAY_MS // HOUR_MS, error)
    panels[0].set(xlabel="hour of the day (UTC)", ylabel=f"estimate - reference ({model.unit})")
    panels[0].set_xticks(range(0, 24, 6))
    if weekly:
        _profile(panels[1], (days + 3) % 7, error)  # the epoch began on a Thursday
        panels[1].set_xticks(range(len(WEEK)), WEEK)
        panels[1].set_xlabel("day of the week")
    legend_below(figure, *panels)
    return figure


def _profile(axes: Axes, groups: NDArray[np.int64], error: Array) -> None:
    there = np.unique(groups)
    spread = np.array([np.percentile(error[groups == group], [10.0, 50.0, 90.0]) for group in there])
    axes.axhline(0.0, color=INK, lw=0.8)
    axes.vlines(there, spread[:, 0], spread[:, 2], color=GREY, lw=1.6, label="80 % of the errors")
    axes.plot(there, spread[:, 1], "o", color=VERMILLION, ms=3.2, label="median")
