"""The palette and the axes of every plot: readable on a phone and by colour-blind people."""

from io import BytesIO
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from numpy.typing import NDArray

from edge_agent.core.kernel import Array

# The palette of Okabe and Ito, whose colours are distinct with any kind of colour vision.
BLUE, ORANGE, VERMILLION, GREEN, INK = "#0072B2", "#E69F00", "#D55E00", "#009E73", "#222222"
GREY, PALE, SAND, SKY = "#8a8a8a", "#f0f0f0", "#fbeecb", "#56B4E9"
WIDTH = 4.8  # inches; on a phone of 360 px the smallest text is 9 px high
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "figure.titlesize": 9.5,
    "figure.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.markerscale": 1.6,
    "lines.linewidth": 1.2,
    "figure.facecolor": "white",
}


def png(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=200)
    figure.set_layout_engine("none")  # it is laid out now: to draw it again takes half the time
    return file.getvalue()


def svg(figure: Figure) -> bytes:
    """The figure as an SVG file, the same bytes for the same figure; text stays text."""
    file = BytesIO()
    with rc_context({"svg.hashsalt": "respire-edge", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def single(height: float, title: str) -> tuple[Figure, Axes]:
    """A figure with one panel."""
    figure = blank(height, title)
    return figure, figure.subplots()


def blank(height: float, title: str) -> Figure:
    """A figure without panels."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    figure.suptitle(title, x=0.02, horizontalalignment="left")
    return figure


def date_axis(axes: Axes) -> None:
    """Few dates, in short form."""
    locator: Any = AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def legend_below(figure: Figure, *panels: Axes, columns: int | None = None) -> None:
    """One legend under all panels; an entry of several panels appears once."""
    named: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    options = {"ncols": columns or len(named), "handlelength": 1.4, "columnspacing": 1.0}
    figure.legend([*named.values()], [*named], loc="outside lower center", **options)


def times_of(at_ms: NDArray[np.int64]) -> NDArray[np.datetime64]:
    """Event time in matplotlib's form."""
    return at_ms.astype("datetime64[ms]")


def with_gaps(start_ms: NDArray[np.int64], *series: Array) -> tuple[NDArray[np.datetime64], list[Array]]:
    """Times and series with a NaN before each gap, so that no line crosses an outage."""
    step_ms = int(np.median(np.diff(start_ms))) if len(start_ms) > 1 else 0
    after = np.flatnonzero(np.diff(start_ms) > 4 * step_ms) + 1
    times = np.insert(start_ms, after, start_ms[after - 1] + step_ms)
    return times_of(times), [np.insert(values, after, np.nan) for values in series]
