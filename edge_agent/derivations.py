"""What the agent derives from committed estimates, each part switched on by the settings."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from edge_agent.change import Outgoing
from edge_agent.clock import Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.suspicions import Suspicions
from edge_agent.core.topics import CONSENSUS
from edge_agent.journal import Journal
from edge_agent.publisher import Retain
from edge_agent.settings import Settings

if TYPE_CHECKING:
    from edge_agent.core.model import Model
    from edge_agent.scoring import Scoring


class Derivation(Protocol):
    """One part: it is told of committed estimates, and does a little work at a time."""

    @property
    def waits(self) -> bool:
        """Whether there is more to do soon."""

    def note(self, committed: Iterable[Outgoing]) -> None:
        """These estimates are in the journal now."""

    def run_due(self, time: Timekeeper) -> None:
        """Do a little; the next commit has it."""


class Derivations:
    """All parts that are switched on; most agents have none, and pay nothing."""

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        commits: GroupCommit,
        models: Mapping[str, "Model"],
        suspicions: Suspicions,
        retain: Retain,
    ) -> None:
        """What was retained by a part that is off now is removed from the broker."""
        self._parts: list[Derivation] = []
        if settings.estimates.means:
            from edge_agent.averaging import Averaging  # noqa: PLC0415 - it can be switched off

            self._parts.append(Averaging(journal, commits))
        if settings.consensus:
            from edge_agent.comparing import Comparing  # noqa: PLC0415 - as above

            self._parts.append(Comparing(settings, journal, commits, models, retain))
            from edge_agent.examining import Examining  # noqa: PLC0415 - as above

            self._parts.append(Examining(settings, journal, commits, models, suspicions))
        elif CONSENSUS in journal.closed_until(series=True):
            retain(settings.own_topics.latest(CONSENSUS), b"")
        self.scoring = _scoring(settings, journal, commits, models, retain)
        self._parts += [self.scoring] if self.scoring else []

    @property
    def waits(self) -> bool:
        """Whether there is more to do soon."""
        return any(part.waits for part in self._parts)

    def note(self, committed: list[Outgoing]) -> None:
        """These estimates are in the journal now."""
        for part in self._parts if committed else ():
            part.note(committed)

    def run_due(self, time: Timekeeper) -> None:
        """Let each part do a little."""
        for part in self._parts:
            part.run_due(time)


def _scoring(
    settings: Settings,
    journal: Journal,
    commits: GroupCommit,
    models: Mapping[str, "Model"],
    retain: Retain,
) -> "Scoring | None":
    if settings.reference is None and not journal.fact("scored"):
        return None
    from edge_agent.scoring import Scoring, withdraw  # noqa: PLC0415 - as above

    if settings.reference is None:
        withdraw(settings.own_topics, journal, retain)
        return None
    return Scoring(settings, settings.reference, journal, commits, models)
