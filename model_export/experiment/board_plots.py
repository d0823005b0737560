"""Figures of the whole results table: wins, R² by kind and dataset, and differences between methods."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from edge_agent.core.kernel import Array
from model_export.experiment.leaderboard import Paired
from model_export.figures.axes import BLUE, GREY, INK, ORANGE, PALE, SKY, STYLE, blank, legend_below, single

COLOURS = "PRGn"  # from dark purple, poor, to dark green, good; distinct for any kind of colour vision
SCALE = Normalize(0.0, 1.0)  # of R²; 0 is no better than the mean of the reference
MOST_NUMBERS = 12  # columns of a heatmap with a number in each cell
COLOUR_OF = {"train": GREY, "SS": INK, "SX": SKY, "XS": BLUE, "XX": ORANGE}
COLOUR_OF |= {"S3": GREY, "S3a": SKY, "S4": BLUE, "S5": ORANGE}


@rc_context(STYLE)
def leaders(board: pd.DataFrame, kinds: Sequence[str], title: str) -> Figure:
    """Wins of each method, stacked by kind, the fewest at the bottom."""
    shown = board.loc[board[list(kinds)].sum(axis=1).sort_values(kind="stable").index, list(kinds)]
    figure, axes = single(0.9 + 0.27 * len(shown), title)
    left = np.zeros(len(shown))
    for kind in kinds:
        counts = shown[kind].to_numpy(dtype=float)
        axes.barh(shown.index, counts, left=left, height=0.72, color=COLOUR_OF[kind], label=kind)
        left += counts
    for row, total in enumerate(left):
        axes.text(total, row, f" {total:.0f}", va="center", fontsize=8)
    axes.set(xlabel="wins (ties count for all)", xlim=(0, 1.1 * max(left.max(), 1.0)))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.grid(axis="y", visible=False)
    _embolden(axes.get_yticklabels())
    legend_below(figure, axes)
    return figure


@rc_context(STYLE)
def heatmap(values: pd.DataFrame, title: str, label: str, **axis: str) -> Figure:
    """R² as numbers and colours, one row and column for each of the table's; `axis` names the axes."""
    tall = 0.35 if values.shape[1] <= MOST_NUMBERS else 0.16
    figure, axes = single(1.1 + tall * len(values), title)
    image = axes.imshow(values, cmap=COLOURS, norm=SCALE, aspect="auto")
    for (row, column), value in np.ndenumerate(values.to_numpy(dtype=float)):
        if np.isfinite(value) and values.shape[1] <= MOST_NUMBERS:
            colour = INK if 0.2 < value < 0.8 else "white"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)
    names = [str(name) for name in values.columns]
    crowded = sum(map(len, names)) > 40
    axes.set_xticks(range(len(names)), names, rotation=90 if crowded else 0)
    axes.set_yticks(range(len(values)), values.index)
    if len(names) > MOST_NUMBERS:
        axes.tick_params(labelsize=6.5)
    axes.set(facecolor=PALE, **axis)
    axes.grid(visible=False)
    _embolden(axes.get_yticklabels())
    figure.colorbar(image, ax=axes, label=label, extend="min", pad=0.02)
    return figure


@rc_context(STYLE)
def transfer_heatmaps(table: pd.DataFrame, methods: Sequence[str], scenario: str, title: str) -> Figure:
    """The median R² over sensors from each dataset to each other, one panel a method."""
    moved = table[(table["scenario"] == scenario) & (table["kind"] != "train")]
    names = _site_order(set(moved["dataset"]))
    columns = 2
    rows = -(-len(methods) // columns)
    figure = blank(0.9 + 1.95 * rows, title)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, method in zip(panels.flat, methods, strict=False):
        axes.tick_params(labelbottom=method in methods[-columns:])
        axes.imshow(_matrix(moved[moved["method"] == method], names), cmap=COLOURS, norm=SCALE)
        axes.set_title(method, fontsize=9, fontweight="bold" if method.startswith("RESPIRE") else "normal")
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
        axes.set_yticks(range(len(names)), names, fontsize=7)
        axes.grid(visible=False)
    for axes in panels.flat[len(methods) :]:
        axes.set_axis_off()
    figure.supxlabel("tested on", fontsize=9)
    figure.supylabel("fitted to", fontsize=9)
    figure.colorbar(
        ScalarMappable(SCALE, COLOURS), ax=panels, label="median R² over sensors", extend="min", shrink=0.6
    )
    return figure


@rc_context(STYLE)
def differences(tests: Mapping[str, Mapping[str, Paired]], best: str, title: str) -> Figure:
    """The R² of one method minus that of each other, with 95 % confidence, for each set of tests."""
    names = list(next(iter(tests.values())))
    figure, axes = single(1.1 + 0.36 * len(names), title)
    axes.axvline(0.0, color=INK, lw=0.8)
    for number, ((label, found), colour) in enumerate(zip(tests.items(), (GREY, BLUE), strict=False)):
        rows = np.arange(len(names)) + 0.16 - 0.32 * number
        means = np.array([found[name].difference for name in names])
        lows, highs = (np.array([getattr(found[name], side) for name in names]) for side in ("low", "high"))
        axes.errorbar(
            means, rows, xerr=[means - lows, highs - means], fmt="o", ms=4, color=colour, label=label
        )
        for row, mean, high, name in zip(rows, means, highs, names, strict=True):
            text = f"  p {_p(found[name].p)}, by sensor {_p(found[name].p_by_sensor)}"
            axes.text(np.nanmax([mean, high]), row, text, va="center", fontsize=7)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    left, right = axes.get_xlim()
    axes.set_xlim(left, right + 0.7 * (right - left))  # room for the text
    axes.set_xlabel(f"R² of {best} minus R² of the other (mean over transfers)")
    legend_below(figure, axes)
    return figure


def _matrix(cases: pd.DataFrame, names: Sequence[str]) -> Array:
    wide = cases.pivot_table(index="dataset", columns="target_dataset", values="r2", aggfunc="median")
    return wide.reindex(index=list(names), columns=list(names)).to_numpy(dtype=float)


def _site_order(names: Iterable[str]) -> list[str]:
    """Sorted by season, so that XS and XX are blocks."""
    return sorted(names, key=lambda name: name.rpartition("-")[::-1])


def _embolden(labels: Sequence[Any]) -> None:
    for label in labels:
        if label.get_text().startswith("RESPIRE"):
            label.set_fontweight("bold")


def _p(p: float) -> str:
    if np.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
