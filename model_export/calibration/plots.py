"""The plots a scientist looks at first."""

from itertools import pairwise
from math import inf

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from model_export.calibration.export import density
from model_export.calibration.interval import half_widths
from model_export.calibration.size_curve import Curves
from model_export.figures.axes import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    SAND,
    SKY,
    STYLE,
    VERMILLION,
    blank,
    date_axis,
    legend_below,
    single,
    times_of,
    with_gaps,
)
from model_export.recordings.dataset import Dataset

DETAIL_DAYS = 3  # more would be unreadable at a phone's width
DAY_MS = 86_400_000
LEGIBLE = 1.5  # times the size of the next tick: closer ones would overlap


@rc_context(STYLE)
def timeline(model: Model, dataset: Dataset, n_train: int, title: str) -> Figure:
    """The last days window by window, and the error of every day; windows after n_train are the test."""
    figure = blank(4.6, title)
    detail, whole = figure.subplots(2, height_ratios=[3.0, 2.0])
    end_ms = int(dataset.start_ms[-1]) + dataset.window_ms
    first = int(np.searchsorted(dataset.start_ms, end_ms - DETAIL_DAYS * DAY_MS))
    _follow(detail, model, dataset.part(slice(first, None)))
    _errors_by_day(whole, model, dataset)
    _shade_test(whole, dataset, n_train)
    if first < n_train:
        _shade_test(detail, dataset, n_train)
    span = f"the last {DETAIL_DAYS} days" if first else "the whole recording"
    span += ", part of the test" if 0 < n_train <= first else ""
    detail.set_title(span, fontsize=8.5, loc="left")
    whole.set_title(
        "error of each day: median, and 80% of it; dashed: the interval", fontsize=8.5, loc="left"
    )
    if first == 0:
        whole.set_xlim(detail.get_xlim())
    date_axis(detail)
    date_axis(whole)
    whole.set_xlabel("time (UTC)")
    figure.align_ylabels()
    legend_below(figure, detail, whole, columns=3)
    return figure


@rc_context(STYLE)
def scatter(model: Model, dataset: Dataset, n_train: int, outliers: NDArray[np.bool_], title: str) -> Figure:
    """Estimate against reference, with the line where both agree."""
    figure, axes = single(4.7, title)
    estimate, reference = model.predict(dataset.inputs, dataset.auxiliary), dataset.target
    _dots(axes, reference, estimate, n_train)
    _mark_outliers(axes, reference[:n_train], estimate[:n_train], outliers)
    low, high = min(reference.min(), estimate.min()), max(reference.max(), estimate.max())
    margin = 0.03 * (high - low)
    span = (low - margin, high + margin)
    axes.plot(span, span, color=INK, lw=0.8, ls="--", label="1:1")
    axes.set(xlim=span, ylim=span, aspect="equal")
    axes.set(xlabel=f"reference {_gas(model)}", ylabel=f"estimated {_gas(model)}")
    legend_below(figure, axes)
    return figure


@rc_context(STYLE)
def residuals(model: Model, dataset: Dataset, n_train: int, title: str) -> Figure:
    """The error at each temperature."""
    figure, axes = single(3.2, title)
    estimate = model.predict(dataset.inputs, dataset.auxiliary)
    error = estimate - dataset.target
    axes.axhline(0.0, color=INK, lw=0.8)
    _dots(axes, dataset.auxiliary, error, n_train)
    judged = n_train if n_train < len(dataset) else 0
    centres, medians = _running_median(dataset.auxiliary[judged:], error[judged:])
    axes.plot(centres, medians, color=VERMILLION, lw=1.8, label="median, test" if judged else "median")
    half_width = _usual_half_width(model, estimate)
    _interval_lines(axes, model, half_width)
    limit = _robust_limit(half_width, error)
    beyond = int((np.abs(error) > limit).sum())
    if beyond:
        note = f"{beyond} of {len(error)} windows lie beyond this scale"
        axes.set_title(note, fontsize=8, loc="right", color=GREY)
    axes.set(xlabel="temperature (°C)", ylabel=f"estimate - reference ({model.unit})", ylim=(-limit, limit))
    legend_below(figure, axes)
    return figure


@rc_context(STYLE)
def weights(model: Model, title: str) -> Figure:
    """w1, …, wd and b over temperature, and the training density; grey where there was no training.

    The constant weights of warming are words, not panels.
    """
    names = [*model.measured, "bias"]
    found = density(model)
    rows = len(names) + (found is not None)
    heights = [2.0] * len(names) + [1.0] * (found is not None)
    figure = blank(0.9 + 1.25 * len(names), title)
    panels = np.atleast_1d(figure.subplots(rows, sharex=True, height_ratios=heights))
    low, high = _temperatures(model)
    grid = np.linspace(low - 0.08 * (high - low), high + 0.08 * (high - low), 400)
    curves, colours = model.weights(grid), [BLUE, ORANGE, GREEN, VERMILLION]
    for row, (axes, name) in enumerate(zip(panels, names, strict=False)):
        column = -1 if name == "bias" else row
        axes.plot(grid, curves[:, column], color=INK if name == "bias" else colours[row % 4], lw=1.6)
        per = "" if name == "bias" else _per_unit(model)
        axes.set_ylabel(f"{name}\n({model.unit}{per})")
    if found is not None:
        edges, counts = found
        panels[-1].stairs(counts, edges, fill=True, color=GREY)
        panels[-1].set_ylabel("train\nwindows")
        panels[-1].yaxis.set_major_locator(MaxNLocator(2, integer=True))
    for axes in panels:
        axes.axvspan(grid[0], low, color=PALE, lw=0)
        axes.axvspan(high, grid[-1], color=PALE, lw=0)
    panels[0].set(xlim=(grid[0], grid[-1]))
    panels[0].set_title(_constants(model), fontsize=8, loc="left", color=GREY)
    panels[-1].set_xlabel("temperature (°C); shaded: outside the training data")
    figure.align_ylabels()
    return figure


@rc_context(STYLE)
def compression(curves: Curves, full: float, chosen: int, title: str) -> Figure:
    """R² on the train part against the number of support vectors, for each method."""
    figure, axes = single(3.2, title)
    styles = zip(curves.items(), (BLUE, ORANGE), ("o-", "s--"), strict=False)
    for (method, points), colour, style in styles:
        sizes, r2 = [point.size for point in points], [point.r2_train for point in points]
        axes.plot(sizes, r2, style, color=colour, ms=4, label=method)
    axes.axhline(full, color=INK, lw=0.8, label="full model")
    axes.axvline(chosen, color=VERMILLION, lw=1.0, ls=":", label=f"chosen: {chosen}")
    every = sorted({point.size: point.bytes for points in curves.values() for point in points}.items())
    axes.set_xscale("log", base=2)
    apart = [one for one, after in pairwise([*every, (inf, 0)]) if after[0] >= LEGIBLE * one[0]]
    axes.set_xticks([size for size, _ in apart], [f"{size}\n{count / 1000:.1f}" for size, count in apart])
    axes.minorticks_off()
    reached = [full, *(point.r2_train for points in curves.values() for point in points)]
    axes.set_ylim(max(min(reached), full - 0.1) - 0.004, max(reached) + 0.004)
    axes.set(xlabel="support vectors (above), kB of bundle (below)", ylabel="R² on the train part")
    legend_below(figure, axes)
    return figure


def _constants(model: Model) -> str:
    """The weights of warming, which are the same at all temperatures."""
    constant = dict(zip(model.channels, model.weights([model.auxiliary_scale.centre])[0], strict=False))
    found = [f"{name} {constant[name]:+.2g}" for name in model.warming]
    return f"{', '.join(found)} {model.unit}/°C" if found else ""


def _dots(axes: Axes, x: Array, y: Array, n_train: int) -> None:
    """Train windows in grey, those that were not fitted in blue."""
    if n_train:
        axes.scatter(x[:n_train], y[:n_train], s=7, color=GREY, alpha=0.5, lw=0, label="train")
    if n_train < len(x):
        label = "test" if n_train else "windows"
        axes.scatter(x[n_train:], y[n_train:], s=9, color=BLUE, alpha=0.7, lw=0, label=label)


def _follow(axes: Axes, model: Model, dataset: Dataset) -> None:
    """The estimate as a line in its interval, the reference as dots: neither hides the other."""
    estimate = model.predict(dataset.inputs, dataset.auxiliary)
    width = half_widths(model, dataset, estimate)
    times, (reference, curve, half) = with_gaps(dataset.start_ms, dataset.target, estimate, width)
    if model.interval:
        label = f"{model.interval.level:.0%} interval"
        axes.fill_between(times, curve - half, curve + half, color=SKY, alpha=0.45, lw=0, label=label)
    axes.plot(times, curve, color=BLUE, lw=0.9, label="estimate")
    axes.plot(times, reference, ".", color=INK, ms=2.2, label="reference")
    axes.set_ylabel(_gas(model))


def _errors_by_day(axes: Axes, model: Model, dataset: Dataset) -> None:
    estimate = model.predict(dataset.inputs, dataset.auxiliary)
    error = estimate - dataset.target
    _, first = np.unique(dataset.start_ms // DAY_MS, return_index=True)
    spread = np.array([np.percentile(day, [10.0, 50.0, 90.0]) for day in np.split(error, first[1:])])
    middle = times_of(np.array([np.median(day) for day in np.split(dataset.start_ms, first[1:])]))
    axes.axhline(0.0, color=INK, lw=0.8)
    _interval_lines(axes, model, _usual_half_width(model, estimate))
    axes.vlines(middle, spread[:, 0], spread[:, 2], color=GREY, lw=1.6)
    axes.plot(middle, spread[:, 1], "o", color=VERMILLION, ms=3.2)
    axes.set_ylabel(f"error ({model.unit})")


def _shade_test(axes: Axes, dataset: Dataset, first: int) -> None:
    if 0 < first < len(dataset):
        start, end = times_of(dataset.start_ms[[first, -1]] + np.array([0, dataset.window_ms]))
        axes.axvspan(start, end, color=SAND, lw=0, zorder=0, label="test")


def _usual_half_width(model: Model, estimate: Array) -> float:
    """That of the median estimate; 0 without an interval."""
    return float(model.interval.half_widths(np.median(estimate))) if model.interval else 0.0


def _robust_limit(half_width: float, error: Array) -> float:
    """Half the height of a scale that shows most errors and the interval."""
    return 1.1 * max(float(np.percentile(np.abs(error), 98.0)), 1.5 * half_width) or 1.0


def _mark_outliers(axes: Axes, x: NDArray[np.generic], y: Array, outliers: NDArray[np.bool_]) -> None:
    if outliers.any():
        axes.plot(x[outliers], y[outliers], "x", color=VERMILLION, ms=3, mew=0.8, ls="", label="outlier")


def _per_unit(model: Model) -> str:
    return " per unit" if model.power == 1.0 else f" per unit^{model.power:g}"


def _gas(model: Model) -> str:
    return f"{model.gas} ({model.unit})"


def _interval_lines(axes: Axes, model: Model, half_width: float) -> None:
    if model.interval:
        where = " of the median" if model.interval.slope else ""
        label = f"{model.interval.level:.0%} interval{where}"
        axes.axhline(half_width, color=GREEN, lw=1.0, ls="--", label=label)
        axes.axhline(-half_width, color=GREEN, lw=1.0, ls="--")


def _running_median(x: Array, y: Array) -> tuple[Array, Array]:
    """The median of y in each of up to 20 groups of at least 5 neighbouring x."""
    groups = np.array_split(np.argsort(x), min(20, max(len(x) // 5, 1)))
    return np.array([np.median(x[group]) for group in groups]), np.array(
        [np.median(y[group]) for group in groups]
    )


def _temperatures(model: Model) -> tuple[float, float]:
    scale = model.auxiliary_scale
    return model.domain.get(
        model.auxiliary, (scale.centre - 2 * scale.spread, scale.centre + 2 * scale.spread)
    )
