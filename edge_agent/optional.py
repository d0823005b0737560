"""Parts that most agents do not have; each is imported only where the settings or the journal name it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from edge_agent.commit import GroupCommit
from edge_agent.journal import Journal
from edge_agent.publisher import Publisher
from edge_agent.settings import Settings

if TYPE_CHECKING:
    from edge_agent.alerting import Alerting
    from edge_agent.core.model import Model
    from edge_agent.homeassistant import Discovery


def alerting(
    settings: Settings, journal: Journal, commits: GroupCommit, publisher: Publisher
) -> "Alerting | None":
    """Also without alerts in the settings, if there were some: their states are removed."""
    if not (settings.alerts or journal.fact("alerts")):
        return None
    from edge_agent.alerting import Alerting  # noqa: PLC0415

    return Alerting(settings, journal, commits, publisher)


def discovery(
    settings: Settings,
    models: Mapping[str, "Model"],
    journal: Journal,
    commits: GroupCommit,
    publisher: Publisher,
) -> "Discovery | None":
    """Also if it is switched off, after it was on: its messages are removed."""
    if not (settings.homeassistant or journal.fact("homeassistant")):
        return None
    from edge_agent.homeassistant import Discovery  # noqa: PLC0415

    made = Discovery(settings, journal, commits, publisher.retain)
    made.update(models.values())
    return made
