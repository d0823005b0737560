"""Is the reference in the unit it is said to be in? A factor of 1000 is easily lost between ppm and ppb."""

import numpy as np

from edge_agent.model import Model
from model_export.dataset import Dataset

# What outdoor air can hold for weeks, from the cleanest sites to beside a fire (ppb).
AMBIENT_PPB = {"CO": (20.0, 50_000.0)} | dict.fromkeys(("NO", "NO2", "O3", "SO2"), (0.2, 1_000.0))
# Near enough to find a factor of 1000; by mass the true factor depends on the gas.
PPB_PER = {"ppb": 1.0, "ug/m3": 1.0, "µg/m³": 1.0, "ppm": 1000.0, "mg/m3": 1000.0, "mg/m³": 1000.0}


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


def _made_up(target: list[float], unit: str) -> Dataset:
    n = len(target)
    return Dataset(
        "a.csv", "5A2D", ("op1",), unit, np.arange(n), np.ones((n, 1)), np.ones(n), np.array(target)
    )
