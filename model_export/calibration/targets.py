"""The figures by which authorities judge sensors: regression on the reference, uncertainty at a limit.

CEN/TS 17660-1 classes sensor systems by the expanded uncertainty at the limit value, with the data quality
objectives of EU 2008/50/EC: class 1 as indicative measurements (25 %, ozone 30 %), class 2 as objective
estimation (75 %), class 3 beyond. The uncertainty is that of an orthogonal regression of sensor on reference,
as in the EC guide to the demonstration of equivalence:

    u² = RSS / (n - 2) + (b₀ + (b₁ - 1)·L)²,   U = 2·u / L

The uncertainty of the reference itself is not known here and taken as zero, so U is never too small.
The US EPA (600/R-20/279 and 600/R-23/146) asks for R², slope, intercept and RMSE of a plain regression.
"""

from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np

from edge_agent.core.kernel import Array
from edge_agent.core.units import PublishUnit
from model_export.regression.metrics import varies

# EU 2008/50/EC: CO as 8-hour mean, NO2 and SO2 as hourly mean, ozone as 8-hour mean.
LIMITS = {"CO": (10.0, "mg/m3"), "NO2": (200.0, "ug/m3"), "SO2": (350.0, "ug/m3"), "O3": (120.0, "ug/m3")}
INDICATIVE, ESTIMATION = {"O3": 30.0}, 75.0  # percent
USUAL = 25.0
# EPA 600/R-20/279, hourly means in ppb; we know of no table for CO that we could quote.
EPA_O3 = {"R²": "0.80 or more", "slope": "0.80 to 1.20", "intercept": "-5 to 5 ppb", "RMSE": "5 ppb or less"}


@dataclass(frozen=True, slots=True)
class Targets:
    """NaN where something is not defined; percent is of the limit."""

    slope: float  # of estimate on reference, least squares
    intercept: float
    nrmse_percent: float  # RMSE in percent of the mean reference
    precision: float  # standard deviation of the error
    limit: float  # in the unit of the estimates
    uncertainty_percent: float  # expanded, at the limit
    class_: int | None  # of CEN/TS 17660-1
    highest: float  # reference; a limit far above it is an extrapolation


def targets(reference: Array, estimate: Array, gas: str, unit: str) -> Targets:
    """The figures of one set of estimates.

    >>> x = np.linspace(0.0, 10.0, 50)
    >>> found = targets(x, 1.1 * x, "CO", "mg/m3")
    >>> round(found.slope, 3), round(found.uncertainty_percent, 1), found.class_
    (1.1, 20.0, 1)
    """
    limit = _limit(gas, unit)
    if len(reference) < 3 or not varies(reference):
        return Targets(nan, nan, nan, nan, limit, nan, None, nan)
    slope, intercept = np.polyfit(reference, estimate, 1)
    error, mean = estimate - reference, float(reference.mean())
    uncertainty = _expanded(reference, estimate, limit)
    return Targets(
        float(slope),
        float(intercept),
        100.0 * sqrt(float(np.mean(error**2))) / mean if mean > 0.0 else nan,
        float(np.std(error)),
        limit,
        uncertainty,
        _class(gas, uncertainty),
        float(reference.max()),
    )


def rows(found: Targets, r2: float, rmse: float, bias: float, gas: str, unit: str) -> list[tuple[str, ...]]:
    """The figures as a table: name, value, what is asked for."""
    epa = {name: f"EPA: {target}" if gas == "O3" else "" for name, target in EPA_O3.items()}
    figures: list[tuple[str, ...]] = [
        ("figure", "value", "target"),
        ("R²", f"{r2:.3f}", epa["R²"]),
        ("slope", f"{found.slope:.3f}", epa["slope"]),
        ("intercept", f"{_plain(found.intercept, '+')} {unit}", epa["intercept"]),
        ("RMSE", f"{_plain(rmse)} {unit}", epa["RMSE"]),
        ("RMSE in % of the mean reference", f"{found.nrmse_percent:.0f} %", ""),
        ("bias", f"{_plain(bias, '+')} {unit}", ""),
        ("precision: standard deviation of the error", f"{_plain(found.precision)} {unit}", ""),
    ]
    return figures if isnan(found.uncertainty_percent) else [*figures, *_at_limit(found, gas, unit)]


def _at_limit(found: Targets, gas: str, unit: str) -> list[tuple[str, ...]]:
    limit = f"{_plain(found.limit)} {unit}"
    classes = f"class 1: {INDICATIVE.get(gas, USUAL):g} % or less, class 2: {ESTIMATION:g} % or less"
    asked = f"CEN/TS 17660-1: {classes}"
    reached = "none" if found.class_ is None else str(found.class_)
    return [
        (f"expanded uncertainty at {limit}", f"{found.uncertainty_percent:.0f} %", asked),
        ("class of CEN/TS 17660-1, by this figure alone", reached, ""),
        ("highest reference here", f"{_plain(found.highest)} {unit}", f"the limit is {limit}"),
    ]


def _plain(value: float, sign: str = "-") -> str:
    """Three digits, and all of those before the point.

    >>> _plain(8587.9), _plain(0.12345), _plain(40.84, "+")
    ('8588', '0.123', '+40.8')
    """
    return f"{value:{sign}.0f}" if abs(value) >= 1000.0 else f"{value:{sign}.3g}"


def _limit(gas: str, unit: str) -> float:
    value, given = LIMITS.get(gas, (nan, "ppm"))
    return value * (PublishUnit(unit).factor(gas, given) or nan)


def _expanded(reference: Array, estimate: Array, limit: float) -> float:
    """The expanded uncertainty at the limit, in percent, by orthogonal regression."""
    sxx, syy = float(np.var(reference)), float(np.var(estimate))
    sxy = float(np.mean((reference - reference.mean()) * (estimate - estimate.mean())))
    if sxy == 0.0 or not limit > 0.0:
        return nan
    slope = (syy - sxx + sqrt((syy - sxx) ** 2 + 4.0 * sxy**2)) / (2.0 * sxy)
    intercept = float(estimate.mean()) - slope * float(reference.mean())
    rest = float(np.sum((estimate - intercept - slope * reference) ** 2)) / (len(reference) - 2)
    return 200.0 * sqrt(rest + (intercept + (slope - 1.0) * limit) ** 2) / limit


def _class(gas: str, uncertainty: float) -> int | None:
    if np.isnan(uncertainty):
        return None
    return 1 if uncertainty <= INDICATIVE.get(gas, USUAL) else 2 if uncertainty <= ESTIMATION else 3
