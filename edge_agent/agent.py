"""The one loop: receive, feed, close what is due, commit, acknowledge, publish what waits, tell."""

import json
import os
import signal
import ssl
import threading
from typing import Any

from edge_agent import health
from edge_agent.clock import Clock
from edge_agent.errors import BadReading, BadSettings, JournalCorrupt, JournalUnavailable
from edge_agent.intake import Intake
from edge_agent.journal import Change, Journal, open_journal, set_aside
from edge_agent.log import Limited, logger
from edge_agent.messages import Decoder, Estimate, Reading, format_time, topic_filter
from edge_agent.mqtt import Address, Connected, Connection, Disconnected, Event, Inbox, Message, Published
from edge_agent.outlet import Outlet
from edge_agent.pipeline import Pipeline
from edge_agent.settings import Broker, Settings, secret
from edge_agent.shelf import Shelf
from edge_agent.systemd import Notifier
from edge_agent.timekeeper import Every, Timekeeper
from edge_agent.windows import Outcome, Windows

MOST_AT_ONCE = 1_000
IDLE_S = 1.0
ANSWERING_S = 0.02
RETRY_S = 0.5
LOOK_MS = 2_000  # how often the bundles' directory and the kernel's clock are looked at
TRIM_MS = 600_000
MAX_HELD = 50_000
FAREWELL_S = 2.0


class Agent:
    """One daemon: what came in is safe before it is acknowledged, what goes out stays until it arrived."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._log, self._limited = logger(), Limited()
        self._stopping = False
        length_ms, grace_ms = settings.windows.length_s * 1000, int(settings.windows.grace_s * 1000)
        self._time = Timekeeper(clock, doubt_ms=length_ms + grace_ms)
        self._began_ms = self._time.elapsed_ms
        self._shelf = Shelf(settings.bundles)
        self._journal = self._open_journal(length_ms)
        self._windows = Windows(
            length_ms,
            grace_ms,
            patience_ms=int(settings.windows.patience_s * 1000),
            future_ms=int(settings.windows.future_s * 1000),
            max_readings=settings.windows.max_readings,
        )
        self._pipeline = Pipeline(
            self._windows, self._shelf.models, settings.agent, settings.windows.coverage
        )
        topics, limits = settings.topics, settings.limits
        decoder = Decoder(topics.readings, topics.channels, limits.max_payload_bytes)
        self._intake = Intake(decoder, self._admits)
        self._heard = health.Heard()
        self._boot = clock.boot_id()
        self._change, self._acknowledge = Change(boot=self._boot), list[Message]()
        self._held: list[Reading] = []
        self._pending_since_ms: int | None = None
        self._answering = False
        self._restore()
        self._inbox = Inbox(limits.max_pending)
        self._ingress, self._egress = self._connections(clock)
        self._outlet = Outlet(self._egress, topics, settings.agent, self._journal)
        self._request_topic = topics.request.format(agent=settings.agent)
        self._notifier = Notifier()
        self._look, self._trim = Every(LOOK_MS), Every(TRIM_MS)
        self._health = Every(settings.health.interval_s * 1000)
        self._alive = Every(self._notifier.watchdog_s * 500 or 10_000)

    def run(self) -> None:
        """Work until told to stop."""
        self._handle_signals()
        filters = [topic_filter(template) for template in self._settings.topics.readings]
        if self._egress is self._ingress:
            self._ingress.start([*filters, self._request_topic])
        else:
            self._ingress.start(filters)
            self._egress.start([self._request_topic])
        self._log.info("agent.started", agent=self._settings.agent, sensors=sorted(self._pipeline.models))
        self._notifier.ready("started")
        while not self._stopping:
            self.step()
        self._stop()

    def step(self) -> None:
        """Once around."""
        for connection, event in self._inbox.receive(self._patience_s(), MOST_AT_ONCE):
            self._take(connection, event)
        self._look_around()
        self._close_due()
        if self._commit_due():
            self._commit()
        self._outlet.flush()
        self._answering = self._outlet.answer()
        self._tell()

    # In: from events to a change that waits to be committed.

    def _take(self, connection: Connection | None, event: Event) -> None:
        if isinstance(event, Message) and connection:
            if event.topic == self._request_topic:
                self._outlet.request(event.payload)
                connection.ack([event])
            else:
                self._take_message(event)
        elif isinstance(event, Published) and connection is self._egress:
            self._outlet.settle(event.mid)
        elif isinstance(event, Connected) and connection:
            self._welcome(connection, event)
        elif isinstance(event, Disconnected) and connection:
            where = f"{connection.address.host}:{connection.address.port}"
            event_name = "broker.refused" if event.refused else "broker.lost"
            self._limited.warning(self._time.elapsed_ms, event_name, broker=where, reason=event.reason)

    def _take_message(self, message: Message) -> None:
        if self._pending_since_ms is None:
            self._pending_since_ms = self._time.elapsed_ms
        self._acknowledge.append(message)
        hold = not self._time.synchronised
        try:
            taken = self._intake.take(message, 0 if hold else self._time.offset_ms)
        except BadReading as error:
            self._limited.warning(self._time.elapsed_ms, "reading.rejected", reason=str(error))
            return
        self._change.traces += taken.traces
        self._heard.note(taken.readings, self._time.elapsed_ms)
        if hold and not taken.own_stamp:
            self._hold(taken.readings)
        else:
            self._feed(taken.readings)

    def _feed(self, readings: list[Reading]) -> None:
        for reading in readings:
            outcome = self._pipeline.add(reading, self._time.now_ms, self._time.trusted)
            if outcome is Outcome.ACCEPTED:
                self._change.readings.append(reading)
            elif outcome is not Outcome.DUPLICATE:
                stamp = format_time(reading.at_ms)
                self._limited.warning(
                    self._time.elapsed_ms,
                    f"reading.{outcome}",
                    sensor=reading.sensor,
                    channel=reading.channel,
                    at=stamp,
                )

    def _hold(self, readings: list[Reading]) -> None:
        """Readings without a stamp wait, on time since boot, for the clock to be synchronised."""
        if len(self._held) >= MAX_HELD:
            self._intake.counts["unstampable"] += len(readings)
            return
        self._held += readings
        self._change.held += readings

    def _release(self) -> None:
        if self._held:
            self._log.info("readings.stamped", readings=len(self._held))
            self._feed([r._replace(at_ms=r.at_ms + self._time.offset_ms) for r in self._held])
            self._held, self._change.held, self._change.released = [], [], True

    def _admits(self, sensor: str) -> bool:
        known = sensor in self._windows or sensor in self._pipeline.models
        return known or len(self._windows) < self._settings.limits.max_sensors

    # The turn of windows, and the commit.

    def _close_due(self) -> None:
        """While readings cannot reach us the wall clock closes nothing: they may be on their way."""
        wall = self._time.trusted and self._ingress.connected
        estimates = self._pipeline.close(self._time.now_ms if wall else None, self._time.synchronised)
        for estimate in estimates:
            self._log_window(estimate)
        self._change.estimates += estimates

    def _commit_due(self) -> bool:
        if self._change.estimates or self._change.released:
            return True
        if (self._outlet.delivered or self._change.facts) and self._pending_since_ms is None:
            self._pending_since_ms = self._time.elapsed_ms
        if self._pending_since_ms is None:
            return False
        waited_ms = self._time.elapsed_ms - self._pending_since_ms
        settings = self._settings.journal
        return len(self._acknowledge) >= settings.commit_messages or waited_ms >= settings.commit_ms

    def _commit(self) -> None:
        """Make the change durable, then acknowledge; if the disk refuses, nothing is acknowledged."""
        self._change.delivered, self._outlet.delivered = (
            [*self._change.delivered, *self._outlet.delivered],
            [],
        )
        try:
            outgoing = self._journal.commit(self._change, self._time.now_ms) if self._change else []
        except JournalUnavailable as error:
            self._limited.warning(self._time.elapsed_ms, "journal.unavailable", problem=str(error))
            self._notifier.alive("the journal's disk does not take writes")
            threading.Event().wait(RETRY_S)
            return
        self._ingress.ack(self._acknowledge)
        self._outlet.committed(outgoing)
        self._change, self._acknowledge, self._pending_since_ms = Change(boot=self._boot), [], None

    # Around: clock, bundles, retention, health, systemd.

    def _look_around(self) -> None:
        if stepped_ms := self._time.look():
            self._log.warning("clock.stepped", by_ms=stepped_ms)
        if self._look.due(self._time.elapsed_ms):
            if self._time.ask():
                self._log.info("clock.synchronised" if self._time.synchronised else "clock.lost")
            self._reload()
        if self._time.synchronised:
            self._release()
        if self._trim.due(self._time.elapsed_ms):
            self._trim_journal()

    def _reload(self) -> None:
        """Take changed bundles; a window is estimated whole by the model there is when it closes."""
        for news in self._shelf.refresh():
            if news.problem:
                self._log.error("bundle.refused", problem=news.problem)
            elif news.model:
                self._log.info("bundle.loaded", sensor=news.sensor, model=news.model.id)
                self._outlet.show(news.model)
            elif news.sensor:
                self._log.warning("bundle.removed", sensor=news.sensor)
                self._outlet.withdraw(news.sensor)
        self._pipeline.models = self._shelf.models

    def _trim_journal(self) -> None:
        settings = self._settings.journal
        keep_after_ms = self._time.now_ms - int(settings.keep_days * 86_400_000)
        if dropped := self._journal.trim(keep_after_ms, settings.max_mb * 1_000_000):
            self._log.error("estimates.dropped", estimates=dropped, reason="the journal is full")

    def _tell(self) -> None:
        if self._health.due(self._time.elapsed_ms):
            record = self._health_record()
            self._outlet.tell(record)
            self._change.facts["health"] = json.dumps(record)
        if self._alive.due(self._time.elapsed_ms):
            depth, _ = self._journal.outbox()
            state = "connected" if self._ingress.connected else "waiting for the broker"
            self._notifier.alive(f"{state}, {len(self._windows)} sensors, {depth} estimates wait")

    def _health_record(self) -> dict[str, Any]:
        depth, oldest_ms = self._journal.outbox()
        counts = {str(kind): self._windows.counts[kind] for kind in Outcome}
        counts["duplicate"] += self._intake.counts["duplicate"]
        silent_since_ms = self._time.elapsed_ms - int(self._settings.health.silent_s * 1000)
        models = self._pipeline.models
        return health.record(
            agent=self._settings.agent,
            now_ms=self._time.now_ms,
            uptime_s=(self._time.elapsed_ms - self._began_ms) // 1000,
            clock=self._clock_word(),
            readings={
                **counts,
                **{kind: self._intake.counts[kind] for kind in ("rejected", "refused", "unstampable")},
            },
            outbox={
                "depth": depth,
                "oldest_s": None if oldest_ms is None else max(0, self._time.now_ms - oldest_ms) // 1000,
                "dropped": self._journal.dropped,
            },
            sensors={
                sensor: self._heard.describe(sensor, models.get(sensor), silent_since_ms)
                for sensor in sorted({*self._heard.sensors(), *models})
            },
            journal_bytes=self._journal.size_bytes(),
            notes={"held": len(self._held)},
        )

    def _clock_word(self) -> str:
        return "synchronised" if self._time.synchronised else "unsynchronised"

    def _log_window(self, estimate: Estimate) -> None:
        self._log.info(
            "window.closed",
            sensor=estimate.sensor,
            start=format_time(estimate.start_ms),
            minutes=min((m for name, m in estimate.minutes.items() if name != "expected"), default=0),
            value=None if estimate.value is None else round(estimate.value, 4),
            quality=int(estimate.quality),
            reasons=list(estimate.reasons),
        )

    def _patience_s(self) -> float:
        """How long the loop may sleep when nothing comes."""
        if self._answering:
            return ANSWERING_S
        if self._pending_since_ms is None:
            return IDLE_S
        due_ms = self._pending_since_ms + self._settings.journal.commit_ms
        return min(IDLE_S, max(0, due_ms - self._time.elapsed_ms) / 1000)

    # Beginning and end.

    def _open_journal(self, length_ms: int) -> Journal:
        settings = self._settings
        try:
            settings.state.mkdir(parents=True, exist_ok=True)
            journal, aside = open_journal(
                settings.state, length_ms, settings.journal.durability, self._time.now_ms
            )
        except (OSError, JournalUnavailable) as error:
            raise BadSettings(
                f"{settings.state}: {error}; expected a state directory that can be written"
            ) from error
        if aside:
            self._log.error("journal.set_aside", file=str(aside), reason="the file was damaged")
        return journal

    def _restore(self) -> None:
        """Rebuild open windows: the averages are the same as if nothing had happened."""
        for sensor, closed_until_ms in self._journal.closed_until().items():
            self._windows.resume(sensor, closed_until_ms)
        for readings, traces in self._journal.rebuild():
            self._intake.remember(traces)
            for reading in readings:
                self._windows.add(reading, self._time.now_ms, synchronised=False)
        restored = self._windows.counts[Outcome.ACCEPTED]
        self._windows.counts.clear()
        self._held, traces, lost = self._journal.held(self._boot)
        self._intake.remember(traces)
        self._intake.counts["unstampable"] += lost
        self._log.info("journal.opened", restored=restored, held=len(self._held), unstampable=lost)

    def _connections(self, clock: Clock) -> tuple[Connection, Connection]:
        settings = self._settings
        will = settings.topics.status.format(agent=settings.agent), b"offline"
        ingress = Connection(_address(settings.broker, settings.agent), will, self._inbox, clock.elapsed_ms)
        if settings.uplink is None:
            return ingress, ingress
        return ingress, Connection(
            _address(settings.uplink, settings.agent), will, self._inbox, clock.elapsed_ms
        )

    def _welcome(self, connection: Connection, event: Connected) -> None:
        where = f"{connection.address.host}:{connection.address.port}"
        self._log.info("broker.connected", broker=where, session="resumed" if event.resumed else "new")
        if connection is self._ingress:
            self._windows.wait(self._time.now_ms)
        if connection is self._egress:
            self._outlet.announce(self._pipeline.models.values())
            self._health.soon()

    def _handle_signals(self) -> None:
        threading.excepthook = self._on_thread_death
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_reload)

    def _on_stop(self, *_: Any) -> None:
        self._stopping = True
        self._inbox.wake()

    def _on_reload(self, *_: Any) -> None:
        self._look.soon()
        self._inbox.wake()

    def _on_thread_death(self, death: threading.ExceptHookArgs) -> None:
        """A dead network thread leaves a client that looks connected for ever: end the process instead."""
        self._log.critical("thread.died", thread=str(death.thread), exc_info=death.exc_value)
        os._exit(1)

    def _stop(self) -> None:
        """Commit and deliver what is there, say goodbye, close no window early."""
        self._notifier.stopping()
        self._commit()
        self._outlet.flush()
        self._outlet.stop()
        self._drain()
        for connection in {self._ingress, self._egress}:
            connection.stop()
        self._journal.close()
        self._log.info("agent.stopped")

    def _drain(self) -> None:
        """Give the broker a moment to acknowledge, so that the next start need not send again."""
        until_ms = self._time.elapsed_ms + int(FAREWELL_S * 1000)
        while self._outlet.handed and self._egress.connected and self._time.elapsed_ms < until_ms:
            for connection, event in self._inbox.receive(0.05, MOST_AT_ONCE):
                if isinstance(event, Published) and connection is self._egress:
                    self._outlet.settle(event.mid)
            self._time.look()
        self._commit()


def run(settings: Settings) -> None:
    """Run an agent until it is told to stop; a damaged journal is set aside for the next start."""
    clock = Clock(trusted=settings.clock == "trusted")
    try:
        Agent(settings, clock).run()
    except JournalCorrupt as error:
        aside = set_aside(settings.state / "journal.db", clock.now_ms())
        logger().error("journal.set_aside", file=str(aside), reason=str(error))
        raise


def _address(broker: Broker, agent: str) -> Address:
    file = broker.password_file
    return Address(
        host=broker.host,
        port=broker.port,
        client_id=broker.client_id or f"edge-agent-{agent}",
        version=broker.protocol,
        keepalive_s=broker.keepalive_s,
        username=broker.username,
        password=(lambda: secret(file)) if file else (lambda: None),
        tls=_tls(broker) if broker.tls else None,
    )


def _tls(broker: Broker) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=broker.ca_file)
        if broker.certificate_file and broker.key_file:
            context.load_cert_chain(broker.certificate_file, broker.key_file)
    except OSError as error:
        files = f"{broker.ca_file}, {broker.certificate_file}"
        raise BadSettings(f"{files}: {error.strerror or error}; expected PEM certificates") from error
    return context
