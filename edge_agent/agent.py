"""The one loop: receive, feed, close what is due, commit, acknowledge, publish what waits, do the chores."""

import os
import signal
import threading
from typing import Any

from edge_agent.brokers import connections
from edge_agent.chores import Chores
from edge_agent.clock import Clock
from edge_agent.commit import GroupCommit
from edge_agent.core.errors import (
    BadReading,
    BadSettings,
    JournalCorrupt,
    JournalUnavailable,
    JournalUnwritable,
)
from edge_agent.core.messages import Decoder, Reading, format_time, topic_filter
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.warming import REACH_MS, TEMPERATURE
from edge_agent.core.windows import CLOSED_REMEMBERED, Outcome, Windows, needed_minutes
from edge_agent.held import Held
from edge_agent.intake import Intake
from edge_agent.journal import Journal
from edge_agent.lock import only_agent
from edge_agent.log import Limited, logger, window_fields
from edge_agent.mqtt import Connected, Connection, Disconnected, Event, Inbox, Message, Published
from edge_agent.outlet import Outlet
from edge_agent.recovery import begin_anew, open_journal
from edge_agent.settings import Settings
from edge_agent.shelf import Shelf
from edge_agent.timekeeper import Every, Timekeeper

MOST_AT_ONCE = 500
IDLE_MS = 1_000
ANSWERING_MS = 20
WATCH_MS = 250  # how often the clocks are asked whether a silent sensor's window is over
RETRY_S = 0.5
FAREWELL_MS = 2_000


class Agent:
    """One daemon: what came in is safe before it is acknowledged, what goes out stays until it arrived."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._log, self._limited = logger(), Limited()
        self._stopping = self._answering = self._stuck = False
        self._hearing = False  # not the connection's `connected`, which is true before we take its event
        self._admitted: set[str] = set()
        self._watch = Every(WATCH_MS)
        self._windows = _windows(settings)
        self._time = Timekeeper(clock, doubt_ms=self._windows.length_ms + self._windows.grace_ms)
        shelf = Shelf(settings.bundles)
        self._pipeline = Pipeline(
            self._windows, shelf.models, settings.agent, settings.windows.coverage, self._recall
        )
        topics = settings.topics
        decoder = Decoder(topics.readings, topics.channels, settings.limits.max_payload_bytes)
        self._intake = Intake(decoder, self._admits)
        self._inbox = Inbox(settings.limits.max_pending)
        self._ingress, self._egress = connections(settings, self._inbox, clock.elapsed_ms)
        self._request_topic = topics.request.format(agent=settings.agent)
        self._journal = self._open_journal()
        boot = clock.boot_id()
        self._group = GroupCommit(
            self._journal, boot, settings.journal.commit_ms, settings.journal.commit_messages
        )
        self._held = Held(self._group, self._restore(boot))
        self._outlet = Outlet(self._egress, topics, settings.agent, self._journal)
        self._chores = Chores(
            settings,
            self._time,
            shelf,
            self._journal,
            self._group,
            self._intake,
            self._pipeline,
            self._outlet,
        )

    def run(self) -> None:
        """Work until told to stop."""
        self._handle_signals()
        self.start()
        self._chores.notifier.ready("started")
        while not self._stopping:
            self.step()
        self.stop()

    def start(self) -> None:
        """Begin to connect, whether or not a broker is there."""
        filters = [topic_filter(template) for template in self._settings.topics.readings]
        if self._egress is self._ingress:
            self._ingress.start([*filters, self._request_topic])
        else:
            self._ingress.start(filters)
            self._egress.start([self._request_topic])
        self._log.info("agent.started", agent=self._settings.agent, sensors=sorted(self._pipeline.models))

    def step(self) -> None:
        """Once around."""
        events = self._wait()
        with self._inbox.turn:
            self._work(events)

    def _wait(self) -> list[tuple[Connection | None, Event]]:
        """What has come; a disk that refuses makes the network wait, not the memory grow."""
        if not self._stuck:
            return self._inbox.receive(self._patience_s(), MOST_AT_ONCE)
        threading.Event().wait(RETRY_S)
        return []

    def _work(self, events: list[tuple[Connection | None, Event]]) -> None:
        for connection, event in events:
            self._take(connection, event)
        if stepped_ms := self._time.look():
            self._log.warning("clock.stepped", by_ms=stepped_ms)
        if self._held and self._time.placed:
            self._log.info("readings.stamped", readings=len(self._held))
            self._feed(self._held.release(self._time.offset_ms))
        self._close_due()
        self._commit_if_due()
        self._outlet.flush()
        self._answering = self._outlet.answer()
        self._chores.do("connected" if self._ingress.connected else "waiting for the broker")

    def _patience_s(self) -> float:
        """How long the loop may sleep when nothing comes."""
        idle_ms = ANSWERING_MS if self._answering else IDLE_MS
        return self._group.patience_ms(self._time.elapsed_ms, idle_ms) / 1000

    def _take(self, connection: Connection | None, event: Event) -> None:
        if connection is None:
            return
        if isinstance(event, Message):
            if event.topic == self._request_topic:
                self._outlet.request(event.payload)
                connection.ack([event])
            elif connection is self._ingress:
                self._take_message(event)
            else:
                connection.ack([event])  # an old session of the uplink may hold subscriptions of other days
        elif isinstance(event, Published):
            if connection is self._egress:
                self._settle(event)
        elif isinstance(event, Connected):
            self._welcome(connection, event)
        elif isinstance(event, Disconnected):
            self._hearing = self._hearing and connection is not self._ingress
            name = "broker.refused" if event.refused else "broker.lost"
            self._limited.warning(self._time.elapsed_ms, name, broker=str(connection), reason=event.reason)

    def _settle(self, event: Published) -> None:
        self._outlet.settle(event.mid, refused=bool(event.refused))
        if event.refused:
            self._limited.warning(self._time.elapsed_ms, "publication.refused", reason=event.refused)

    def _take_message(self, message: Message) -> None:
        self._group.messages.append(message)
        hold = not self._time.placed
        try:
            taken = self._intake.take(message, 0 if hold else self._time.offset_ms)
        except BadReading as error:
            self._limited.warning(self._time.elapsed_ms, "reading.rejected", reason=str(error))
            return
        self._group.change.traces += taken.traces
        hold = hold and not taken.own_stamp
        self._chores.heard.note(taken.readings, self._time.elapsed_ms, placed=not hold)
        if not hold:
            self._feed(taken.readings)
        elif not self._held.hold(taken.readings):
            self._intake.counts["unstampable"] += len(taken.readings)

    def _feed(self, readings: list[Reading]) -> None:
        for reading in readings:
            outcome = self._pipeline.add(
                reading, self._time.now_ms, self._time.trusted, self._time.elapsed_ms
            )
            if outcome is Outcome.ACCEPTED:
                self._group.change.readings.append(reading)
            elif outcome is not Outcome.DUPLICATE:
                fields = {
                    "sensor": reading.sensor,
                    "channel": reading.channel,
                    "at": format_time(reading.at_ms),
                }
                self._limited.warning(self._time.elapsed_ms, f"reading.{outcome}", **fields)

    def _admits(self, sensor: str) -> bool:
        """Sensors with a bundle always; of others so many, whatever became of their readings."""
        if sensor in self._admitted or sensor in self._pipeline.models:
            return True
        if len(self._admitted) >= self._settings.limits.max_sensors:
            return False
        self._admitted.add(sensor)
        return True

    def _close_due(self) -> None:
        """While readings cannot reach us the clocks close nothing: they may be on their way."""
        by_clock = self._hearing and not self._stuck and self._watch.due(self._time.elapsed_ms)
        now_ms = self._time.now_ms if by_clock and self._time.trusted else None
        steady_ms = self._time.elapsed_ms if by_clock else None
        estimates = self._pipeline.close(now_ms, self._time.synchronised, steady_ms)
        for estimate in estimates:
            self._log.info("window.closed", **window_fields(estimate))
        self._group.change.estimates += estimates
        self._group.change.closed_until.update(self._windows.take_closed_until())

    def _commit_if_due(self) -> None:
        self._group.change.delivered += self._outlet.take_delivered()
        if self._group.due(self._time.elapsed_ms):
            self._commit()

    def _commit(self) -> None:
        """Make the change durable, then acknowledge; if the disk refuses, nothing is acknowledged."""
        try:
            outgoing, messages = self._group.commit(self._time.now_ms)
        except JournalUnavailable as error:
            self._limited.warning(self._time.elapsed_ms, "journal.unavailable", problem=str(error))
            self._chores.notifier.alive("the journal's disk does not take writes")
            self._stuck = True
            return
        if self._stuck:
            self._windows.wait(self._time.elapsed_ms)  # what came meanwhile is in the inbox or at the broker
        self._stuck = False
        self._ingress.ack(messages)
        self._outlet.committed(outgoing)

    def _welcome(self, connection: Connection, event: Connected) -> None:
        session = "resumed" if event.resumed else "new"
        self._log.info("broker.connected", broker=str(connection), session=session)
        if connection is self._ingress:
            self._hearing = True
            self._windows.wait(self._time.elapsed_ms)
        if connection is self._egress:
            self._outlet.announce(self._pipeline.models.values())
            self._chores.tell_soon()

    def _open_journal(self) -> Journal:
        settings, length_ms = self._settings, self._windows.length_ms
        try:
            settings.state.mkdir(parents=True, exist_ok=True)
            durability = settings.journal.durability
            journal, aside = open_journal(settings.state, length_ms, durability, self._time.now_ms)
        except (OSError, JournalUnwritable) as error:
            expected = "expected a state directory that can be written"
            raise BadSettings(f"{settings.state}: {error}; {expected}") from error
        if aside:
            self._log.error("journal.set_aside", file=str(aside), reason="the file was damaged")
        return journal

    def _restore(self, boot: str) -> list[Reading]:
        """Rebuild open windows, the averages as if nothing had happened; returns readings not yet stamped."""
        for sensor, closed_until_ms in self._journal.closed_until().items():
            closed = self._journal.last_closed(sensor, CLOSED_REMEMBERED)
            self._windows.resume(sensor, closed_until_ms, closed)
        for readings, traces in self._journal.rebuild():
            self._intake.remember(traces)
            for reading in readings:
                self._windows.add(reading, self._time.now_ms, False, self._time.elapsed_ms)
            self._admitted.update(reading.sensor for reading in readings)
        restored = self._windows.counts[Outcome.ACCEPTED]
        self._windows.counts.clear()
        held, traces, lost = self._journal.held(boot)
        self._intake.remember(traces)
        self._intake.counts["unstampable"] += lost
        self._log.info("journal.opened", restored=restored, held=len(held), unstampable=lost)
        return held

    def _recall(self, sensor: str) -> list[tuple[int, float]]:
        """The temperatures of the last day's windows, for a model that looks back."""
        length_ms, model = self._windows.length_ms, self._pipeline.models.get(sensor)
        cadence_minutes = model.cadence_minutes.get(TEMPERATURE, 1) if model else 1
        needed = needed_minutes(length_ms, cadence_minutes, self._settings.windows.coverage)
        means = self._journal.means(sensor, TEMPERATURE, REACH_MS // length_ms)
        return [(each.start_ms, each.mean) for each in means if each.minutes >= needed]

    def _handle_signals(self) -> None:
        threading.excepthook = self._on_thread_death
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_reload)

    def _on_stop(self, *_: Any) -> None:
        self._stopping = True
        self._inbox.wake()

    def _on_reload(self, *_: Any) -> None:
        self._chores.look_soon()
        self._inbox.wake()

    def _on_thread_death(self, death: threading.ExceptHookArgs) -> None:
        """A dead network thread leaves a client that looks connected for ever: end the process instead."""
        self._log.critical("thread.died", thread=str(death.thread), exc_info=death.exc_value)
        os._exit(1)

    def stop(self) -> None:
        """Commit and deliver what is there, say goodbye, close no window early."""
        self._chores.notifier.stopping()
        self._commit()
        self._outlet.flush()
        self._outlet.say_goodbye()
        self._drain()
        for connection in {self._ingress, self._egress}:
            connection.stop()
        self._journal.close()
        self._log.info("agent.stopped")

    def _drain(self) -> None:
        """Give the broker a moment to acknowledge, so that the next start need not send again."""
        until_ms = self._time.elapsed_ms + FAREWELL_MS
        while self._outlet.handed and self._egress.connected and self._time.elapsed_ms < until_ms:
            for connection, event in self._inbox.receive(0.05, MOST_AT_ONCE):
                if isinstance(event, Published) and connection is self._egress:
                    self._settle(event)
            self._time.look()
        self._group.change.delivered += self._outlet.take_delivered()
        self._commit()


def run(settings: Settings) -> None:
    """Run an agent until it is told to stop; a damaged journal is set aside for the next start."""
    clock = Clock(trusted=settings.clock == "trusted")
    with only_agent(settings.state):
        try:
            Agent(settings, clock).run()
        except JournalCorrupt as error:
            aside = begin_anew(settings.state, clock.now_ms())
            logger().error("journal.set_aside", file=str(aside), reason=str(error))
            raise


def _windows(settings: Settings) -> Windows:
    windows = settings.windows
    return Windows(
        length_ms=windows.length_s * 1000,
        grace_ms=int(windows.grace_s * 1000),
        patience_ms=int(windows.patience_s * 1000),
        future_ms=int(windows.future_s * 1000),
        max_readings=windows.max_readings,
    )
