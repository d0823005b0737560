"""Are reference and temperature in the units they are said to be in, and is a bundle asked what it knows?

A factor of 1000 is easily lost between ppm and ppb, and a thermometer may well speak °F.
"""

from collections import Counter

import numpy as np

from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from model_export.recordings.dataset import Dataset

# What outdoor air can hold for weeks, from the cleanest sites to beside a fire (ppb).
AMBIENT_PPB = {"CO": (20.0, 50_000.0)} | dict.fromkeys(("NO", "NO2", "O3", "SO2"), (0.2, 1_000.0))
# Near enough to find a factor of 1000; by mass the true factor depends on the gas.
PPB_PER = {"ppb": 1.0, "ug/m3": 1.0, "µg/m³": 1.0, "ppm": 1000.0, "mg/m3": 1000.0, "mg/m³": 1000.0}

AMBIENT_C = (-60.0, 60.0)  # outdoor air, and a box in the sun, for all but 5 % of the time at either end
OUTSIDE = 0.01  # of the windows: a few at the ends are chance
TO_CELSIUS = {"°F": (32.0, 1.8), "K": (273.15, 1.0)}  # zero, and degrees to 1 °C


def remarks(dataset: Dataset, gas: str) -> tuple[str, ...]:
    """What is odd about a recording to learn from."""
    return tuple(line for line in (warn_ambient(dataset, gas), warn_temperature(dataset)) if line)


def remarks_beside(model: Model, dataset: Dataset) -> tuple[str, ...]:
    """What is odd about a recording beside a model that knows another."""
    found = (warn_against(model, dataset), warn_temperature(dataset), warn_outside(model, dataset))
    return tuple(line for line in found if line)


def warn_ambient(dataset: Dataset, gas: str) -> str | None:
    """A line where the reference's median could not be outdoor air in this unit, but would be in another.

    >>> warn_ambient(_made_up([184.0, 306.0], "ppm"), "CO")
    'a.csv: reference: a median of 245 ppm is not outdoor CO (0.02 to 50 ppm); --unit ppb would be'
    """
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
    """A line where reference and estimates are about a factor of 1000 apart."""
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
    """A line where temperatures could not be outdoor air in °C, with the unit in which they could."""
    ends = np.percentile(dataset.auxiliary, [5.0, 95.0]) if len(dataset) else np.zeros(2)
    if _is_ambient(ends):
        return None
    better = [unit for unit, (zero, step) in TO_CELSIUS.items() if _is_ambient((ends - zero) / step)]
    hint = f"{better[0]} would be; convert it" if better else "check the thermometer"
    low, high = AMBIENT_C
    return (
        f"{dataset.name}: temperature: mostly {ends[0]:.4g} to {ends[1]:.4g}, "
        f"which is not outdoor air in °C ({low:g} to {high:g}); {hint}"
    )


def warn_outside(model: Model, dataset: Dataset) -> str | None:
    """A line where windows lie outside the training ranges, by the agent's own rule."""
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
        f"{dataset.name}: {windows / len(dataset):.0%} of the windows lie outside what the bundle was "
        f"trained on ({where}); trust it less there, or fit to a recording that has them"
    )


def _is_ambient(ends: Array) -> bool:
    return bool(AMBIENT_C[0] <= ends[0] and ends[1] <= AMBIENT_C[1])


def _span(model: Model, name: str) -> str:
    low, high = model.domain[name]
    return f"outside {low:.4g} to {high:.4g}"


def _made_up(target: list[float], unit: str) -> Dataset:
    n = len(target)
    return Dataset(
        "a.csv", "5A2D", ("op1",), unit, np.arange(n), np.ones((n, 1)), np.ones(n), np.array(target)
    )
