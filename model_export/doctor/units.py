"""Warnings about a recording: a wrong unit of reference or temperature, or values outside the training range.

Typical errors are a factor of 1000 between ppm and ppb, and temperatures in °F.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from edge_agent.core.units import PublishUnit
from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.recordings.dataset import Dataset

# Concentrations (ppb) that outdoor air can have for weeks, from the cleanest sites to one beside a fire.
AMBIENT_PPB = {"CO": (20.0, 50_000.0)} | dict.fromkeys(("NO", "NO2", "O3", "SO2"), (0.2, 1_000.0))
# Exact enough to find a factor of 1000; for units of mass the true factor depends on the gas.
PPB_PER = {"ppb": 1.0, "ug/m3": 1.0, "µg/m³": 1.0, "ppm": 1000.0, "mg/m3": 1000.0, "mg/m³": 1000.0}

AMBIENT_C = (-60.0, 60.0)  # outdoor air or a box in the sun, between the 5th and the 95th percentile
OUTSIDE = 0.01  # share of windows outside the training range that is normal
TO_CELSIUS = {"°F": (32.0, 1.8), "K": (273.15, 1.0)}  # zero, and degrees per 1 °C


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """Temperatures in another unit than °C.

    Statistic: the 5th and the 95th percentile of the temperatures.
    Null: none; this is a rule, not a test.
    Threshold: they are outside AMBIENT_C.
    """
    for case in cases:
        ends = _ends(case.windows)
        if not _is_ambient(ends):
            yield case.finding(
                "temperature_unit",
                "warning",
                {"low": float(ends[0]), "high": float(ends[1]), "expected": list(AMBIENT_C)},
                f"temperatures are {_not_ambient(ends)[0]}",
                "Convert the column to °C, the unit in which the sensor sends it.",
            )


def check_reference(dataset: Dataset, gas: str, place: str) -> Iterator[Finding]:
    """A reference that is not outdoor air in the unit that it is said to have.

    Statistic: the median of the reference.
    Null: none; this is a rule, not a test.
    Threshold: it is outside AMBIENT_PPB.
    """
    if line := warn_ambient(dataset, gas):
        yield Finding(
            "reference_unit",
            "warning",
            dataset.sensor,
            place,
            {"median": float(np.median(dataset.target)), "unit": dataset.unit},
            line.partition("reference: ")[2],
            "Check --unit, and whether another column is in the place of the reference.",
        )


def remarks_beside(model: Model, dataset: Dataset) -> tuple[str, ...]:
    """Warnings about a recording to use a model on."""
    found = (warn_against(model, dataset), warn_temperature(dataset), warn_outside(model, dataset))
    return tuple(line for line in found if line)


def warn_ambient(dataset: Dataset, gas: str) -> str | None:
    """A line if the median of the reference is not outdoor air in this unit, or the unit is unknown."""
    if gas in AMBIENT_PPB and PublishUnit("ppm").factor(gas, dataset.unit) is None:
        words = f"expected a unit of {gas} such as ppm, ppb, mg/m3 or ug/m3, got {dataset.unit}; check --unit"
        return f"{dataset.name}: reference: {words}"
    low, high = AMBIENT_PPB.get(gas, (0.0, np.inf))
    factor = PPB_PER.get(dataset.unit)
    median = float(np.median(dataset.target))
    if factor is None or low <= median * factor <= high:
        return None
    better = [unit for unit, per in PPB_PER.items() if low <= median * per <= high and "/" not in unit]
    hint = f"; --unit {better[0]} would be" if better else ""
    return (
        f"{dataset.name}: reference: a median of {median:.4g} {dataset.unit} is not outdoor {gas} "
        f"({low / factor:g} to {high / factor:g} {dataset.unit}){hint}"
    )


def warn_against(model: Model, dataset: Dataset) -> str | None:
    """A line if reference and estimates differ by a factor of about 1000."""
    estimate = float(np.median(np.abs(model.predict(dataset.inputs, dataset.auxiliary))))
    reference = float(np.median(np.abs(dataset.target)))
    if (
        estimate <= 0.0
        or reference <= 0.0
        or not 200.0 < max(estimate / reference, reference / estimate) < 5000.0
    ):
        return None
    return (
        f"{dataset.name}: reference: a median of {reference:.4g} beside estimates of {estimate:.4g} "
        f"{model.unit}; is it in {model.unit}?"
    )


def warn_temperature(dataset: Dataset) -> str | None:
    """A line if the temperatures are not outdoor air in °C, with the unit in which they are."""
    ends = _ends(dataset)
    return None if _is_ambient(ends) else f"{dataset.name}: temperature: {'; '.join(_not_ambient(ends))}"


def warn_outside(model: Model, dataset: Dataset) -> str | None:
    """A line if too many windows are outside the training range, by the agent's own rule."""
    names, outside, windows = (*dataset.channels, model.auxiliary), Counter[str](), 0
    for row in np.column_stack([dataset.inputs, dataset.auxiliary]):
        departures = model.departures(dict(zip(names, map(float, row), strict=True)))
        beyond = [name for name, distance in departures.items() if distance > 0.0]
        outside.update(beyond)
        windows += bool(beyond)
    if windows <= OUTSIDE * len(dataset):
        return None
    where = ", ".join(
        f"{name} {_span(model, name)}: {n / len(dataset):.0%}"
        for name, n in outside.most_common()
        if n > 0.5 * OUTSIDE * len(dataset)
    )
    return (
        f"{dataset.name}: {windows / len(dataset):.0%} of this recording is outside the training range "
        f"({where}); fit again including such data"
    )


def _ends(dataset: Dataset) -> Array:
    """Most temperatures are between these two."""
    return np.percentile(dataset.auxiliary, [5.0, 95.0]) if len(dataset) else np.zeros(2)


def _is_ambient(ends: Array) -> bool:
    return bool(AMBIENT_C[0] <= ends[0] and ends[1] <= AMBIENT_C[1])


def _not_ambient(ends: Array) -> tuple[str, str]:
    """What is wrong, and what to do."""
    better = [unit for unit, (zero, step) in TO_CELSIUS.items() if _is_ambient((ends - zero) / step)]
    low, high = AMBIENT_C
    words = f"mostly {ends[0]:.4g} to {ends[1]:.4g}, which is not outdoor air in °C ({low:g} to {high:g})"
    return (f"{words}; {better[0]} would be", "convert it") if better else (words, "check the thermometer")


def _span(model: Model, name: str) -> str:
    low, high = model.domain[name]
    return f"outside {low:.4g} to {high:.4g}"
