"""Examines the sensors of the van, one day after the other, when all windows of a day are final."""

import json
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress

from edge_agent.change import Outgoing
from edge_agent.clock import Every, Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.comparison import Day
from edge_agent.core.errors import BadEstimate
from edge_agent.core.examination import Examination, stored_examination, threshold
from edge_agent.core.messages import Estimate, decode_estimate
from edge_agent.core.suspicions import DAY_MS, FACT, Suspicions
from edge_agent.core.van_day import VanDay, updated
from edge_agent.journal import Journal
from edge_agent.log import logger
from edge_agent.settings import Consensus, Settings

UNTIL = "examined_until"  # the first day that is not examined
LOOK_MS = 60_000
SILENT_MS = 3_600_000  # a van that closes no window for so long is silent


class Examining:
    """Works a little at a time: one sensor of one day in each turn of the loop."""

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        commits: GroupCommit,
        models: Container[str],
        suspicions: Suspicions,
    ) -> None:
        """`models` has the sensors with a model; `suspicions` is written here, and nowhere else."""
        self._chosen = settings.consensus or Consensus()
        self._journal, self._commits, self._models = journal, commits, models
        self._suspicions = suspicions
        self._limit = threshold(self._chosen.false_alarms_a_year)
        self._length_ms = settings.windows.length_s * 1000
        self._final_ms = int(settings.windows.final_h * 3_600_000)
        self._look, self._log = Every(LOOK_MS), logger()
        self._turns: Iterator[None] | None = None
        self._until = int(journal.fact(UNTIL) or 0)
        self._reached_ms, self._moved_ms = -1, 0  # the last window, and when it closed, by the steady clock
        # Also of sensors without a model: a bundle may be loaded later.
        stored = ((sensor, stored_examination(journal.fact(FACT + sensor))) for sensor in self._known())
        self._examinations = {sensor: known for sensor, known in stored if known}
        for sensor, known in self._examinations.items():
            suspicions.put(sensor, known.model, known.suspicions)

    @property
    def waits(self) -> bool:
        """Whether there is more to do soon."""
        return self._turns is not None

    def note(self, committed: Iterable[Outgoing]) -> None:
        """Days are examined by the time, not by the estimate."""

    def run_due(self, time: Timekeeper) -> None:
        """Go on with a day, or begin one that is final."""
        if self._turns is None and time.trusted and self._look.due(time.elapsed_ms):
            day = self._due(time)
            self._turns = None if day is None else self._examine(day)
        if self._turns is not None:
            try:
                next(self._turns)
            except StopIteration:
                self._turns = None
                self._look.soon()
            except BaseException:
                self._turns = None  # the day is begun again
                raise

    def _sensors(self) -> list[str]:
        return [each for each in self._known() if each in self._models]

    def _known(self) -> list[str]:
        return sorted(filter(self._chosen.takes, self._journal.closed_until()))

    def _due(self, time: Timekeeper) -> int | None:
        """The next day with windows, if it is final."""
        day, sensors = self._final_day(time), self._sensors()
        if self._until >= day:
            return None
        first_ms = self._journal.closed_windows.first_from(sensors, self._until * DAY_MS)
        return None if first_ms is None or first_ms >= day * DAY_MS else first_ms // DAY_MS

    def _final_day(self, time: Timekeeper) -> int:
        """The first day that is not final by the clock, nor by the windows of the van unless it is silent.

        While a backlog comes in, the clock is days ahead of the windows.
        """
        closed_until = self._journal.closed_until()
        reached_ms = max((closed_until[sensor] for sensor in self._sensors()), default=0)
        if reached_ms != self._reached_ms:
            self._reached_ms, self._moved_ms = reached_ms, time.elapsed_ms
        is_silent = time.elapsed_ms - self._moved_ms >= SILENT_MS
        return ((time.now_ms if is_silent else min(reached_ms, time.now_ms)) - self._final_ms) // DAY_MS

    def _examine(self, day: int) -> Iterator[None]:
        van = VanDay(day, self._length_ms)
        for sensor in self._sensors():
            van.add(sensor, self._estimates(sensor, day))
            yield
        found: dict[str, Day | None] = {}
        for sensor, shown in van.compare(self._examinations):
            found[sensor] = shown
            yield
        before = {sensor: {*known.since} for sensor, known in self._examinations.items()}
        changed = updated(van, found, self._examinations, self._limit)
        for sensor, known in changed.items():
            self._commits.add_fact(FACT + sensor, json.dumps(known.record(), separators=(",", ":")))
            self._suspicions.put(sensor, known.model, known.suspicions)
            self._report(sensor, before.get(sensor, set()), {*known.since}, known)
        self._examinations |= changed
        self._until = day + 1
        self._commits.add_fact(UNTIL, str(self._until))

    def _estimates(self, sensor: str, day: int) -> Iterator[Estimate]:
        first_ms = day * DAY_MS
        for window in self._journal.closed_windows.between(sensor, first_ms, first_ms + DAY_MS - 1):
            with suppress(BadEstimate):
                yield decode_estimate(window.payload or b"")

    def _report(self, sensor: str, before: set[str], now: set[str], known: Examination) -> None:
        offset, gain, _ = known.changes() if known.days else (0.0, 0.0, 0.0)
        for code in sorted(now - before):
            fields = {"difference": round(offset, 3), "gain": round(1.0 + gain, 2)}
            self._log.warning("sensor.suspected", sensor=sensor, reason=code, **fields)
        for code in sorted(before - now):
            self._log.info("sensor.cleared", sensor=sensor, reason=code)
