"""What time it is, and how far the wall clock may be believed."""

from edge_agent.clock import Clock, Steps


class Timekeeper:
    """One look at the clocks at a time, so that a whole turn of the loop agrees on it."""

    def __init__(self, clock: Clock, doubt_ms: int) -> None:
        """`doubt_ms`: after a step the wall clock closes nothing and rejects nothing for so long."""
        self._clock = clock
        self._doubt_ms = doubt_ms
        self._doubt_until_ms = 0
        self.now_ms, self.elapsed_ms = clock.now_ms(), clock.elapsed_ms()
        self.synchronised = self._told = clock.synchronised()
        self.placed = self.synchronised  # right once, and not set since: it may drift, but it is no riddle
        self._steps = Steps(self.now_ms, self.elapsed_ms)

    def look(self) -> int:
        """Read the clocks; returns by how many milliseconds the wall clock was stepped, mostly 0."""
        self.now_ms, self.elapsed_ms = self._clock.now_ms(), self._clock.elapsed_ms()
        stepped_ms = self._steps.notice(self.now_ms, self.elapsed_ms)
        if stepped_ms:
            self._doubt_until_ms = self.elapsed_ms + self._doubt_ms
            self.synchronised = self.placed = self._clock.synchronised()  # who set it may have spoilt it
        return stepped_ms

    def ask(self) -> bool:
        """Ask the kernel again whether its clock is synchronised; True if the answer has changed."""
        self.synchronised = self._clock.synchronised()
        self.placed = self.placed or self.synchronised
        # Read after the answer: synchronisation mostly comes with a step, and stamps must have it too.
        self.now_ms, self.elapsed_ms = self._clock.now_ms(), self._clock.elapsed_ms()
        before, self._told = self._told, self.synchronised
        return before != self._told

    @property
    def trusted(self) -> bool:
        """Whether the wall clock may close windows and reject readings from the future."""
        return self.synchronised and self.elapsed_ms >= self._doubt_until_ms

    @property
    def offset_ms(self) -> int:
        """What leads from time since boot to wall time."""
        return self.now_ms - self.elapsed_ms


class Every:
    """A chore's clock: due at once, and then every so often.

    >>> every = Every(period_ms=100)
    >>> [every.due(at_ms) for at_ms in (5, 50, 105, 110)]
    [True, False, True, False]
    """

    def __init__(self, period_ms: float) -> None:
        self._period_ms = period_ms
        self._next_ms: float = 0.0

    def due(self, elapsed_ms: int) -> bool:
        """Whether it is time; asking takes the turn."""
        if elapsed_ms < self._next_ms:
            return False
        self._next_ms = elapsed_ms + self._period_ms
        return True

    def soon(self) -> None:
        """Make it due."""
        self._next_ms = 0.0
