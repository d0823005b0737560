"""Pictures of the whole results table: who wins, how good each method is where, and by how much."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from edge_agent.core.kernel import Array
from model_export.experiment.leaderboard import Paired
from model_export.figures.axes import BLUE, GREY, INK, ORANGE, SKY, STYLE, blank, legend_below, single

COLOURS = "PRGn"  # dark purple is poor, dark green is good; told apart with any kind of colour vision
WORST = 0.0  # R² below this is as dark as it gets: no better than the reference's mean
COLOUR_OF = {"train": GREY, "SS": INK, "SX": SKY, "XS": BLUE, "XX": ORANGE}
COLOUR_OF |= {"S3": GREY, "S3a": SKY, "S4": BLUE, "S5": ORANGE}


@rc_context(STYLE)
def leaders(board: pd.DataFrame, kinds: Sequence[str], title: str) -> Figure:
    """Wins of each method, stacked by kind; the fewest at the bottom."""
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
    axes.grid(axis="y", visible=False)
    _embolden(axes.get_yticklabels())
    legend_below(figure, axes)
    return figure


@rc_context(STYLE)
def kinds_heatmap(medians: pd.DataFrame, kinds: Sequence[str], title: str) -> Figure:
    """The median R² of each method for each kind, in figures and colours."""
    figure, axes = single(0.9 + 0.3 * len(medians), title)
    values = medians.reindex(columns=list(kinds)).to_numpy(dtype=float)
    image = axes.imshow(values, cmap=COLOURS, norm=norm(), aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=readable(value))
    axes.set_xticks(range(len(kinds)), [kind.replace(" with adapter", "\n+ adapter") for kind in kinds])
    axes.set_yticks(range(len(medians)), medians.index)
    axes.grid(visible=False)
    _embolden(axes.get_yticklabels())
    figure.colorbar(image, ax=axes, label="median R²", extend="min", pad=0.02)
    return figure


@rc_context(STYLE)
def transfer_heatmaps(table: pd.DataFrame, methods: Sequence[str], scenario: str, title: str) -> Figure:
    """For each method, from which dataset to which: the median R² over sensors, one colour bar for all."""
    moved = table[(table["scenario"] == scenario) & (table["kind"] != "train")]
    names = _site_order(set(moved["dataset"]))
    columns = 2
    rows = -(-len(methods) // columns)
    figure = blank(0.9 + 1.95 * rows, title)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, method in zip(panels.flat, methods, strict=False):
        axes.tick_params(labelbottom=method in methods[-columns:])
        axes.imshow(_matrix(moved[moved["method"] == method], names), cmap=COLOURS, norm=norm())
        axes.set_title(method, fontsize=9, fontweight="bold" if method.startswith("RESPIRE") else "normal")
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
        axes.set_yticks(range(len(names)), names, fontsize=7)
        axes.grid(visible=False)
    for axes in panels.flat[len(methods) :]:
        axes.set_axis_off()
    figure.supxlabel("judged on the test part of", fontsize=9)
    figure.supylabel("learnt from the train part of", fontsize=9)
    colours = ScalarMappable(norm(), COLOURS)
    figure.colorbar(colours, ax=panels, label="median R² over sensors", extend="min", shrink=0.6)
    return figure


@rc_context(STYLE)
def differences(tests: Mapping[str, Mapping[str, Paired]], best: str, title: str) -> Figure:
    """How much better one method is than each other, with 95 % confidence, for every series of tests."""
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
    axes.set_xlim(left, right + 0.7 * (right - left))  # the text's
    axes.set_xlabel(f"R² of {best} minus R² of the other (mean over transfers)")
    legend_below(figure, axes)
    return figure


def _matrix(cases: pd.DataFrame, names: Sequence[str]) -> Array:
    wide = cases.pivot_table(index="dataset", columns="target_dataset", values="r2", aggfunc="median")
    return wide.reindex(index=list(names), columns=list(names)).to_numpy(dtype=float)


def _site_order(names: Iterable[str]) -> list[str]:
    """Seasons together, so that XS and XX are blocks."""
    return sorted(names, key=lambda name: name.rpartition("-")[::-1])


def norm() -> Normalize:
    """The common scale of all heatmaps."""
    return Normalize(WORST, 1.0)


def readable(value: float) -> str:
    """A colour for figures on the heatmap's."""
    return INK if 0.2 < value < 0.8 else "white"


def _embolden(labels: Sequence[Any]) -> None:
    for label in labels:
        if label.get_text().startswith("RESPIRE"):
            label.set_fontweight("bold")


def _p(p: float) -> str:
    if np.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
