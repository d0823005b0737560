"""`python -m tests.bench.turns SETTINGS FILE`: an agent that writes its longest turn, in seconds, to a file.

A turn is what the loop does between two looks at its inbox: so long a reading may wait. Beside it stands how
much of this the loop waited for a core of a busy machine, and how much it computed. The rest is the disk.
"""

import mmap
import struct
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from edge_agent.agent import Agent
from edge_agent.clock import Clock
from edge_agent.log import configure
from edge_agent.service import serve
from edge_agent.settings import Settings, load
from tests.support.broker import AgentProcess
from tests.support.processes import start

SHARED = struct.Struct("<3d")


class Timed(Agent):
    """An agent with a stop-watch."""

    def __init__(self, settings: Settings, clock: Clock, turns: "Turns") -> None:
        self._turns = turns
        super().__init__(settings, clock)

    def _work(self, events: Any) -> None:
        began, before = time.perf_counter(), _scheduled_s()
        super()._work(events)
        computed_s, queued_s = (after - then for after, then in zip(_scheduled_s(), before, strict=True))
        self._turns.note(Turn(time.perf_counter() - began, computed_s, queued_s))


class Turn(NamedTuple):
    """How long one turn took, and for how much of it the loop computed, or waited for a core; in seconds."""

    seconds: float
    computed_s: float
    queued_s: float

    @property
    def own_s(self) -> float:
        """How long it would take if a core were always free."""
        return self.seconds - self.queued_s

    def __str__(self) -> str:
        parts = self.computed_s, self.queued_s, self.own_s - self.computed_s
        return "computed {:.0f} ms, waited {:.0f} ms for a core and {:.0f} ms for the disk".format(
            *(part * 1000 for part in parts)
        )


def _scheduled_s() -> tuple[float, float]:
    """How long this thread has run, and has waited for a core, as the kernel counts."""
    computed_ns, queued_ns, _ = Path("/proc/thread-self/schedstat").read_text().split()
    return int(computed_ns) / 1e9, int(queued_ns) / 1e9


class Turns:
    """The longest turn, and the longest without the time for a core, shared with the process that asks."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(2 * SHARED.size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 2 * SHARED.size)

    def note(self, turn: Turn) -> None:
        if turn > self.longest():
            SHARED.pack_into(self._memory, 0, *turn)
        if turn.own_s > self.longest_own().own_s:
            SHARED.pack_into(self._memory, SHARED.size, *turn)

    def longest(self) -> Turn:
        return Turn(*SHARED.unpack_from(self._memory))

    def longest_own(self) -> Turn:
        return Turn(*SHARED.unpack_from(self._memory, SHARED.size))

    def reset(self) -> None:
        self._memory[:] = bytes(2 * SHARED.size)


def start_timed(agent: AgentProcess) -> Turns:
    """Start this agent with a stop-watch."""
    path = agent.config.with_name("turns")
    turns, program = Turns(path), ["-m", "tests.bench.turns", str(agent.config), str(path)]
    with agent.log.open("ab") as log:
        agent.process = start([sys.executable, *program], stderr=log.fileno())
    return turns


def main(config: Path, path: Path) -> None:
    """Run until stopped."""
    settings = load(config)
    configure(settings.log.level, settings.log.format)
    serve(Timed(settings, Clock(trusted=True), Turns(path)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
