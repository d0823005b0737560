"""Figures of single cases: transfers over time, the cost of outliers, one sensor in another's place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import gaussian_kde

from edge_agent.core.kernel import Array
from model_export.experiment.cases import trimmed_r2
from model_export.figures.axes import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    SKY,
    STYLE,
    VERMILLION,
    blank,
    date_axis,
    legend_below,
    single,
    with_gaps,
)
from model_export.regression.metrics import r2

SHARES = np.linspace(0.0, 0.1, 21)  # of the test windows that are left out
SCENARIO_COLOURS = {"S1": GREY, "S2": INK, "S3": ORANGE, "S4": SKY, "S5": BLUE}
GAPS = (-2.0, 1.0)  # differences of R² beyond these are clipped
LOWEST = -1.0  # R²; a lower bar is cut and labelled with its value


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One transfer of one method: estimates for the target's test part, without and with adapter."""

    title: str
    unit: str
    start_ms: NDArray[np.int64]
    reference: Array
    estimate: Array
    adapted: Array


@rc_context(STYLE)
def series(cases: Sequence[Case], title: str) -> Figure:
    """Reference and estimates over time, without and with adapter, one panel a case."""
    figure = blank(0.7 + 2.0 * len(cases), title)
    panels = figure.subplots(len(cases), squeeze=False)[:, 0]
    for axes, case in zip(panels, cases, strict=True):
        found = case.reference, case.estimate, case.adapted
        times, (reference, plain, adapted) = with_gaps(case.start_ms, *found)
        axes.plot(times, reference, color=INK, lw=1.0, label="reference")
        axes.plot(times, plain, color=ORANGE, lw=1.0, ls="--", label="without adapter")
        axes.plot(times, adapted, color=BLUE, lw=1.0, label="with adapter")
        before, after = r2(case.reference, case.estimate), r2(case.reference, case.adapted)
        axes.set_title(f"{case.title}: R² {before:.2f}, with adapter {after:.2f}", fontsize=8, loc="left")
        axes.set_ylabel(case.unit)
        date_axis(axes)
    legend_below(figure, panels[0])
    return figure


@rc_context(STYLE)
def robust_curves(cases: Sequence[Case], title: str) -> Figure:
    """R² without the worst share δ of test windows, against δ."""
    figure = blank(2.7, title)
    panels = figure.subplots(1, len(cases), sharey=True, squeeze=False)[0]
    for axes, case in zip(panels, cases, strict=True):
        for label, estimate, style in (
            ("without adapter", case.estimate, {"color": ORANGE, "ls": "--"}),
            ("with adapter", case.adapted, {"color": BLUE}),
        ):
            curve = [trimmed_r2(case.reference, estimate, share) for share in SHARES]
            axes.plot(100 * SHARES, np.maximum(curve, LOWEST), lw=1.6, label=label, **style)
        axes.axvline(5.0, color=GREY, lw=0.8, ls=":")
        axes.set_title(case.title.replace(": ", ":\n"), fontsize=8, loc="left")
        axes.set_xlabel("left out δ (%)")
    panels[0].set_ylabel("R² of the rest")
    legend_below(figure, panels[0])
    return figure


@rc_context(STYLE)
def scenario_bars(pairs: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """S1-S5 of a pair of sensors, one panel a direction; the tables have a row a kind."""
    figure = blank(0.8 + 1.8 * len(pairs), title)
    panels = figure.subplots(len(pairs), sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, (name, medians) in zip(panels, pairs.items(), strict=True):
        _bars(axes, medians)
        axes.set_title(name, fontsize=8.5, loc="left")
        axes.set_ylabel("median R²")
    negative = any((medians < 0.0).to_numpy().any() for medians in pairs.values())
    panels[0].set_ylim(LOWEST if negative else 0.0, 1.05)
    legend_below(figure, panels[0])
    return figure


def _bars(axes: Axes, medians: pd.DataFrame) -> None:
    axes.axhline(0.0, color=INK, lw=0.8)
    for number, (scenario, colour) in enumerate(SCENARIO_COLOURS.items()):
        at = np.arange(len(medians)) + 0.16 * (number - 2)
        heights = medians[scenario].to_numpy(dtype=float)
        axes.bar(at, np.maximum(heights, LOWEST), 0.15, color=colour, label=scenario)
        for x, height in zip(at, heights, strict=True):
            if height < LOWEST:
                axes.text(x, LOWEST + 0.04, f"{height:.0f}", rotation=90, ha="center", fontsize=6.5)
    axes.set_xticks(range(len(medians)), medians.index)
    axes.grid(axis="x", visible=False)


@rc_context(STYLE)
def gap_density(groups: Mapping[str, Array], title: str) -> Figure:
    """The density of S5 - S2, the cost of moving to another sensor; each group has a peak of 1."""
    figure, axes = single(2.8, title)
    cut = {
        name: np.clip(gaps, *GAPS) for name, gaps in groups.items() if len(gaps) > 1 and np.ptp(gaps) > 0.0
    }
    curves = {name: gaussian_kde(gaps) for name, gaps in cut.items()}
    margin = max((3.0 * float(np.sqrt(curve.covariance.item())) for curve in curves.values()), default=0.1)
    low, high = np.quantile(np.concatenate([np.zeros(1), *cut.values()]), (0.01, 0.99))
    grid = np.linspace(low - margin, high + margin, 600)
    for (name, gaps), colour in zip(cut.items(), (VERMILLION, GREEN), strict=False):
        density = curves[name](grid)
        axes.fill_between(grid, density / density.max(), color=colour, alpha=0.25, lw=0)
        axes.plot(grid, density / density.max(), color=colour, label=f"{name} (n = {len(gaps)})")
    axes.axvline(0.0, color=INK, lw=0.8)
    axes.set(xlabel="S5 - S2: R² on another sensor, minus R² at home", ylabel="density (peak = 1)")
    axes.set_ylim(bottom=0.0)
    legend_below(figure, axes)
    return figure
