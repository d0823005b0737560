"""Readings without a stamp from before the clock was right: they wait, on time since boot."""

from edge_agent.commit import GroupCommit
from edge_agent.core.messages import Reading

MAX_HELD = 50_000


class Held:
    """What waits for its stamp, here and in the journal."""

    def __init__(self, group: GroupCommit, readings: list[Reading]) -> None:
        """`readings` are those of this boot that the journal has."""
        self._group = group
        self._readings = readings

    def __len__(self) -> int:
        return len(self._readings)

    def hold(self, readings: list[Reading]) -> bool:
        """Keep these, too; False if there is no room for them."""
        if len(self._readings) >= MAX_HELD:
            return False
        self._readings += readings
        self._group.change.held += readings
        return True

    def release(self, offset_ms: int) -> list[Reading]:
        """Everything that waited, stamped; `offset_ms` leads from time since boot to wall time."""
        stamped = [each._replace(at_ms=each.at_ms + offset_ms) for each in self._readings]
        self._readings, self._group.change.held, self._group.change.released = [], [], True
        return stamped
