"""Group commit: what came in together becomes durable together, and only then is acknowledged."""

from edge_agent.journal import Change, Journal, Outgoing
from edge_agent.mqtt import Message


class GroupCommit:
    """A change that grows until enough time or enough messages have come; an SD card is the disk."""

    def __init__(self, journal: Journal, boot: str, commit_ms: int, commit_messages: int) -> None:
        self.change = Change(boot=boot)
        self.messages: list[Message] = []
        self._journal = journal
        self._boot = boot
        self._commit_ms = commit_ms
        self._commit_messages = commit_messages
        self._since_ms: int | None = None

    def due(self, elapsed_ms: int) -> bool:
        """Whether to commit now; estimates do not wait, everything else may for a while."""
        if self.change.estimates or self.change.released:
            return True
        if not self.messages and not self.change:
            return False
        if self._since_ms is None:
            self._since_ms = elapsed_ms
        return len(self.messages) >= self._commit_messages or elapsed_ms - self._since_ms >= self._commit_ms

    def patience_ms(self, elapsed_ms: int, idle_ms: int) -> int:
        """How long nobody needs to look here again."""
        if self._since_ms is None:
            return idle_ms
        return min(idle_ms, max(0, self._since_ms + self._commit_ms - elapsed_ms))

    def commit(self, now_ms: int) -> tuple[list[Outgoing], list[Message]]:
        """What to publish and what to acknowledge; if the disk refuses, everything stays as it was."""
        outgoing = self._journal.commit(self.change, now_ms) if self.change else []
        messages, self.messages = self.messages, []
        self.change, self._since_ms = Change(boot=self._boot), None
        return outgoing, messages
