"""Group commit: what arrives together becomes durable together, and is acknowledged only then."""

from collections.abc import Iterable

from edge_agent.change import Change, Outgoing, Trace
from edge_agent.core.derived import Derived
from edge_agent.core.messages import Estimate, Reading
from edge_agent.core.positions import Fix
from edge_agent.core.revisions import Due
from edge_agent.inbox import Message
from edge_agent.journal import Journal
from edge_agent.revising import Revised

MAX_HELD = 50_000
STALL_MS = 1_000  # a broker that was sending and is quiet for so long may wait for acknowledgements


class GroupCommit:
    """Collects a change until enough time has passed or enough messages have come: an SD card is the disk.

    A broker sends no more messages than its in-flight window before it gets acknowledgements. Nobody says how
    large that is, so a group is also complete when messages came quickly and then stop.

    Readings without a timestamp are held here, on time since boot, while the wall time is unknown.
    """

    def __init__(
        self, journal: Journal, boot: str, commit_ms: int, commit_messages: int, held: Iterable[Reading] = ()
    ) -> None:
        """`held` are the readings of this boot that the journal holds."""
        self.held = list(held)
        self._messages: list[Message] = []
        self._change = Change(boot=boot)
        self._journal = journal
        self._boot = boot
        self._commit_ms = commit_ms
        self._commit_messages = commit_messages
        self._since_ms: int | None = None
        self._seen, self._quick = 0, False
        self._now_ms = self._last_ms = -STALL_MS

    def add_readings(
        self, readings: list[Reading], traces: Iterable[Trace] = (), messages: Iterable[Message] = ()
    ) -> None:
        """Readings that their windows accepted, and the messages to acknowledge after the commit."""
        self._change.readings += readings
        self._change.traces += traces
        self._messages += messages

    def add_fix(self, fix: Fix | None, message: Message) -> None:
        """A fix, if the message had one to keep; the message is acknowledged after the commit."""
        self._change.fixes += [fix] if fix else []
        self._messages.append(message)

    def add_message(self, message: Message) -> bool:
        """Acknowledge a message after those before it; False if none waits, so that it can be done now."""
        if not self._messages:
            return False
        self._messages.append(message)
        return True

    def hold(self, readings: list[Reading]) -> bool:
        """Hold readings until the wall time is known; False if there is no room for them."""
        if len(self.held) >= MAX_HELD:
            return False
        self.held += readings
        self._change.held += readings
        return True

    def release(self, offset_ms: int) -> list[Reading]:
        """All held readings, stamped; `offset_ms` is the wall time minus the time since boot."""
        stamped = [each._replace(at_ms=each.at_ms + offset_ms) for each in self.held]
        self.held, self._change.held, self._change.released = [], [], True
        return stamped

    def add_estimates(self, estimates: list[Estimate], closed_until: dict[str, int]) -> None:
        """Estimates of closed windows, and where the next window of a sensor may start."""
        self._change.estimates += estimates
        self._change.closed_until |= closed_until

    def add_late(self, revising: list[Reading], too_late: list[Reading]) -> None:
        """Readings of closed windows: for a revision, or too late for one."""
        self._change.late += revising
        self._change.too_late += too_late

    def add_revised(self, revised: Revised) -> None:
        """New revisions of closed windows, and the late readings that they have."""
        self._change.estimates += revised.estimates
        self._change.settled += revised.settled

    def add_derived(self, derived: Iterable[Derived]) -> None:
        """What follows from estimates that the journal has."""
        self._change.derived += derived

    @property
    def has_derived(self) -> bool:
        """Whether something derived waits for the next commit."""
        return bool(self._change.derived)

    def has_committed(self, due: Due, length_ms: int) -> bool:
        """Whether the journal has every estimate, and the late readings of windows that are due."""
        late = (each.at_ms for each in self._change.late if each.sensor == due.sensor)
        starts_ms = {at_ms - at_ms % length_ms for at_ms in late}
        return not self._change.estimates and starts_ms.isdisjoint(due.starts_ms)

    def add_delivered(self, estimates: Iterable[int]) -> None:
        """Numbers of estimates that the broker has acknowledged."""
        self._change.delivered += estimates

    def add_fact(self, name: str, value: str) -> None:
        """A named value that replaces the one before."""
        self._change.facts[name] = value

    def due(self, elapsed_ms: int) -> bool:
        """Whether to commit now; estimates and facts do not wait, all else waits up to `commit_ms`."""
        self._now_ms, change = elapsed_ms, self._change
        if change.estimates or change.released or change.settled or change.facts or change.derived:
            return True
        if not self._messages and not change:
            return False
        self._note_arrivals()
        return len(self._messages) >= self._commit_messages or elapsed_ms >= self._deadline_ms()

    def _note_arrivals(self) -> None:
        """Whether messages come quickly: after each other, or after the last acknowledgement."""
        if self._since_ms is None:
            self._since_ms = self._now_ms
        if (arrived := len(self._messages) - self._seen) > 0:
            self._quick |= arrived > 1 or self._now_ms - self._last_ms < STALL_MS
            self._seen, self._last_ms = len(self._messages), self._now_ms

    def _deadline_ms(self) -> int:
        latest_ms = (self._since_ms or 0) + self._commit_ms
        return min(latest_ms, self._last_ms + STALL_MS) if self._quick else latest_ms

    def patience_ms(self, elapsed_ms: int, idle_ms: int) -> int:
        """How long the loop may sleep before the next commit is due, at most `idle_ms`."""
        if self._since_ms is None:
            return idle_ms
        return min(idle_ms, max(0, self._deadline_ms() - elapsed_ms))

    def commit(self, now_ms: int) -> tuple[list[Outgoing], list[Message]]:
        """What to publish and what to acknowledge; if the disk refuses, the change is kept for a retry."""
        outgoing = self._journal.commit(self._change, now_ms)
        messages, self._messages = self._messages, []
        self._change, self._since_ms = Change(boot=self._boot), None
        self._seen, self._quick, self._last_ms = 0, False, self._now_ms
        return outgoing, messages
