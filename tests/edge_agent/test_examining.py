"""The examination in the agent: a day is judged once when it is final, and a restart changes nothing."""

import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from edge_agent.clock import Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.messages import Estimate
from edge_agent.core.suspicions import DAY_MS, FACT, HOUR_MS, Suspicions
from edge_agent.examining import Examining
from edge_agent.journal import Journal
from edge_agent.settings import Settings
from tests.edge_agent.test_clock import HandClock

START_MS, WINDOW_MS = 1_706_745_600_000, 3_600_000  # midnight
FIRST_DAY = START_MS // DAY_MS
SENSORS, MODEL = "ABCD", "sha256:9f3c"


def day_of(day: int, wrong: float, seed: int = 1) -> Iterable[Estimate]:
    """24 windows of four sensors; the first is wrong by a number."""
    rng = np.random.default_rng([seed, day])
    for window in range(24):
        start_ms = START_MS + day * DAY_MS + window * WINDOW_MS
        truth = 0.8 + 0.4 * np.sin(window / 24 * 2 * np.pi)
        for n, sensor in enumerate(SENSORS):
            value = float(truth + 0.02 * rng.standard_normal() + (wrong if n == 0 else 0.0))
            yield Estimate(
                sensor, start_ms, start_ms + WINDOW_MS, 1, (), {"temperature": 20.0}, {"op1": 15},
                value=value, low=value - 0.08, high=value + 0.08, level=0.9, gas="CO", unit="ppm",
                model=MODEL, agent="van-1",
            )  # fmt: skip


class Gateway:
    """A journal and the examination; each day is committed, then the clock passes."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._clock = directory, HandClock(wall_ms=START_MS)
        self.models = {*SENSORS}
        self.boot()

    def boot(self) -> None:
        settings = Settings.model_validate({"consensus": {}, "windows": {"length_s": 3600}})
        self.journal = Journal(self._directory / "journal.db", WINDOW_MS, "process-crash")
        self._commits = GroupCommit(self.journal, "boot-1", 1_000, 20)
        self._time = Timekeeper(self._clock, doubt_ms=0)
        self.suspicions = Suspicions(DAY_MS)
        self.examining = Examining(settings, self.journal, self._commits, self.models, self.suspicions)

    def live(self, day: int, wrong: float) -> None:
        self._commits.add_estimates(list(day_of(day, wrong)), {})
        self._commits.commit(self._time.now_ms)
        self._clock.pass_ms(DAY_MS)
        self._turn()

    def _turn(self) -> None:
        self._time.update()
        for _ in range(4 * len(SENSORS)):
            self.examining.run_due(self._time)
            self._commits.commit(self._time.now_ms)

    def pause(self) -> None:
        """A day without windows."""
        self._clock.pass_ms(DAY_MS)
        self._turn()

    def facts(self) -> list[str | None]:
        return [self.journal.fact(FACT + sensor) for sensor in SENSORS]


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path)


def test_a_wrong_sensor_is_suspected_a_day_after_it_shows(gateway: Gateway) -> None:
    with closing(gateway.journal):
        for day in range(6):
            gateway.live(day, wrong=0.3)
        shown_ms = START_MS + 3 * DAY_MS + DAY_MS  # three days, and one until they are final
        assert gateway.suspicions.at("A", MODEL, shown_ms) == ()
        assert gateway.suspicions.at("A", MODEL, shown_ms + HOUR_MS) == ("disagrees",)
        assert gateway.suspicions.at("B", MODEL, shown_ms + DAY_MS) == ()


def test_a_restart_on_every_day_changes_nothing(tmp_path: Path) -> None:
    found = []
    for restarts in (False, True):
        directory = tmp_path / str(restarts)
        directory.mkdir()
        gateway = Gateway(directory)
        for day in range(8):
            gateway.live(day, wrong=0.1 * (day > 3))
            if restarts:
                gateway.journal.close()
                gateway.boot()
        found.append((gateway.facts(), gateway.suspicions.at("A", MODEL, START_MS + 30 * DAY_MS)))
        gateway.journal.close()
    assert found[0] == found[1]
    assert json.loads(found[0][0][0] or "")["examined"] == 7, "the last day is not final"


def test_a_van_that_measures_on_one_day_a_week_is_examined_on_each(gateway: Gateway) -> None:
    with closing(gateway.journal):
        for day in range(0, 22, 7):
            gateway.live(day, wrong=0.3)
            for _ in range(6):
                gateway.pause()
        assert [json.loads(each or "")["examined"] for each in gateway.facts()] == [4, 4, 4, 4]
        assert gateway.suspicions.at("A", MODEL, START_MS + 30 * DAY_MS) == ("disagrees",)


def test_a_backlog_is_not_examined_while_it_comes_in(gateway: Gateway) -> None:
    """By the clock all its days are final; of the last one only a part has come."""
    with closing(gateway.journal):
        gateway.pause()
        gateway.live(0, wrong=0.0)
        for _ in range(2):
            gateway.pause()
        backlog = [each for day in (1, 2) for each in day_of(day, 0.0)]
        gateway._commits.add_estimates(backlog[: -5 * len(SENSORS)], {})
        gateway._commits.commit(START_MS)
        gateway._clock.pass_ms(120_000)
        gateway._turn()
        assert [json.loads(each or "")["last_day"] for each in gateway.facts()] == [FIRST_DAY] * 4
        gateway._commits.add_estimates(backlog[-5 * len(SENSORS) :], {})
        gateway._commits.commit(START_MS)
        gateway.pause()
        gateway.pause()
        assert [json.loads(each or "")["examined"] for each in gateway.facts()] == [3] * 4


def test_a_damaged_record_begins_anew(gateway: Gateway) -> None:
    for day in range(3):
        gateway.live(day, wrong=0.0)
    gateway._commits.add_fact(f"{FACT}A", '{"model": 1}')
    gateway._commits.commit(START_MS)
    gateway.journal.close()
    gateway.boot()
    with closing(gateway.journal):
        gateway.live(3, wrong=0.0)
        assert [json.loads(each or "")["examined"] for each in gateway.facts()] == [1, 3, 3, 3]


def test_a_bundle_that_loads_after_the_start_goes_on_with_the_stored_examination(gateway: Gateway) -> None:
    for day in range(6):
        gateway.live(day, wrong=0.3)
    gateway.journal.close()
    gateway.models.clear()
    gateway.boot()
    gateway.models |= {*SENSORS}
    with closing(gateway.journal):
        assert gateway.suspicions.at("A", MODEL, START_MS + 30 * DAY_MS) == ("disagrees",)
        gateway.live(6, wrong=0.3)
        assert [json.loads(each or "")["examined"] for each in gateway.facts()] == [6, 6, 6, 6]
