"""Periodic work beside the readings: changed bundles, the journal's size, health, systemd."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from edge_agent import health, memory
from edge_agent.bundles import Bundles
from edge_agent.clock import Every, Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.errors import JournalUnavailable
from edge_agent.core.messages import format_time
from edge_agent.core.model import Model
from edge_agent.core.model_changes import FACT, ModelChanges
from edge_agent.core.problems import Problems
from edge_agent.core.suspicions import Suspicions
from edge_agent.core.warming import REACH_MS
from edge_agent.intake import Intake
from edge_agent.journal import Journal
from edge_agent.locator import Locator
from edge_agent.log import logger
from edge_agent.publisher import Publisher
from edge_agent.settings import Settings
from edge_agent.systemd import Notifier
from edge_agent.tls import Certificates

if TYPE_CHECKING:
    from edge_agent.homeassistant import Discovery
    from edge_agent.scoring import Scoring

LOOK_MS = 2_000  # how often the bundles, the kernel's clock and the journal's size are checked
TRIM_MS = 600_000
TURN_S = 0.2  # how long one turn of the loop may delete; new readings wait meanwhile
GIVE_BACK_MS = 60_000  # it may take 10 ms, so not with each health record of somebody who wants many
ALIVE_MS = 10_000
REMIND_MS = 600_000  # how often an unsynchronised clock is logged


class Maintenance:
    """Each task has its own period; all are cheap, so that none delays the loop."""

    def __init__(
        self,
        settings: Settings,
        time: Timekeeper,
        bundles: Bundles,
        journal: Journal,
        commits: GroupCommit,
        intake: Intake,
        locator: Locator,
        publisher: Publisher,
        changes: ModelChanges,
        certificates: Sequence[Certificates],
        notifier: Notifier,
        discovery: "Discovery | None",
        scoring: "Scoring | None",
        suspicions: Suspicions,
    ) -> None:
        self._settings, self._time = settings, time
        self._bundles, self._journal, self._commits = bundles, journal, commits
        self._intake, self._locator = intake, locator
        self._publisher, self._changes, self._certificates = publisher, changes, certificates
        self._notifier, self._discovery = notifier, discovery
        self._scoring, self._suspicions = scoring, suspicions
        self._began_ms = time.elapsed_ms
        self._log = logger()
        self._problems = Problems()
        self._look, self._trim, self._remind = Every(LOOK_MS), Every(TRIM_MS), Every(REMIND_MS)
        self._bound = Every(LOOK_MS)
        self._give_back = Every(GIVE_BACK_MS)
        self._health = Every(settings.health.interval_s * 1000)
        self._alive = Every(notifier.watchdog_s * 500 or ALIVE_MS)
        self._use(bundles.models.values())

    def check_bundles_soon(self) -> None:
        """Check the bundles in the next iteration."""
        self._look.soon()

    def publish_health_soon(self) -> None:
        """Publish health in the next iteration."""
        self._health.soon()

    def run_due(self, state: str) -> None:
        """Run every task that is due; `state` is a word on the connection for systemd."""
        elapsed_ms = self._time.elapsed_ms
        if self._look.due(elapsed_ms):
            self._look_at_clock()
            self._reload()
            self._reload_certificates()
        if self._bound.due(elapsed_ms):
            self._bound_journal()
        if self._trim.due(elapsed_ms):
            self._trim_journal()
        if self._give_back.due(elapsed_ms):
            memory.give_back()
        if self._health.due(elapsed_ms):
            record = health.encode(self._health_record())
            self._publisher.publish_health(record)
            self._publisher.retain(self._settings.own_topics.position, self._locator.message())
            if self._scoring:
                self._scoring.publish(self._publisher.retain)
            self._commits.add_fact("health", record)
        if self._alive.due(elapsed_ms):
            depth, _ = self._journal.outbox.depth()
            self._notifier.alive(f"{state}, {self._intake.sensors} sensors, {depth} estimates queued")

    def _look_at_clock(self) -> None:
        """Log when the kernel's answer changes; an unsynchronised clock also at start and repeatedly."""
        if self._time.ask_kernel():
            self._remind.soon()
            if self._time.synchronised:
                self._log.info("clock.synchronised")
        if not self._time.synchronised and self._remind.due(self._time.elapsed_ms):
            self._log.warning("clock.unsynchronised", readings_waiting=len(self._commits.held))

    def _reload(self) -> None:
        """Use changed bundles; a window is estimated by the model that is loaded when it closes."""
        updates = self._bundles.refresh()
        if updates and self._discovery:
            self._discovery.update(self._bundles.models.values())
        for update in updates:
            if update.reason:
                self._log.error("bundle.refused", reason=update.reason)
            elif update.model:
                self._log.info("bundle.loaded", sensor=update.sensor, model=update.model.id)
                self._use([update.model])
            elif update.sensor:
                self._log.warning("bundle.removed", sensor=update.sensor)
                self._publisher.remove_card(update.sensor)

    @property
    def _revised_after_ms(self) -> int:
        """The start of the oldest window that may be revised; a revision needs the day before it."""
        final_ms = int(self._settings.windows.final_h * 3_600_000)
        return self._time.now_ms - 3 * final_ms - REACH_MS

    def _reload_certificates(self) -> None:
        """Use changed files for the next connection."""
        for section, expires_ms, reason in (found for each in self._certificates for found in each.refresh()):
            if reason:
                self._log.error("certificate.refused", broker=section, reason=reason)
            else:
                expires = format_time(expires_ms) if expires_ms is not None else None
                self._log.info("certificate.loaded", broker=section, expires=expires)

    def _use(self, models: Iterable[Model]) -> None:
        """Announce models that are in use from now on, if they were not before."""
        now_ms = self._time.now_ms
        self.announce([each.sensor for each in models if self._changes.use(each.sensor, each.id, now_ms)])

    def announce(self, sensors: Sequence[str]) -> None:
        """Publish the cards of these sensors' models, and keep what they say about the last change."""
        if sensors:
            self._commits.add_fact(FACT, self._changes.encode())
        for sensor in sensors:
            if model := self._bundles.models.get(sensor):
                self._publisher.publish_card(model)

    def _trim_journal(self) -> None:
        """Delete by age only with a trusted clock: one that is set to 2099 would delete everything."""
        if self._time.trusted:
            keep_days_ms = int(self._settings.journal.keep_days * 86_400_000)
            # On a full disk even deleting needs room; the next commit reports that.
            with suppress(JournalUnavailable):
                now_ms = self._time.now_ms
                if self._journal.forget(now_ms - keep_days_ms, self._revised_after_ms, now_ms):
                    self._trim.soon()

    def _bound_journal(self) -> None:
        """Checked often, because a flood of readings can write 100 MB in ten minutes."""
        with suppress(JournalUnavailable):
            max_bytes = self._settings.journal.max_mb * 1_000_000
            dropped = self._journal.shrink(max_bytes, self._revised_after_ms, TURN_S)
            if dropped.more:
                self._bound.soon()
            self._intake.count("dropped", dropped.readings)
            if dropped.readings:
                self._log.error("readings.dropped", readings=dropped.readings, reason="the journal is full")
            if dropped.estimates:
                self._log.error(
                    "estimates.dropped", estimates=dropped.estimates, reason="the journal is full"
                )

    def _health_record(self) -> dict[str, Any]:
        depth, oldest_ms = self._journal.outbox.depth()
        silent_since_ms = self._time.elapsed_ms - int(self._settings.health.silent_s * 1000)
        models, heard = self._bundles.models, self._intake.heard
        listed, unlisted = health.listed((*models, *heard.sensors()), models)
        uptime_s = (self._time.elapsed_ms - self._began_ms) // 1000
        record = health.record(
            agent=self._settings.agent,
            now_ms=self._time.now_ms,
            interval_s=self._settings.health.interval_s,
            uptime_s=uptime_s,
            clock="synchronised" if self._time.synchronised else "unsynchronised",
            readings={**self._intake.counts, "waiting_for_clock": len(self._commits.held)},
            outbox={
                "depth": depth,
                "oldest_s": None if oldest_ms is None else max(0, self._time.now_ms - oldest_ms) // 1000,
                "dropped": self._journal.dropped,
            },
            bundles={"loaded": len(models), **health.refusals(self._bundles.refused.values())},
            sensors={
                sensor: {
                    **heard.describe(sensor, models.get(sensor), silent_since_ms),
                    "suspected": self._suspected(sensor),
                }
                for sensor in listed
            },
            sensors_unlisted=unlisted,
            position=self._locator.describe(self._time.now_ms),
            reference=self._scoring.describe() if self._scoring else None,
            certificates={
                each.section: format_time(each.expires_ms)
                for each in self._certificates
                if each.expires_ms is not None
            },
            journal_bytes=self._journal.size_bytes(),
        )
        free_bytes, settled = (
            health.free_bytes(self._settings.state),
            uptime_s > self._settings.health.silent_s,
        )
        record["problems"] = self._problems.update(record, free_bytes, settled, self._time.now_ms)
        return record

    def _suspected(self, sensor: str) -> list[str]:
        model = self._bundles.models.get(sensor)
        return list(self._suspicions.at(sensor, model.id if model else None, self._time.now_ms))
