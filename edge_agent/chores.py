"""What the agent does beside its work: bundles that changed, a journal that grows, health, systemd."""

import json
from contextlib import suppress
from typing import Any

from edge_agent import health
from edge_agent.commit import GroupCommit
from edge_agent.core.errors import JournalUnavailable
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Outcome
from edge_agent.intake import Intake
from edge_agent.journal import Journal
from edge_agent.log import logger
from edge_agent.outlet import Outlet
from edge_agent.settings import Settings
from edge_agent.shelf import Shelf
from edge_agent.systemd import Notifier
from edge_agent.timekeeper import Every, Timekeeper

LOOK_MS = 2_000  # how often the bundles' directory, the kernel's clock and the journal's size are looked at
TRIM_MS = 600_000
ALIVE_MS = 10_000


class Chores:
    """Each chore has its own clock; all are cheap, none may hold up the loop."""

    def __init__(
        self,
        settings: Settings,
        time: Timekeeper,
        shelf: Shelf,
        journal: Journal,
        group: GroupCommit,
        intake: Intake,
        pipeline: Pipeline,
        outlet: Outlet,
    ) -> None:
        self.heard = health.Heard()
        self.notifier = Notifier()
        self._settings, self._time = settings, time
        self._shelf, self._journal, self._group = shelf, journal, group
        self._intake, self._pipeline, self._outlet = intake, pipeline, outlet
        self._began_ms = time.elapsed_ms
        self._log = logger()
        self._look, self._trim = Every(LOOK_MS), Every(TRIM_MS)
        self._health = Every(settings.health.interval_s * 1000)
        self._alive = Every(self.notifier.watchdog_s * 500 or ALIVE_MS)

    def look_soon(self) -> None:
        """Somebody says that the bundles have changed."""
        self._look.soon()

    def tell_soon(self) -> None:
        """Somebody new may be listening."""
        self._health.soon()

    def do(self, state: str) -> None:
        """Whatever is due."""
        elapsed_ms = self._time.elapsed_ms
        if self._look.due(elapsed_ms):
            if self._time.ask():
                self._log.info("clock.synchronised" if self._time.synchronised else "clock.lost")
            self._reload()
            self._bound_journal()
        if self._trim.due(elapsed_ms):
            self._trim_journal()
        if self._health.due(elapsed_ms):
            record = json.dumps(self._health_record(), separators=(",", ":"))
            self._outlet.tell(record)
            self._group.change.facts["health"] = record
        if self._alive.due(elapsed_ms):
            depth, _ = self._journal.outbox()
            self.notifier.alive(f"{state}, {len(self._pipeline.windows)} sensors, {depth} estimates wait")

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
        """By age only with a clock that can be trusted: one that stands in 2099 would forget everything."""
        if self._time.trusted:
            keep_days_ms = int(self._settings.journal.keep_days * 86_400_000)
            with suppress(JournalUnavailable):  # on a full disk even forgetting needs room; a commit says so
                self._journal.forget(self._time.now_ms - keep_days_ms)

    def _bound_journal(self) -> None:
        """Often, because a flood can write a hundred megabytes in ten minutes; mostly it only asks."""
        dropped = 0
        with suppress(JournalUnavailable):
            dropped = self._journal.shrink(self._settings.journal.max_mb * 1_000_000)
        if dropped:
            self._log.error("estimates.dropped", estimates=dropped, reason="the journal is full")

    def _health_record(self) -> dict[str, Any]:
        depth, oldest_ms = self._journal.outbox()
        silent_since_ms = self._time.elapsed_ms - int(self._settings.health.silent_s * 1000)
        models = self._pipeline.models
        return health.record(
            agent=self._settings.agent,
            now_ms=self._time.now_ms,
            interval_s=self._settings.health.interval_s,
            uptime_s=(self._time.elapsed_ms - self._began_ms) // 1000,
            clock="synchronised" if self._time.synchronised else "unsynchronised",
            readings=self._counts(),
            outbox={
                "depth": depth,
                "oldest_s": None if oldest_ms is None else max(0, self._time.now_ms - oldest_ms) // 1000,
                "dropped": self._journal.dropped,
            },
            sensors={
                sensor: self.heard.describe(sensor, models.get(sensor), silent_since_ms)
                for sensor in sorted({*self.heard.sensors(), *models})
            },
            journal_bytes=self._journal.size_bytes(),
        )

    def _counts(self) -> dict[str, int]:
        """What became of readings since the start; refused ones are those of sensors beyond the limit."""
        counts = {str(kind): self._pipeline.windows.counts[kind] for kind in Outcome}
        counts["duplicate"] += self._intake.counts["duplicate"]
        return {
            **counts,
            **{kind: self._intake.counts[kind] for kind in ("rejected", "refused", "unstampable")},
        }
