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
    """By sensor; a day counts for windows from an hour after it is final, so that a restart changes nothing.

    >>> suspicions = Suspicions(final_ms=DAY_MS)
    >>> suspicions.put("5A2D", [Suspicion(DRIFTING, raised=10)])
    >>> suspicions.at("5A2D", 12 * DAY_MS), suspicions.at("5A2D", 12 * DAY_MS + HOUR_MS)
    ((), ('drifting',))
    """

    def __init__(self, final_ms: int) -> None:
        self._final_ms = final_ms
        self._known: dict[str, list[Suspicion]] = {}

    def put(self, sensor: str, found: Iterable[Suspicion]) -> None:
        """All of one sensor, also those that are cleared."""
        self._known[sensor] = list(found)

    def at(self, sensor: str, start_ms: int) -> tuple[str, ...]:
        """The codes that hold for a window."""
        held = {
            each.code
            for each in self._known.get(sensor, ())
            if self._from(each.raised) <= start_ms
            and (each.cleared is None or start_ms < self._from(each.cleared))
        }
        return tuple(code for code in CODES if code in held)

    def _from(self, day: int) -> int:
        return (day + 1) * DAY_MS + self._final_ms + HOUR_MS
