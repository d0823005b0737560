"""A reference beside the van: its readings are journalled, and the estimates are compared with it."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from edge_agent.change import Outgoing
from edge_agent.clock import Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.colocation import DAY_MS, Colocation, score_record
from edge_agent.core.errors import BadEstimate, BadReading
from edge_agent.core.messages import UNSTAMPED, decode_estimate, format_time
from edge_agent.core.reference import FACT as UNIT
from edge_agent.core.reference import REFERENCE, decode_reference, gas_of
from edge_agent.core.topics import OwnTopics
from edge_agent.core.units import GRAMS_PER_MOLE
from edge_agent.core.windows import IMPLAUSIBLE_MS, Outcome
from edge_agent.inbox import Message
from edge_agent.journal import Journal
from edge_agent.publisher import Retain
from edge_agent.settings import Settings
from edge_agent.settings_sections import Reference

if TYPE_CHECKING:
    from edge_agent.core.model import Model

FACT = "scored"  # the sensors whose score is at the broker
# A value that is too late is in no score, but `adapt --from-journal` uses it.
KEPT = (Outcome.ACCEPTED, Outcome.TOO_LATE)
COUNTED = (Outcome.ACCEPTED, Outcome.DUPLICATE, Outcome.TOO_LATE, Outcome.FUTURE, Outcome.EXCESS)
GASES = tuple(gas.lower() for gas in GRAMS_PER_MOLE)
MAX_TOTAL = 20_000  # values in open windows; so many are 3 MB
SHOWN = ("windows", "bias", "unit", "r2", "coverage", "level", "to")  # of a score, in health


class Scoring:
    """The windows of the reference, the counts of its readings, and what is published about the scores."""

    waits = False

    def __init__(
        self,
        settings: Settings,
        chosen: Reference,
        journal: Journal,
        commits: GroupCommit,
        models: Mapping[str, "Model"],
    ) -> None:
        """`models` are those of the bundles, which may change."""
        self._agent, self._topics, self._topic = settings.agent, settings.own_topics, chosen.topic
        self._max_bytes = settings.limits.max_payload_bytes
        self._journal, self._commits, self._models = journal, commits, models
        self._counts: Counter[str] = Counter()
        self._last_at_ms: int | None = None
        self._scored = _scored(journal)
        self._windows = settings.windows.machine(max_total=MAX_TOTAL)
        conditions = settings.estimates.conditions
        self._colocation = Colocation(chosen.unit, conditions)
        commits.add_fact(UNIT, json.dumps({"unit": chosen.unit, **conditions._asdict()}))
        self._restore()

    def takes(self, topic: str) -> bool:
        """Whether a message on this topic is of the reference."""
        return bool(gas_of(self._topic, topic))

    def take(self, message: Message, time: Timekeeper) -> None:
        """Keep the reading of a message with the next commit; BadReading if it has none."""
        try:
            reading = decode_reference(self._topic, message.topic, message.payload, self._max_bytes)
            self._admit(reading.channel, message.topic)
        except BadReading:
            self._counts["rejected"] += 1
            raise
        if reading.at_ms == UNSTAMPED:
            # When a repeated or retained message was sent is not known.
            if message.dup or message.retain or not time.wall_time_known:
                self._counts["unstampable"] += 1
                return
            reading = reading._replace(at_ms=message.arrived_ms + time.offset_ms)
        outcome = self._windows.add(reading, time.now_ms, time.trusted, time.elapsed_ms)
        self._counts[outcome] += 1
        if outcome in KEPT:
            self._last_at_ms = reading.at_ms
            self._commits.add_late([], [reading])
        self._close(time.now_ms)

    def _admit(self, gas: str, topic: str) -> None:
        """Anybody may invent gases, and each would need memory for a day."""
        if not self._knows(gas):
            raise BadReading(f"{topic}: expected a gas of a bundle, or {', '.join(GASES)}", "gas")

    def _knows(self, gas: str) -> bool:
        return gas in GASES or any(model.gas.lower() == gas for model in self._models.values())

    def note(self, committed: Iterable[Outgoing]) -> None:
        """These estimates are in the journal now."""
        closed_until = self._journal.closed_until()
        for each in committed:
            # Windows beyond it, from implausible timestamps, would make all others too old.
            if each.start_ms < closed_until.get(each.sensor, 0):
                self._compare(each.payload)

    def run_due(self, time: Timekeeper) -> None:
        """Nothing: the windows of the reference close by its own readings, so a restart changes none."""

    def describe(self) -> dict[str, Any]:
        """The part of the health record."""
        kinds = (*COUNTED, "rejected", "unstampable")
        records = [score_record(score, self._agent) for score in self._colocation.scores()]
        return {
            "topic": self._topic,
            "last_reading": None if self._last_at_ms is None else format_time(self._last_at_ms),
            "readings": {str(kind): self._counts[kind] for kind in kinds},
            "scores": {record["sensor"]: {name: record[name] for name in SHOWN} for record in records},
        }

    def publish(self, retain: Retain) -> None:
        """Publish every score; the next commit has which sensors have one."""
        scores = self._colocation.scores()
        for score in scores:
            record = score_record(score, self._agent)
            text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
            retain(self._topics.score(score.sensor), text.encode())
        if new := {score.sensor for score in scores} - self._scored:
            self._scored |= new
            self._commits.add_fact(FACT, json.dumps(sorted(self._scored)))

    def _restore(self) -> None:
        """The last day of the reference in the journal, and the estimates of that day and of the last one.

        A window of the reference may still be on its way although the estimate is in the journal.
        """
        newest_ms = self._journal.closed_windows.newest_late(REFERENCE) or 0
        for reading in self._journal.closed_windows.late_between(REFERENCE, newest_ms - DAY_MS, newest_ms):
            if self._knows(reading.channel):
                self._windows.add(reading, now_ms=0, trusted=False)
                self._last_at_ms = reading.at_ms
                self._close(newest_ms)
        for sensor, until_ms in self._journal.closed_until().items():
            last_day_ms = until_ms - DAY_MS
            self._compare_between(sensor, newest_ms - DAY_MS, min(newest_ms, last_day_ms - 1))
            self._compare_between(sensor, last_day_ms, until_ms - 1)

    def _compare_between(self, sensor: str, first_ms: int, last_ms: int) -> None:
        for window in self._journal.closed_windows.between(sensor, first_ms, last_ms):
            self._compare(window.payload or b"")

    def _compare(self, payload: bytes) -> None:
        with suppress(BadEstimate):
            self._colocation.add_estimate(decode_estimate(payload))

    def _close(self, now_ms: int) -> None:
        """Windows far in the future, from a clock nobody could trust, would make all others too old."""
        plausible = (each for each in self._windows.close() if each.start_ms <= now_ms + IMPLAUSIBLE_MS)
        for window in plausible:
            for gas, mean in window.channels.items():
                self._colocation.add_reference(gas, window.start_ms, mean)


def withdraw(topics: OwnTopics, journal: Journal, retain: Retain) -> None:
    """Remove the scores from the broker, after the reference was removed from the settings.

    The journal still names them after that: the broker may be away until the next start.
    """
    for sensor in _scored(journal):
        retain(topics.score(sensor), b"")


def _scored(journal: Journal) -> set[str]:
    return set(json.loads(journal.fact(FACT) or "[]"))
