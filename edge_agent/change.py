"""What a commit makes durable, and what is to be published after it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from edge_agent.closed_windows import Settled
from edge_agent.core.derived import Derived
from edge_agent.core.messages import Estimate, Reading
from edge_agent.core.positions import Fix

Trace = tuple[int, str, str, float]  # mid, sensor, channel, value: see intake


class Outgoing(NamedTuple):
    """An estimate that waits to be delivered."""

    id: int
    sensor: str
    start_ms: int
    payload: bytes
    revision: int = 0  # known when it is made


@dataclass(slots=True)
class Change:
    """What becomes durable together: readings and the estimates they closed, deliveries, facts."""

    readings: list[Reading] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    held: list[Reading] = field(default_factory=list)  # stamped with time since `boot`
    boot: str = ""
    released: bool = False  # whether `readings` has all held readings, stamped
    estimates: list[Estimate] = field(default_factory=list)
    closed_until: dict[str, int] = field(default_factory=dict)  # where it is not the end of an estimate
    delivered: list[int] = field(default_factory=list)
    facts: dict[str, str | int] = field(default_factory=dict)
    fixes: list[Fix] = field(default_factory=list)
    late: list[Reading] = field(default_factory=list)  # of closed windows, for a revision
    too_late: list[Reading] = field(default_factory=list)  # of final windows
    settled: list[Settled] = field(default_factory=list)
    derived: list[Derived] = field(default_factory=list)

    def __bool__(self) -> bool:
        kept = self.readings or self.held or self.released or self.estimates or self.closed_until
        late = self.late or self.too_late or self.settled or self.derived
        return bool(kept or late or self.delivered or self.facts or self.fixes)
