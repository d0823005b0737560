"""The gravest finding, as a picture: the residual over time, the column, the lag scan, or the weights."""

from textwrap import wrap

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edge_agent.core.kernel import Array
from edge_agent.core.messages import parse_time
from model_export.doctor import erratic
from model_export.doctor.case import Case, Diagnosis
from model_export.doctor.erratic import Curves
from model_export.doctor.finding import Finding
from model_export.doctor.lag import Scan
from model_export.doctor.minutes import DAY_MS
from model_export.doctor.smooth import Smooth
from model_export.figures.axes import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PALE,
    STYLE,
    VERMILLION,
    blank,
    date_axis,
    legend_below,
    times_of,
)

HOUR = 60
CLOSE_UP = 120  # minutes


SERIES = ("stuck_channel", "clipped_channel", "sentinel_values", "dead_channel")  # seen in the column itself
OVER_TIME = ("drift", "reference_zero_shift", "outliers")  # seen in what the channels do not explain
MOST_POINTS = 20_000


def worst(diagnosis: Diagnosis) -> tuple[Case, Finding | None]:
    """The recording of the gravest finding, and the finding; the first recording if there is none."""
    for finding in diagnosis.findings:
        for case in diagnosis.cases:
            if finding.sensor == case.sensor and finding.dataset in (None, case.dataset):
                return case, finding
    return diagnosis.cases[0], None


@rc_context(STYLE)
def picture(diagnosis: Diagnosis) -> Figure:
    """What shows the gravest finding best; without one, the clock and the weights."""
    case, finding = worst(diagnosis)
    name = case.sensor if case.dataset == case.sensor else f"{case.sensor} in {case.dataset}"
    if finding and finding.code in SERIES and finding.evidence.get("column") in case.recording.series:
        return _column(case, finding, name)
    if finding and finding.code in OVER_TIME and case.law:
        return _unexplained(case, case.law, finding, name)
    return _clock_and_weights(case, name)


def _column(case: Case, finding: Finding, name: str) -> Figure:
    """The column over the whole recording, with the stretch that the finding is about."""
    figure = blank(3.0, f"{name}\n{_wrapped(finding.summary)}")
    axes, column = figure.subplots(), str(finding.evidence["column"])
    series = case.recording.series[column]
    step = 1 + len(series.at_ms) // MOST_POINTS
    axes.plot(times_of(series.at_ms[::step]), series.values[::step], ".", color=BLUE, ms=1.5, label=column)
    first, last = (finding.evidence.get(key) for key in ("from", "to"))
    if isinstance(first, str) and isinstance(last, str):
        at = times_of(np.array([parse_time(first), parse_time(last)]))
        axes.axvspan(at[0], at[1], color=VERMILLION, alpha=0.35, lw=0, label=finding.code.replace("_", " "))
    if isinstance(value := finding.evidence.get("value"), int | float):
        axes.axhline(float(value), color=VERMILLION, lw=1.0, ls="--", label=f"{value:g}")
    axes.set_ylabel(column)
    date_axis(axes)
    legend_below(figure, axes)
    return figure


def _unexplained(case: Case, law: Smooth, finding: Finding, name: str) -> Figure:
    """What the channels do not explain of the reference, by day, with the time of a step."""
    figure = blank(3.0, f"{name}\n{_wrapped(finding.summary)}")
    axes, rest = figure.subplots(), law.residual * law.data.target_scale.spread
    rest = rest + _absorbed(case, law, finding)
    axes.plot(times_of(case.windows.start_ms), rest, ".", color=GREY, ms=2, label="each window")
    days, first = np.unique(case.windows.start_ms // DAY_MS, return_index=True)
    medians = [float(np.median(day)) for day in np.split(rest, first[1:])]
    axes.plot(times_of(days * DAY_MS + DAY_MS // 2), medians, "o-", color=BLUE, ms=3, label="median of a day")
    if isinstance(at := finding.evidence.get("at"), str):
        axes.axvline(times_of(np.array([parse_time(at)]))[0], color=VERMILLION, lw=1.2, label="the step")
    axes.axhline(0.0, color=INK, lw=0.8)
    axes.set_ylim(*np.percentile(rest, [0.5, 99.5]))
    axes.set_ylabel("reference that the\nchannels do not explain")
    axes.set_xlabel("time (UTC)")
    date_axis(axes)
    legend_below(figure, axes)
    return figure


def _absorbed(case: Case, law: Smooth, finding: Finding) -> Array | float:
    """What the channels explain of a change, because they changed with it; the finding is about all of it."""
    if "ramp" not in finding.evidence:
        return 0.0
    starts = case.windows.start_ms.astype(float)
    shape, change = (starts - starts[0]) / np.ptp(starts), finding.evidence["ramp"]["change"]
    if isinstance(at := finding.evidence.get("at"), str):
        shape, change = (starts >= parse_time(at)).astype(float), finding.evidence["step"]["change"]
    explained = law.design @ (np.linalg.pinv(law.design) @ shape)
    return np.asarray(change * (explained - explained.mean()))


def _wrapped(text: str) -> str:
    return "\n".join(wrap(text, 56))


def _clock_and_weights(case: Case, name: str) -> Figure:
    """R² of reference and sensor at every lag, and the weights over temperature."""
    found = erratic.curves(case.law) if case.law else None
    channels = len(case.windows.channels) if found else 0
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
