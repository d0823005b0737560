"""An agent whose clocks are in a file: weeks pass in seconds, and kill -9 is real.

    python -m tests.support.simulated_agent SETTINGS CLOCK

CLOCK has the wall time in ms, in eight bytes.
"""

import mmap
import struct
import sys
from pathlib import Path

from edge_agent.agent import Agent
from edge_agent.clock import Clock
from edge_agent.log import configure
from edge_agent.service import serve
from edge_agent.settings import load


class FileClock(Clock):
    """A clock that another process sets."""

    def __init__(self, path: Path) -> None:
        super().__init__(trusted=True)
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 8)
        self._read_ms = self.now_ms()

    def now_ms(self) -> int:
        self._read_ms = int(struct.unpack_from("<q", self._memory)[0])
        return self._read_ms

    def elapsed_ms(self) -> int:
        """Not read again: the clock may be set between the two, which is not a step."""
        return self._read_ms - 1_600_000_000_000

    def boot_id(self) -> str:
        return "boot-1"


def main(config: Path, clock: FileClock) -> None:
    """Run until killed."""
    settings = load(config)
    configure(settings.log.level, settings.log.format)
    serve(Agent(settings, clock))


if __name__ == "__main__":
    main(Path(sys.argv[1]), FileClock(Path(sys.argv[2])))
