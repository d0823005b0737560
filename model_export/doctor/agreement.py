"""How well a new calibration agrees with the reference on windows that it was not fitted to."""

from collections.abc import Iterator
from math import isnan

from model_export.doctor.finding import Finding
from model_export.regression.metrics import Score

LOW_R2 = 0.5  # less than half of the variance is explained
SHORT = 0.15  # how far coverage may fall below its level
ALL = 0.995  # share of the windows with an interval; the others are not worth a word


def covers(coverage: float, promised: float, level: float) -> str:
    """How much an interval covers, and of how many windows: outside the training range there is none.

    >>> covers(0.88, 1.0, 0.9), covers(1.0, 0.444, 0.9)
    ('90% interval covers 88%', '90% interval covers 100% (44% of the windows have one)')
    """
    if isnan(coverage):
        return "no window has an interval"
    of = "" if promised >= ALL else f" ({promised:.0%} of the windows have one)"
    return f"{level:.0%} interval covers {coverage:.0%}{of}"


def check(sensor: str, dataset: str, score: Score, level: float | None) -> Iterator[Finding]:
    """A low R², and an interval that covers too little; a score of no windows has neither."""
    if score.r2 < LOW_R2:
        yield Finding(
            "low_r2",
            "warning",
            sensor,
            dataset,
            {"r2": score.r2, "needed": LOW_R2, "windows": score.n},
            f"R² is {score.r2:.2f} on the last {score.n} windows, which were not fitted",
            "Look at the report and run model-export diagnose. If the recording is sound, the sensor hardly "
            "responds to this gas here, or a longer recording is needed.",
        )
    if level is not None and score.coverage < level - SHORT:
        yield Finding(
            "low_coverage",
            "warning",
            sensor,
            dataset,
            {"coverage": score.coverage, "level": level, "windows": score.n},
            f"{covers(score.coverage, score.promised, level)}, on the last {score.n} windows, "
            "which were not fitted",
            "The last windows are unlike those before: other concentrations, other weather, or a drift. Do "
            "not rely on the interval. Add recordings of such days, and fit again.",
        )
