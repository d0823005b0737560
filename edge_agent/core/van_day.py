"""One day of all sensors of a van, from their estimates, compared sensor by sensor."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from edge_agent.core.comparison import Day, Windows, compare, with_best
from edge_agent.core.consensus_messages import Kind, comparable
from edge_agent.core.examination import Examination
from edge_agent.core.kernel import Array
from edge_agent.core.messages import Estimate
from edge_agent.core.suspicions import DAY_MS
from edge_agent.core.warming import TEMPERATURE


class VanDay:
    """Collects the windows of a day; the caller may pause between two sensors."""

    def __init__(self, day: int, length_ms: int) -> None:
        self.day = day
        self._length_ms = length_ms
        self._columns: dict[str, Array] = {}  # sensor -> value, half-width and temperature (3, windows)
        self.kinds: dict[str, Kind] = {}
        self.models: dict[str, str | None] = {}

    def add(self, sensor: str, estimates: Iterable[Estimate]) -> None:
        """The day of one sensor; if its model or its unit changed, only what the last one made."""
        made = [each for each in estimates if comparable(each) and "stuck_value" not in each.reasons]
        if not made:
            return
        made_by = self.models[sensor], self.kinds[sensor] = _made_by(made[-1])
        column = np.full((3, -(-DAY_MS // self._length_ms)), np.nan)
        for each in made:
            if _made_by(each) == made_by:
                place = (each.start_ms - self.day * DAY_MS) // self._length_ms
                column[:, place] = each.value, _half_width(each), each.inputs.get(TEMPERATURE, 0.0)
        self._columns[sensor] = column

    def compare(self, examinations: Mapping[str, Examination]) -> Iterator[tuple[str, Day | None]]:
        """What the day shows of each sensor beside the others with its gas and unit."""
        for kind in dict.fromkeys(self.kinds.values()):
            sensors = [sensor for sensor in self._columns if self.kinds[sensor] == kind]
            if len(sensors) > 1:
                yield from self._compare(sensors, examinations)

    def _compare(
        self, sensors: Sequence[str], examinations: Mapping[str, Examination]
    ) -> Iterator[tuple[str, Day | None]]:
        """Those under suspicion do not judge the others."""
        windows = Windows(*np.stack([self._columns[sensor] for sensor in sensors], axis=2))
        trusted = np.array([not self._suspected(sensor, examinations) for sensor in sensors])
        for own, sensor in enumerate(sensors):
            yield sensor, compare(self.day, own, windows, trusted, self._length_ms)

    def _suspected(self, sensor: str, examinations: Mapping[str, Examination]) -> bool:
        known = examinations.get(sensor)
        return bool(known and self.continues(sensor, known) and known.since)

    def continues(self, sensor: str, known: Examination) -> bool:
        """Whether this day has the model and the unit of an examination."""
        return (known.model, known.unit) == (self.models[sensor], self.kinds[sensor][1])


def _made_by(estimate: Estimate) -> tuple[str | None, Kind]:
    return estimate.model, (estimate.gas, estimate.unit)


def _half_width(estimate: Estimate) -> float:
    low, high = estimate.low, estimate.high
    return np.nan if low is None or high is None else (high - low) / 2.0


def updated(
    van: VanDay, found: Mapping[str, Day | None], examinations: Mapping[str, Examination], limit: float
) -> dict[str, Examination]:
    """The examinations with one more day; a sensor with a new model or unit begins anew."""
    changed = {}
    for kind in dict.fromkeys(van.kinds.values()):
        alike = [sensor for sensor in found if van.kinds[sensor] == kind]
        for sensor, day in zip(alike, with_best([found[each] for each in alike]), strict=True):
            known = examinations.get(sensor)
            if known is None or not van.continues(sensor, known):
                known = Examination(model=van.models[sensor], unit=kind[1])
            if day is not None:
                known.update(day, limit)
            changed[sensor] = known
    return changed
