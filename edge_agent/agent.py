"""The one loop: receive, put in windows, close what is due, commit, acknowledge, publish, maintain."""

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from edge_agent import optional
from edge_agent.brokers import certificates, connections
from edge_agent.bundles import Bundles
from edge_agent.change import Outgoing
from edge_agent.clock import Clock, Every, Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.coverage import needed_minutes
from edge_agent.core.errors import BadReading, JournalUnavailable
from edge_agent.core.messages import format_time, topic_filter
from edge_agent.core.model_changes import FACT, ModelChanges
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.suspicions import Suspicions
from edge_agent.core.warming import REACH_MS, TEMPERATURE
from edge_agent.core.windows import Outcome
from edge_agent.derivations import Derivations
from edge_agent.history import History
from edge_agent.inbox import Connected, Disconnected, Event, Inbox, Message, Published
from edge_agent.intake import Intake, Taken
from edge_agent.journal import Journal
from edge_agent.locator import Locator
from edge_agent.log import Limited, logger, window_fields
from edge_agent.maintenance import Maintenance
from edge_agent.mqtt import Connection
from edge_agent.publisher import Publisher
from edge_agent.revising import Revising
from edge_agent.settings import Settings
from edge_agent.state import open_journal
from edge_agent.systemd import Notifier

if TYPE_CHECKING:
    from edge_agent.scoring import Scoring

MOST_AT_ONCE = 500
IDLE_MS = 1_000
ANSWERING_MS = 20
WATCH_MS = 250  # how often the clocks may close the windows of silent sensors
RETRY_S = 0.5
FAREWELL_MS = 2_000


class Agent:
    """One daemon: readings are committed before they are acknowledged, estimates stay until delivered."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._log, self._limited = logger(), Limited()
        self.stopping = False
        self._answering = self._disk_refuses = False
        # Not the connection's `connected`, which is True before its event is handled here.
        self._subscribed = False
        self._watch = Every(WATCH_MS)
        self._bundles = Bundles(settings.bundles, strict=False, length_s=settings.windows.length_s)
        models = self._bundles.models
        self._windows = settings.windows.machine(models)
        self._time = Timekeeper(clock, doubt_ms=self._windows.length_ms + self._windows.grace_ms)
        self._locator = Locator(settings)
        place = self._locator.positions.place if self._locator.known else None
        suspicions = Suspicions(int(settings.windows.final_h * 3_600_000))
        self._pipeline = Pipeline(
            self._windows,
            models,
            settings.agent,
            settings.windows.coverage,
            place,
            settings.estimates.unit,
            suspicions if settings.consensus else None,
        )
        topics, limits = settings.topics, settings.limits
        decoder = topics.decoder(limits.max_payload_bytes)
        self._journal = self._open_journal()
        self._revising = Revising(
            self._journal,
            self._pipeline,
            self._windows,
            models,
            int(settings.windows.revise_after_s * 1000),
            int(settings.windows.final_h * 3_600_000),
        )
        self._intake = Intake(decoder, self._windows, models, limits.max_sensors, self._revising)
        self._inbox = Inbox[Connection](limits.max_pending)
        self._ingress, self._egress = connections(settings, self._inbox, clock.elapsed_ms)
        self._request_topic = settings.own_topics.request
        self._commits = self._restore(clock.boot_id())
        self._changes = ModelChanges(self._journal.fact(FACT))
        self._publisher = Publisher(self._egress, settings.own_topics, self._journal, self._changes)
        self._history = History(self._egress, settings.own_topics, settings.state)
        self._alerting = optional.alerting(settings, self._journal, self._commits, self._publisher)
        self._derivations = Derivations(
            settings, self._journal, self._commits, models, suspicions, self._publisher.retain
        )
        self._scoring = self._derivations.scoring
        self._notifier = Notifier()
        self._maintenance = Maintenance(
            settings,
            self._time,
            self._bundles,
            self._journal,
            self._commits,
            self._intake,
            self._locator,
            self._publisher,
            self._changes,
            certificates(settings, self._ingress, self._egress),
            self._notifier,
            optional.discovery(settings, models, self._journal, self._commits, self._publisher),
            self._scoring,
            suspicions,
        )

    def start(self) -> None:
        """Start to connect; the brokers need not answer yet."""
        filters = [topic_filter(template) for template in self._settings.topics.readings]
        filters += [self._locator.topic] if self._locator.topic else []
        filters += [topic_filter(chosen.topic)] if (chosen := self._settings.reference) else []
        if self._egress is self._ingress:
            self._ingress.start([*filters, self._request_topic])
        else:
            self._ingress.start(filters)
            self._egress.start([self._request_topic])
        self._log.info("agent.started", agent=self._settings.agent, sensors=sorted(self._bundles.models))
        for reason in self._bundles.refused.values():
            self._log.error("bundle.refused", reason=reason)
        self._notifier.ready("started")

    def stop_soon(self) -> None:
        """End after the present iteration; a signal handler may call this."""
        self.stopping = True
        self._inbox.wake()

    def check_bundles_soon(self) -> None:
        """Look for changed bundles in the next iteration; a signal handler may call this."""
        self._maintenance.check_bundles_soon()
        self._inbox.wake()

    def step(self) -> None:
        """One iteration: wait, then handle what is due."""
        events = self._wait()
        with self._inbox.turn:
            self._work(events)

    def _wait(self) -> list[tuple[Connection | None, Event]]:
        """The next events; while the disk refuses writes the network waits, and memory does not grow."""
        if not self._disk_refuses:
            return self._inbox.receive(self._patience_s(), MOST_AT_ONCE)
        threading.Event().wait(RETRY_S)
        return []

    def _work(self, events: list[tuple[Connection | None, Event]]) -> None:
        readings: list[Message] = []
        for connection, event in events:
            if isinstance(event, Message) and connection is self._ingress and self._is_reading(event.topic):
                readings.append(event)
                continue
            if isinstance(event, Message):
                self._take(readings)  # a broker needs acknowledgements in the order of its messages
                readings = []
            self._handle(connection, event)
        self._take(readings)
        if stepped_ms := self._time.update():
            self._log.warning("clock.stepped", by_ms=stepped_ms)
        if self._commits.held and self._time.wall_time_known:
            self._log.info("readings.stamped", readings=len(self._commits.held))
            self._keep(self._intake.feed_held(self._commits.release(self._time.offset_ms), self._time))
        self._close_due()
        self._derive_due()
        committed = self._commit() if self._commits.due(self._time.elapsed_ms) else []
        self._derivations.note(committed)
        self._publisher.flush(committed)
        self._answering = self._history.answer()
        self._report_damage()
        self._maintenance.run_due("connected" if self._ingress.connected else "waiting for the broker")

    def _patience_s(self) -> float:
        """How long the loop may sleep when nothing arrives."""
        soon = self._answering or self._revising.busy or self._derivations.waits
        idle_ms = ANSWERING_MS if soon else IDLE_MS
        return self._commits.patience_ms(self._time.elapsed_ms, idle_ms) / 1000

    def _is_reading(self, topic: str) -> bool:
        """Whether a message of the sensors' broker is for the windows, as nearly all are."""
        beside = self._request_topic, self._locator.topic
        return topic not in beside and not (self._scoring and self._scoring.takes(topic))

    def _handle(self, connection: Connection | None, event: Event) -> None:
        if connection is None:
            return
        if isinstance(event, Message):
            self._take_other(connection, event)
        elif isinstance(event, Published):
            if connection is self._egress:
                self._settle(event)
        elif isinstance(event, Connected):
            self._welcome(connection, event)
        elif isinstance(event, Disconnected):
            self._subscribed = self._subscribed and connection is not self._ingress
            fields = {"broker": str(connection), "reason": event.reason}
            self._limited.warning(self._time.elapsed_ms, event.event, **fields)

    def _settle(self, event: Published) -> None:
        self._history.settle(event.mid)
        self._commits.add_delivered(self._publisher.settle(event.mid, refused=bool(event.refused)))
        if event.refused:
            self._limited.warning(self._time.elapsed_ms, "publication.refused", reason=event.refused)

    def _take(self, readings: list[Message]) -> None:
        """Put the readings of messages in their windows; the next commit acknowledges the messages."""
        if readings:
            self._keep(self._intake.take(readings, self._time), readings)

    def _take_other(self, connection: Connection, message: Message) -> None:
        if message.topic == self._request_topic:
            self._history.ask(message.payload)
        elif connection is self._ingress:
            if message.topic == self._locator.topic:
                self._take_beside(self._locator, "fix.rejected", message)
            elif self._scoring:
                self._take_beside(self._scoring, "reference.rejected", message)
            return
        # An old session of the uplink may still have the subscriptions of earlier settings.
        if connection is not self._ingress or not self._commits.add_message(message):
            connection.ack([message])

    def _take_beside(self, source: "Locator | Scoring", event: str, message: Message) -> None:
        """Keep what is no reading of a sensor; the next commit acknowledges the message."""
        fix = None
        try:
            fix = source.take(message, self._time)
        except BadReading as error:
            self._limited.warning(self._time.elapsed_ms, event, kind=error.kind, reason=str(error))
        self._commits.add_fix(fix, message)

    def _keep(self, taken: Taken, messages: Iterable[Message] = ()) -> None:
        """Note what a commit makes durable; log what it does not."""
        self._commits.add_readings(taken.accepted, taken.traces, messages)
        if taken.held and not self._commits.hold(taken.held):
            self._intake.count("unstampable", len(taken.held))
        for kind, reason in taken.rejected:
            self._limited.warning(self._time.elapsed_ms, "reading.rejected", kind=kind, reason=reason)
        if taken.others:
            self._commits.add_late(taken.late(Outcome.REVISING), taken.late(Outcome.TOO_LATE))
        for outcome, (sensor, channel, at_ms, _) in taken.others:
            if outcome not in (Outcome.DUPLICATE, Outcome.REVISING):
                fields = {"sensor": sensor, "channel": channel, "at": format_time(at_ms)}
                self._limited.warning(self._time.elapsed_ms, f"reading.{outcome}", **fields)

    def _close_due(self) -> None:
        """Close windows; without a subscription or a disk only by event time: readings may still arrive."""
        ready = self._subscribed and not self._disk_refuses
        by_clock = ready and self._watch.due(self._time.elapsed_ms)
        now_ms = self._time.now_ms if by_clock and self._time.trusted else None
        if now_ms is not None or (ready and self._revising.busy):
            self._revise_due()
        steady_ms = self._time.elapsed_ms if by_clock else None
        estimates = self._pipeline.close(now_ms, self._time.synchronised, steady_ms)
        for estimate in estimates:
            self._log.info("window.closed", **window_fields(estimate))
        self._commits.add_estimates(estimates, self._windows.take_closed_until())
        self._maintenance.announce(self._changes.note(estimates))
        if self._alerting and estimates:
            self._alerting.update(estimates)

    def _revise_due(self) -> None:
        """Revise the windows of one sensor, if late readings have waited for long enough."""
        due = self._revising.due(self._time)
        if due is None or not self._commits.has_committed(due, self._windows.length_ms):
            return
        try:
            revised = self._revising.revise(due, self._time)
        except JournalUnavailable as error:
            self._limited.warning(self._time.elapsed_ms, "journal.unavailable", reason=str(error))
            return
        if revised is None:
            return
        for estimate in revised.estimates:
            self._log.info("window.revised", revision=estimate.revision, **window_fields(estimate))
        self._commits.add_revised(revised)

    def _derive_due(self) -> None:
        """Make the means and the consensus that committed estimates complete or change.

        Not between two parts of a revision, which would revise a mean of both twice.
        """
        if not (self._disk_refuses or self._revising.between_parts):
            try:
                self._derivations.run_due(self._time)
            except JournalUnavailable as error:
                self._limited.warning(self._time.elapsed_ms, "journal.unavailable", reason=str(error))

    def _commit(self) -> list[Outgoing]:
        """Make the change durable, then acknowledge; if the disk refuses, nothing is acknowledged."""
        try:
            outgoing, messages = self._commits.commit(self._time.now_ms)
        except JournalUnavailable as error:
            self._limited.warning(self._time.elapsed_ms, "journal.unavailable", reason=str(error))
            self._notifier.alive("the journal's disk refuses writes")
            self._disk_refuses = True
            return []
        if self._disk_refuses:
            # The readings of the meantime are in the inbox or at the broker.
            self._windows.wait(self._time.elapsed_ms)
        self._disk_refuses = False
        self._ingress.ack(messages)
        if self._alerting:
            self._alerting.committed()
        return outgoing

    def _welcome(self, connection: Connection, event: Connected) -> None:
        session = "resumed" if event.resumed else "new"
        self._log.info("broker.connected", broker=str(connection), session=session)
        if connection is self._ingress:
            self._subscribed = True
            self._windows.wait(self._time.elapsed_ms)
        if connection is self._egress:
            self._publisher.republish(self._bundles.models.values())
            self._maintenance.publish_health_soon()

    def _open_journal(self) -> Journal:
        durability, length_ms = self._settings.journal.durability, self._windows.length_ms
        journal, aside, reason = open_journal(self._settings.state, length_ms, durability, self._time.now_ms)
        if aside:
            self._log.error("journal.set_aside", file=str(aside), reason=reason)
        return journal

    def _report_damage(self) -> None:
        """What the journal skipped; each row once, because it is deleted or read only on request."""
        for reason in self._journal.damage:
            self._log.error("journal.damaged", reason=reason)
        self._journal.damage.clear()

    def _restore(self, boot: str) -> GroupCommit:
        """Continue where the journal ends: open windows, past temperatures, held readings."""
        restored, held, lost = self._intake.restore(self._journal, boot, self._time)
        if self._locator.topic:
            self._locator.restore(self._journal.fixes())
        self._revising.restore(self._time.elapsed_ms)
        self._prime()
        self._report_damage()
        self._log.info(
            "journal.opened",
            readings_restored=restored,
            readings_waiting_for_clock=len(held),
            readings_lost=lost,
        )
        settings = self._settings.journal
        return GroupCommit(self._journal, boot, settings.commit_ms, settings.commit_messages, held)

    def _prime(self) -> None:
        """Load the last day's temperatures, for sensors with a model and the newest `max_sensors` others."""
        closed_until, models = self._journal.closed_until(), self._bundles.models
        newest = sorted(closed_until, key=lambda sensor: (sensor in models, closed_until[sensor]))
        length_ms, coverage = self._windows.length_ms, self._settings.windows.coverage
        for sensor in newest[-self._settings.limits.max_sensors - len(models) :]:
            cadence_minutes = models[sensor].cadence_minutes.get(TEMPERATURE, 1) if sensor in models else 1
            needed = needed_minutes(length_ms, cadence_minutes, coverage)
            means = self._journal.means(sensor, TEMPERATURE, closed_until[sensor] - REACH_MS)
            self._pipeline.prime(sensor, ((m.start_ms, m.mean) for m in means if m.minutes >= needed))

    def stop(self) -> None:
        """Commit and deliver what there is, publish the status, close no window early."""
        self._notifier.stopping()
        self._publisher.flush(self._commit())
        self._publisher.publish_offline()
        self._drain()
        for connection in {self._ingress, self._egress}:
            connection.stop()
        self._journal.close()
        self._log.info("agent.stopped")

    def _drain(self) -> None:
        """Wait a moment for acknowledgements, so that the next start need not publish again."""
        until_ms = self._time.elapsed_ms + FAREWELL_MS
        while self._publisher.in_flight and self._egress.connected and self._time.elapsed_ms < until_ms:
            for connection, event in self._inbox.receive(0.05, MOST_AT_ONCE):
                if isinstance(event, Published) and connection is self._egress:
                    self._settle(event)
            self._time.update()
        self._commit()
