"""`python -m tests.bench.late [SENSORS [HOURS]]`: how long the loop waits while a backlog is revised.

One of SENSORS sent its temperatures HOURS late, and the windows hold the readings of all. A second one was
away and sent everything late.
"""

import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from edge_agent.change import Change
from edge_agent.clock import Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.messages import Reading
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Windows, window_of
from edge_agent.journal import Journal
from edge_agent.revising import Revising
from tests.bench.table import row
from tests.conftest import make_warming_model
from tests.edge_agent.test_clock import HandClock

START_MS = 1_706_745_600_000  # midnight
MINUTE_MS, WINDOW_MS, HOUR_MS = 60_000, 900_000, 3_600_000
MESSAGES = 20  # in one batch
AWAY, COLD = "away", "cold"
CHANNELS = (("op1", 231.0), ("op2", 206.0), ("temperature", 24.0))
CHANCE = random.Random(5)


def main(arguments: list[str]) -> None:
    """Print the longest time that the loop waits, for each of the two sensors."""
    sensors, hours = (int(each) for each in (*arguments, *("200", "24")[len(arguments) :]))
    with tempfile.TemporaryDirectory() as place:
        gateway = Gateway(Path(place), hours)
        with closing(gateway.journal):
            gateway.live([COLD, *(f"{n:04d}" for n in range(sensors - 2))], hours)
            for sensor, channels in ((COLD, ("temperature",)), (AWAY, ("op1", "op2", "temperature"))):
                gateway.come_late(sensor, channels, hours)
                _print(sensor, gateway.revise())


def _print(sensor: str, turns: list[tuple[float, int]]) -> None:
    taken = [seconds for seconds, _ in turns]
    row(f"{sensor}: windows revised", sum(count for _, count in turns), "")
    row(f"{sensor}: turns of the loop", len(turns), "")
    row(f"{sensor}: all of them", sum(taken), "s")
    row(f"{sensor}: the longest", max(taken) * 1000, "ms", at_most=250.0)


class Gateway:
    """The parts of an agent that late readings go through."""

    def __init__(self, directory: Path, hours: int) -> None:
        windows = Windows(length_ms=WINDOW_MS)
        models = {sensor: make_warming_model(sensor) for sensor in (AWAY, COLD)}
        self.journal = Journal(directory / "journal.db", WINDOW_MS, "process-crash")
        self._pipeline = Pipeline(windows, models, "van-1")
        self._commits = GroupCommit(self.journal, "boot-1", 60_000, MESSAGES)
        self._clock = HandClock(START_MS)
        self._time = Timekeeper(self._clock, doubt_ms=0)
        self._revising = Revising(self.journal, self._pipeline, windows, models, 600_000, hours * HOUR_MS)

    def live(self, sensors: list[str], hours: int) -> None:
        """Everything comes in time, but the temperature of one and all of another."""
        own: list[Reading] = []
        for minute in range(hours * 60):
            said = [each for sensor in sensors for each in _message(sensor, minute) if _is_in_time(each)]
            own += [each for each in said if each.sensor == COLD]
            for part in _parts(said, MESSAGES * 3):
                self.journal.commit(Change(readings=part), START_MS + minute * MINUTE_MS)
            if minute % 15 == 14:
                self._close(minute // 15, own)
                own = []
        self._clock.pass_ms(hours * HOUR_MS)

    def _close(self, number: int, own: Iterable[Reading]) -> None:
        start_ms = START_MS + number * WINDOW_MS
        window = window_of(COLD, start_ms, start_ms + WINDOW_MS, own, 1_800)
        closed_until = dict.fromkeys((AWAY, COLD), window.end_ms)
        change = Change(estimates=[self._pipeline.estimate(window)], closed_until=closed_until)
        self.journal.commit(change, window.end_ms)

    def come_late(self, sensor: str, channels: tuple[str, ...], hours: int) -> None:
        self._time.update()
        said = [each for minute in range(hours * 60) for each in _message(sensor, minute)]
        late = [each for each in said if each.channel in channels]
        assert all(self._revising.admits(each, self._time) for each in late[len(channels) * 60 :])
        for part in _parts(late, MESSAGES * len(channels)):
            self.journal.commit(Change(late=part), self._time.now_ms)
        self._clock.pass_ms(HOUR_MS // 4)

    def revise(self) -> list[tuple[float, int]]:
        """How long each turn of the loop took, and how many windows it revised."""
        turns = []
        self._time.update()
        while due := self._revising.due(self._time):
            began = time.perf_counter()
            revised = self._revising.revise(due, self._time)
            if revised:
                self._commits.add_revised(revised)
                self._commits.commit(self._time.now_ms)
            turns.append((time.perf_counter() - began, len(revised.estimates) if revised else 0))
        return turns


def _message(sensor: str, minute: int) -> Iterator[Reading]:
    for channel, level in CHANNELS:
        yield Reading(sensor, channel, START_MS + minute * MINUTE_MS, CHANCE.gauss(level, 1.5))


def _is_in_time(reading: Reading) -> bool:
    return (reading.sensor, reading.channel) != (COLD, "temperature")


def _parts(readings: list[Reading], most: int) -> Iterator[list[Reading]]:
    for first in range(0, len(readings), most):
        yield readings[first : first + most]


if __name__ == "__main__":
    main(sys.argv[1:])
