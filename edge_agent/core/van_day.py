"""One day of all sensors of a van, from their estimates, compared sensor by sensor."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from edge_agent.core.comparison import Day, Windows, compare, with_best
from edge_agent.core.consensus_messages import comparable
from edge_agent.core.examination import Examination
from edge_agent.core.kernel import Array
from edge_agent.core.messages import Estimate
from edge_agent.core.suspicions import DAY_MS
from edge_agent.core.warming import TEMPERATURE

Kind = tuple[str | None, str | None]


class VanDay:
    """Collects the windows of a day; the caller may pause between two sensors."""

    def __init__(self, day: int, length_ms: int) -> None:
        self.day = day
        self._length_ms = length_ms
        self._columns: dict[str, Array] = {}  # sensor -> value, half-width and temperature (3, windows)
        self._kinds: dict[str, Kind] = {}
        self.models: dict[str, str | None] = {}

    def add(self, sensor: str, estimates: Iterable[Estimate]) -> None:
        """The day of one sensor; if its model changed, only what the last one made."""
        made = [each for each in estimates if comparable(each) and "stuck_value" not in each.reasons]
        if not made:
            return
        self.models[sensor], self._kinds[sensor] = made[-1].model, (made[-1].gas, made[-1].unit)
        column = np.full((3, -(-DAY_MS // self._length_ms)), np.nan)
        for each in made:
            if each.model == made[-1].model:
                place = (each.start_ms - self.day * DAY_MS) // self._length_ms
                column[:, place] = each.value, _half_width(each), each.inputs.get(TEMPERATURE, 0.0)
        self._columns[sensor] = column

    def compare(self, examinations: Mapping[str, Examination]) -> Iterator[tuple[str, Day | None]]:
        """What the day shows of each sensor; those under suspicion do not judge the others."""
        kind = Counter(self._kinds.values()).most_common(1)[0][0] if self._kinds else None
        sensors = [sensor for sensor in self._columns if self._kinds[sensor] == kind]
        if len(sensors) < 2:
            return
        windows = Windows(*np.stack([self._columns[sensor] for sensor in sensors], axis=2))
        trusted = np.array([not self._suspected(sensor, examinations) for sensor in sensors])
        for own, sensor in enumerate(sensors):
            yield sensor, compare(self.day, own, windows, trusted)

    def _suspected(self, sensor: str, examinations: Mapping[str, Examination]) -> bool:
        known = examinations.get(sensor)
        return bool(known and known.model == self.models[sensor] and known.since)


def _half_width(estimate: Estimate) -> float:
    low, high = estimate.low, estimate.high
    return np.nan if low is None or high is None else (high - low) / 2.0


def updated(
    van: VanDay, found: Mapping[str, Day | None], examinations: Mapping[str, Examination], limit: float
) -> dict[str, Examination]:
    """The examinations with one more day; a sensor with a new model begins anew."""
    changed = {}
    for sensor, day in zip(found, with_best(list(found.values())), strict=True):
        known = examinations.get(sensor)
        if known is None or known.model != van.models[sensor]:
            known = Examination(model=van.models[sensor])
        if day is not None:
            known.update(day, limit)
        changed[sensor] = known
    return changed
