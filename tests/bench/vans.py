"""A simulated year of vans with six sensors each, as windows: the truth, and what every sensor says.

Year 0 is for calibration, beside a serviced analyser: a week in each season is fitted, and two more weeks in
each season give the interval. Year 1 is the year that is judged. The packages do not age, so that every
difference that grows is a planted one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edge_agent.core import bundle
from edge_agent.core.kernel import Array
from edge_agent.core.model import Model
from model_export.calibration.fit import Recipe, chosen, fit_model
from model_export.calibration.interval import Held, inside, measured, without_noise
from model_export.files import write_atomically
from model_export.recordings.dataset import Dataset
from model_export.simulator.air import SITES, draw_air
from model_export.simulator.analyser import Analyser, measure
from model_export.simulator.faults import Fault, sense_faulty
from model_export.simulator.outages import Mask
from model_export.simulator.package import Package, Pair, draw_package
from model_export.simulator.rng import stream
from model_export.simulator.weather import DAY_MS, Times

START_MS = 1_672_531_200_000  # 2023-01-01
MINUTES_A_DAY, WINDOW = 1_440, 15
YEAR_DAYS = 365
SENSORS = tuple("ABCDEF")
SEASONS = (20, 111, 202, 293)  # days
FITTED, HELD = (0, 7), (14, 28)  # days of a season


@dataclass(frozen=True, slots=True, eq=False)
class Year:
    """m windows of n sensors; NaN where there is no value or no interval."""

    start_ms: Times  # (m,)
    truth: Array  # (m,)
    reference: Array  # (m,), the truth with the noise of an analyser
    temperature: Array  # (m, n)
    value: Array  # (m, n)
    half_width: Array  # (m, n)


class Van:
    """One van: its air of two years, its packages and their models."""

    def __init__(self, seed: int, cache: Path, swapped: Iterable[str] = ()) -> None:
        """The models of `swapped` packages are fitted to their NOx cells; `cache` is for the bundles."""
        self.seed, self.swapped = seed, frozenset(swapped)
        site = SITES[sorted(SITES)[seed % len(SITES)]]
        self.air = draw_air(stream(seed, "air"), site, START_MS, 2 * YEAR_DAYS * MINUTES_A_DAY)
        self.packages = {name: unaged(draw_package(seed, name)) for name in SENSORS}
        self.reference = measure(stream(seed, "reference"), Analyser(), self.air.co)
        self._later = slice(YEAR_DAYS * MINUTES_A_DAY // WINDOW, None)
        whole = [self.windows(name) for name in SENSORS]
        self.models = {each.sensor: self._model(cache, each) for each in whole}
        self._sound = {each.sensor: warmed(each.part(self._later)) for each in whole}

    def _model(self, cache: Path, dataset: Dataset) -> Model:
        name = f"{self.seed}-{dataset.sensor}{'-swapped' * (dataset.sensor in self.swapped)}.bundle"
        if not (cache / name).exists():
            model = model_of(warmed(replace(dataset, target=self.reference)))
            write_atomically(cache / name, bundle.encode(model))
        return bundle.decode((cache / name).read_bytes())

    def windows(self, sensor: str, faults: Iterable[Fault] = ()) -> Dataset:
        """Both years of one sensor."""
        air = self.air
        signals = sense_faulty(
            lambda: stream(self.seed, "sense", sensor),
            self.packages[sensor],
            air,
            air.at_ms - START_MS - YEAR_DAYS * DAY_MS,
            tuple(faults),
            new_ms=START_MS,
            swapped=sensor in self.swapped,
        )
        op1, op2, temperature = (_means(each) for each in (signals.op1, signals.op2, signals.temperature))
        starts, unknown = air.at_ms[::WINDOW], np.full(len(op1), np.nan)
        inputs = np.column_stack([op1, op2])
        return Dataset(sensor, sensor, ("op1", "op2"), "ppm", starts, inputs, temperature, unknown)

    def year(self, faults: Iterable[Fault] = (), noise: float = 0.0) -> Year:
        """The second year, with faults; their times count from its start.

        With the noise of the reference, as far as it was known, the intervals are those of the true value.
        """
        planted = list(faults)
        own = dict(self._sound)
        for name in {fault.sensor for fault in planted}:
            own[name] = warmed(self.windows(name, planted).part(self._later))
        served = [serve(self._knowing(noise, name), each) for name, each in own.items()]
        return Year(
            own["A"].start_ms,
            _means(self.air.co)[self._later],
            self.reference[self._later],
            np.column_stack([each.auxiliary for each in own.values()]),
            np.column_stack([value for value, _ in served]),
            np.column_stack([half_width for _, half_width in served]),
        )

    def _knowing(self, noise: float, name: str) -> Model:
        model = self.models[name]
        if model.interval is None or not noise:
            return model
        return replace(model, interval=without_noise(model.interval, noise, float(self.reference.mean())))


def warmed(dataset: Dataset) -> Dataset:
    """With the inputs that the default model derives."""
    return dataset.warmed(Recipe().warming)


def unaged(package: Package) -> Package:
    """The same without drift of its cells."""

    def still(pair: Pair) -> Pair:
        return replace(pair, cell=replace(pair.cell, sensitivity_drift=0.0, zero_drift=0.0))

    return replace(package, co=still(package.co), nox=still(package.nox))


def model_of(dataset: Dataset) -> Model:
    """As `fit` makes it, with an interval from other weeks, which takes a tenth of the time."""
    recipe, train, held = Recipe(), dataset.part(_days(dataset, FITTED)), dataset.part(_days(dataset, HELD))
    model = fit_model(train, chosen(train, recipe), recipe).model
    held = held.part(inside(model, held))
    estimate = model.predict(held.inputs, held.auxiliary)
    found = measured({"time": Held(held.target - estimate, estimate, held.start_ms // DAY_MS)})
    return replace(model, interval=found)


def _days(dataset: Dataset, of_season: tuple[int, int]) -> Mask:
    day = (dataset.start_ms - START_MS) // DAY_MS
    found = [(day >= begin + of_season[0]) & (day < begin + of_season[1]) for begin in SEASONS]
    return np.asarray(np.any(found, axis=0))


def serve(model: Model, dataset: Dataset) -> tuple[Array, Array]:
    """Estimates and half-widths; outside training there is no interval."""
    value = model.predict(dataset.inputs, dataset.auxiliary)
    widths = model.interval.half_widths(value) if model.interval else np.full(len(value), np.nan)
    return value, np.where(inside(model, dataset), widths, np.nan)


def _means(values: Array) -> Array:
    return np.asarray(values.reshape(-1, WINDOW).mean(axis=1))
