"""`python -m tests.bench.turns SETTINGS FILE`: an agent that writes its longest turn, in seconds, to a file.

A turn is what the loop does between two looks at its inbox: so long a reading may wait.
"""

import mmap
import struct
import sys
import time
from pathlib import Path
from typing import Any

from edge_agent.agent import Agent
from edge_agent.clock import Clock
from edge_agent.log import configure
from edge_agent.settings import Settings, load
from tests.support.broker import AgentProcess
from tests.support.processes import start


class Timed(Agent):
    """An agent with a stop-watch."""

    def __init__(self, settings: Settings, clock: Clock, turns: "Turns") -> None:
        self._turns = turns
        super().__init__(settings, clock)

    def _work(self, events: Any) -> None:
        began = time.perf_counter()
        super()._work(events)
        self._turns.note(time.perf_counter() - began)


class Turns:
    """The longest turn, shared with the process that asks."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 8)

    def note(self, seconds: float) -> None:
        if seconds > self.longest():
            struct.pack_into("<d", self._memory, 0, seconds)

    def longest(self) -> float:
        seconds: float = struct.unpack_from("<d", self._memory)[0]
        return seconds

    def reset(self) -> None:
        struct.pack_into("<d", self._memory, 0, 0.0)


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
    Timed(settings, Clock(trusted=True), Turns(path)).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
