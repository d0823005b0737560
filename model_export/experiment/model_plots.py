"""Pictures of fitted models: weight curves side by side, compression, and a fault before and after."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from model_export.figures.axes import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    STYLE,
    VERMILLION,
    blank,
    legend_below,
    single,
)

BIAS = "bias"
Curves = Mapping[str, Sequence[Any]]  # temperature, channels, and curves: w1, …, wd, b


@rc_context(STYLE)
def weight_curves(models: Mapping[str, Curves], unit: str, title: str) -> Figure:
    """w1, …, wd and b over temperature, one column a model, each row on one scale.

    Weights that are constant in every model, such as those of warming, are words, not panels.
    """
    named = {
        name: dict(zip((*one["channels"], BIAS), one["curves"], strict=True)) for name, one in models.items()
    }
    every = dict.fromkeys(weight for weights in named.values() for weight in weights)
    still = [weight for weight in every if not any(np.ptp(one.get(weight, 0.0)) for one in named.values())]
    rows = [weight for weight in every if weight not in still]
    figure = blank(1.0 + 0.12 * len(still) + 1.15 * len(rows), title)
    panels = figure.subplots(len(rows), len(models), sharex="col", sharey="row", squeeze=False)
    colours = dict(zip(rows, (BLUE, ORANGE, GREEN, VERMILLION), strict=False)) | {BIAS: INK}
    for column, (name, weights) in zip(panels.T, named.items(), strict=True):
        words = [f"{weight} {weights[weight][0]:+.2g}" for weight in still if weight in weights]
        column[0].set_title("\n".join([*name.split("_"), *words]), fontsize=8.5, loc="left")
        for axes, weight in zip(column, rows, strict=True):
            if weight in weights:
                axes.plot(models[name]["temperature"], weights[weight], color=colours.get(weight, BLUE))
        column[-1].set_xlabel("temperature (°C)")
    for axes, weight in zip(panels[:, 0], rows, strict=True):
        axes.set_ylabel(f"{weight}\n({unit}{'' if weight == BIAS else ' per unit'})", fontsize=8)
    figure.align_ylabels()
    return figure


@rc_context(STYLE)
def compression_curves(losses: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """The R² that fewer support vectors cost on the train part: median and middle half over all fits.

    Each table has one row a fit and one column a size.
    """
    figure, axes = single(3.0, title)
    styles = ((BLUE, "o-"), (ORANGE, "s--"))
    for (name, table), (colour, style) in zip(losses.items(), styles, strict=False):
        sizes = table.columns.to_numpy(dtype=float)
        low, middle, high = (table.quantile(q).clip(lower=1e-5) for q in (0.25, 0.5, 0.75))
        axes.fill_between(sizes, low, high, color=colour, alpha=0.2, lw=0)
        axes.plot(sizes, middle, style, color=colour, ms=4, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    every = sorted({size for table in losses.values() for size in table.columns})
    axes.set_xticks(every, [str(size) for size in every])
    axes.axhline(0.01, color=INK, lw=0.8, ls=":")
    axes.minorticks_off()
    axes.set(xlabel="support vectors", ylabel="R² lost against the full model")
    legend_below(figure, axes)
    return figure


@rc_context(STYLE)
def before_after(before: "pd.Series[float]", after: "pd.Series[float]", title: str) -> Figure:
    """The median R² of each method before and after a fault was corrected."""
    figure, axes = single(1.0 + 0.3 * len(before), title)
    rows = np.arange(len(before))
    then, now = (np.maximum(values.to_numpy(dtype=float), -1.0) for values in (before, after))
    axes.hlines(rows, then, now, color="#bbbbbb", lw=2.0, zorder=1)
    axes.scatter(then, rows, color=VERMILLION, marker="s", s=28, label="before", zorder=2)
    axes.scatter(now, rows, color=GREEN, marker="o", s=32, label="after", zorder=2)
    axes.set_yticks(rows, before.index)
    axes.set(xlabel="median R² over the transfers, with adapter", xlim=(min(0.0, *then, *now) - 0.05, 1.02))
    legend_below(figure, axes)
    return figure
