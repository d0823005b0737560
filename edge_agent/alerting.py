"""Alerts of the agent: their state is in the journal and, after the commit, retained at the broker."""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from edge_agent.commit import GroupCommit
from edge_agent.core.alerts import RAISED, Alerts, Limit, Transition, alert_record
from edge_agent.core.errors import BadEstimate
from edge_agent.core.messages import Estimate, decode_estimate, format_time
from edge_agent.journal import Journal
from edge_agent.log import logger
from edge_agent.publisher import Publisher
from edge_agent.settings import Settings
from edge_agent.settings_sections import Alert

FACT = "alerts"
DAMAGE = (ValueError, TypeError, KeyError, AttributeError)

State = dict[str, dict[str, Any]]  # topic -> the record of the last transition


class Alerting:
    """Tells the limits of each estimate, and publishes what that raises or clears."""

    def __init__(
        self, settings: Settings, journal: Journal, commits: GroupCommit, publisher: Publisher
    ) -> None:
        self._agent, self._topics = settings.agent, settings.own_topics
        self._commits, self._publisher = commits, publisher
        self._log = logger()
        self._limits = [_limit(alert) for alert in settings.alerts]
        self._alerts = Alerts(self._limits)
        self._uncommitted: set[str] = set()  # topics of transitions that are not on disk yet
        self._state = self._restore(journal)
        reach_ms = max((limit.reach_ms for limit in self._limits), default=0)
        for sensor, closed_ms in journal.closed_until().items() if self._limits else ():
            self._prime(journal.outbox.since(sensor, closed_ms - reach_ms))

    def update(self, estimates: Iterable[Estimate]) -> None:
        """Judge estimates that the next commit makes durable."""
        transitions = [each for estimate in estimates for each in self._alerts.update(estimate)]
        for each in transitions:
            self._report(each)
            topic = self._topics.alert(each.sensor, each.limit.name)
            self._state[topic] = alert_record(each, self._agent)
            self._uncommitted.add(topic)
        if transitions:
            self._commits.add_fact(FACT, json.dumps([*self._state.values()]))

    def committed(self) -> None:
        """Publish the transitions that are on disk now."""
        for topic in self._uncommitted:
            self._publisher.retain(topic, _encoded(self._state[topic]))
        self._uncommitted.clear()

    def _restore(self, journal: Journal) -> State:
        """The last transition of each limit; what the settings no longer have is removed from the broker."""
        state: State = {}
        with suppress(*DAMAGE):
            for record in json.loads(journal.fact(FACT) or "[]"):
                topic = self._topics.alert(record["sensor"], record["alert"])
                is_set = self._alerts.restore(record["alert"], record["sensor"], record["state"])
                self._publisher.retain(topic, _encoded(record) if is_set else b"")
                state |= {topic: record} if is_set else {}
        return state

    def _prime(self, payloads: Iterable[bytes]) -> None:
        for payload in payloads:
            with suppress(BadEstimate):
                self._alerts.prime(decode_estimate(payload))

    def _report(self, each: Transition) -> None:
        since = format_time(each.since_ms)
        fields = {"alert": each.limit.name, "sensor": each.sensor, "value": round(each.value, 3)}
        if each.state == RAISED:
            self._log.warning("alert.raised", **fields, since=since)
        else:
            self._log.info("alert.cleared", **fields, since=since)


def _limit(alert: Alert) -> Limit:
    return Limit(
        alert.name,
        alert.above,
        alert.below,
        alert.mean,
        int(alert.raise_after_s * 1000),
        int(alert.clear_after_s * 1000),
        alert.sensors,
    )


def _encoded(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()
