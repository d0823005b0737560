"""The theorem as a figure: error against corruption, and the breakdown point against N."""

from collections.abc import Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from model_export.experiment.breakdown import ADVERSARIES, TOLERANCE, Limit, Point
from model_export.figures.axes import BLUE, GREEN, GREY, INK, ORANGE, STYLE, VERMILLION, blank, legend_below

LOOKS = dict(zip(ADVERSARIES, ((GREEN, "o"), (BLUE, "s"), (ORANGE, "^"), (VERMILLION, "D")), strict=True))
TITLES = {"projection": "the theorem's step", "ridge": "RESPIRE's step (ridge)"}


@rc_context(STYLE)
def breakdown_plot(points: Sequence[Point], found: Sequence[Limit], title: str) -> Figure:
    """Above: the error for the largest N. Below: the breakdown point beside √N.

    A hollow mark survived every corruption that was tried, so its breakdown point is higher.
    """
    figure = blank(5.6, title)
    steps = list(dict.fromkeys(point.step for point in points))
    panels = figure.subplots(2, len(steps), sharey="row", squeeze=False)
    for (above, below), step in zip(panels.T, steps, strict=True):
        _errors(above, [point for point in points if point.step == step])
        _limits(below, [limit for limit in found if limit.step == step])
        above.set_title(TITLES[step], fontsize=8.5, loc="left")
    panels[0, 0].set_ylabel("error (standard deviations)")
    panels[1, 0].set_ylabel("corruptions survived k\n(hollow: or more)")
    legend_below(figure, panels[1, 0])
    return figure


def _errors(axes: Axes, points: Sequence[Point]) -> None:
    largest = max(point.n for point in points)
    for adversary, (colour, marker) in LOOKS.items():
        rows = [point for point in points if point.adversary == adversary and point.n == largest]
        errors = np.maximum([point.error for point in rows], 1e-8)
        axes.plot([100 * point.fraction for point in rows], errors, marker=marker, ms=3.5, color=colour)
    axes.axhline(TOLERANCE, color=GREY, lw=0.9, ls=":")
    axes.set_yscale("log")
    axes.set_xlabel(f"corrupted (%), N = {largest}")


def _limits(axes: Axes, found: Sequence[Limit]) -> None:
    sizes = np.array(sorted({limit.n for limit in found}), dtype=float)
    axes.plot(sizes, np.sqrt(sizes), color=INK, lw=1.4, ls="--", label="√N")
    for adversary, (colour, marker) in LOOKS.items():
        rows = [limit for limit in found if limit.adversary == adversary and limit.k > 0]
        axes.plot(
            [row.n for row in rows],
            [row.k for row in rows],
            marker=marker,
            ms=4,
            color=colour,
            label=adversary,
        )
        beyond = [row for row in rows if row.censored]
        axes.plot(
            [row.n for row in beyond], [row.k for row in beyond], marker, ms=4, color=colour, mfc="white"
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes], rotation=90)
    axes.minorticks_off()
    axes.set_xlabel("N")
