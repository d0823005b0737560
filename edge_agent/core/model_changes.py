"""Which model each sensor uses, which it used before, since when, and from which window on."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from edge_agent.core.messages import Estimate, format_time

FACT = "models"  # under which the journal stores them


@dataclass(frozen=True, slots=True)
class Change:
    """The last change of a sensor's model."""

    model: str
    previous: str | None
    changed_ms: int
    first_window_ms: int | None = None  # None until a window has closed


class ModelChanges:
    """The last change of every sensor's model; `encode` and the constructor carry it over a restart.

    >>> changes = ModelChanges()
    >>> changes.use("5A2D", "sha256:1", now_ms=0), changes.use("5A2D", "sha256:2", now_ms=1_706_782_500_000)
    (True, True)
    >>> ModelChanges(changes.encode()).fields("5A2D")
    {'previous': 'sha256:1', 'changed_at': '2024-02-01T10:15:00Z', 'first_window': None}
    """

    def __init__(self, stored: str | None = None) -> None:
        self._changes = _decoded(stored)

    def use(self, sensor: str, model: str, now_ms: int) -> bool:
        """Note the model that a sensor uses from now on; whether it is another than before."""
        before = self._changes.get(sensor)
        if before and before.model == model:
            return False
        self._changes[sensor] = Change(model, before.model if before else None, now_ms)
        return True

    def note(self, estimates: Iterable[Estimate]) -> list[str]:
        """Note the first window of each new model; returns the sensors for which it is among these."""
        found = []
        for estimate in estimates:
            change = self._changes.get(estimate.sensor)
            first = change and change.first_window_ms is None and estimate.revision == 0
            if change and first and estimate.model == change.model:
                self._changes[estimate.sensor] = replace(change, first_window_ms=estimate.start_ms)
                found.append(estimate.sensor)
        return found

    def fields(self, sensor: str) -> dict[str, str | None]:
        """What the card of a sensor's model says about it."""
        change = self._changes.get(sensor)
        if change is None:
            return {"previous": None, "changed_at": None, "first_window": None}
        first_ms = change.first_window_ms
        return {
            "previous": change.previous,
            "changed_at": format_time(change.changed_ms),
            "first_window": None if first_ms is None else format_time(first_ms),
        }

    def encode(self) -> str:
        """As JSON, for the journal."""
        return json.dumps({sensor: asdict(change) for sensor, change in self._changes.items()})


def _decoded(stored: str | None) -> dict[str, Change]:
    """Nothing of a damaged text: the next change is then the first."""
    try:
        records: dict[str, dict[str, Any]] = json.loads(stored or "{}")
        changes = {sensor: Change(**record) for sensor, record in records.items()}
        for change in changes.values():
            format_time(change.changed_ms), format_time(change.first_window_ms or 0)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}
    return changes
