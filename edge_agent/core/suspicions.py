"""What the comparison with the other sensors of a van raised against a sensor, and from which window on."""

from collections.abc import Iterable
from typing import NamedTuple

SWAPPED, LOST, DRIFTING, DISAGREES = "swapped_suspected", "sensitivity_lost", "drifting", "disagrees"
CODES = (SWAPPED, LOST, DRIFTING, DISAGREES)  # the worst first
DAY_MS, HOUR_MS = 86_400_000, 3_600_000
FACT = "examined/"  # and the sensor: the name of its examination in the journal


class Suspicion(NamedTuple):
    """One suspicion: the day that raised it, and the one that cleared it, if any."""

    code: str
    raised: int  # days since 1970
    cleared: int | None = None


class Suspicions:
    """By sensor and model; a day counts for windows from an hour after it is final, also after a restart.

    >>> suspicions = Suspicions(final_ms=DAY_MS)
    >>> suspicions.put("5A2D", "sha256:9f3c", [Suspicion(DRIFTING, raised=10)])
    >>> [suspicions.at("5A2D", "sha256:9f3c", 12 * DAY_MS + late_ms) for late_ms in (0, HOUR_MS)]
    [(), ('drifting',)]
    """

    def __init__(self, final_ms: int) -> None:
        self._final_ms = final_ms
        self._known: dict[str, tuple[str | None, list[Suspicion]]] = {}

    def put(self, sensor: str, model: str | None, found: Iterable[Suspicion]) -> None:
        """All of one sensor with this model, also those that are cleared."""
        self._known[sensor] = model, list(found)

    def at(self, sensor: str, model: str | None, start_ms: int) -> tuple[str, ...]:
        """The codes that hold for a window; none if they were raised with another model."""
        examined, found = self._known.get(sensor, (None, []))
        held = {
            each.code
            for each in found
            if examined == model
            and self._from(each.raised) <= start_ms
            and (each.cleared is None or start_ms < self._from(each.cleared))
        }
        return tuple(code for code in CODES if code in held)

    def _from(self, day: int) -> int:
        return (day + 1) * DAY_MS + self._final_ms + HOUR_MS
