"""The lag scan and the weight curves of the recording with the gravest finding."""

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from model_export.doctor import erratic
from model_export.doctor.case import Case, Diagnosis
from model_export.doctor.erratic import Curves
from model_export.doctor.lag import Scan
from model_export.figures.axes import BLUE, GREY, INK, ORANGE, PALE, STYLE, VERMILLION, blank, legend_below

HOUR = 60
CLOSE_UP = 120  # minutes


def worst(diagnosis: Diagnosis) -> Case:
    """The recording of the gravest finding; the first if there is none."""
    for finding in diagnosis.findings:
        for case in diagnosis.cases:
            if finding.sensor == case.sensor and finding.dataset in (None, case.dataset):
                return case
    return diagnosis.cases[0]


@rc_context(STYLE)
def picture(diagnosis: Diagnosis) -> Figure:
    """R² of reference and sensor at every lag, and the weights over temperature."""
    case = worst(diagnosis)
    found = erratic.curves(case.law) if case.law else None
    channels = len(case.windows.channels) if found else 0
    name = case.sensor if case.dataset == case.sensor else f"{case.sensor} in {case.dataset}"
    figure = blank(3.0 + 1.7 * channels, f"{name}\nIs the clock right? Are the weights above noise?")
    panels = np.atleast_1d(figure.subplots(1 + channels))
    _lags(panels[0], case.scan, case.minutes)
    if found:
        for place, axes in enumerate(panels[1:]):
            _weights(axes, found, place, case.windows.channels[place])
        panels[-1].set_xlabel("temperature (°C)")
    figure.align_ylabels()
    legend_below(figure, *panels, columns=3)
    return figure


def _lags(axes: Axes, scan: Scan | None, minutes: int) -> None:
    axes.set(xlabel="reference moved later by (minutes)", ylabel="R² of the reference\non the channels")
    if scan is None:
        axes.text(0.5, 0.5, "too short to compare the clocks", ha="center", transform=axes.transAxes)
        return
    reach = max(CLOSE_UP, abs(int(scan.best[0])) + HOUR)
    near = np.abs(scan.lags) <= reach
    axes.plot(scan.lags[near], scan.explained[near], color=BLUE, lw=1.4)
    axes.axvline(0.0, color=GREY, lw=1.0, ls="--", label="as stamped")
    if minutes:
        axes.axvline(minutes, color=VERMILLION, lw=1.2, label=f"corrected: {minutes:+d}")
    axes.set_ylim(bottom=0.0)


def _weights(axes: Axes, found: Curves, place: int, channel: str) -> None:
    """A weight with its null band around zero."""
    band, carries = found.band[:, place], place == found.carrier
    axes.fill_between(found.temperatures, -band, band, color=PALE, lw=0, label="noise alone")
    axes.axhline(0.0, color=GREY, lw=0.8)
    label = "main weight" if carries else "other weight"
    colour = INK if carries else ORANGE
    axes.plot(found.temperatures, found.weights[:, place], color=colour, lw=1.6, label=label)
    if carries:
        rough = found.roughness >= 1.0
        axes.plot(
            found.temperatures[rough],
            found.weights[rough, place],
            "x",
            color=VERMILLION,
            ms=4,
            label="erratic",
        )
    axes.set_ylabel(f"weight of {channel}\n(standardised)")
