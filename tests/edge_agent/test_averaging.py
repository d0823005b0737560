"""Means over hours from the journal: published once, revised when their windows are, equal to an oracle."""

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edge_agent.averaging import Averaging
from edge_agent.change import Change
from edge_agent.clock import Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.core.errors import JournalUnavailable
from edge_agent.core.messages import Estimate, parse_time
from edge_agent.journal import Journal
from tests.edge_agent.test_clock import HandClock

START_MS = 1_706_745_600_000  # midnight
WINDOW_MS, HOUR_MS, DAY_MS = 900_000, 3_600_000, 86_400_000
WEIGHTS = {"op1": 1.0, "op2": 1.0, "bias": 0.0}


def estimate(window: int, value: float | None, minutes: int) -> Estimate:
    start_ms, quality = START_MS + window * WINDOW_MS, 9 if value is None else 1
    return Estimate(
        "5A2D", start_ms, start_ms + WINDOW_MS, quality, (), {"op1": 1.0},
        {"op1": minutes, "op2": 15, "temperature": 3, "expected": 15}, value=value, gas="CO", unit="ppm",
        weights=None if value is None else WEIGHTS, model="sha256:9f3c", agent="van-1",
    )  # fmt: skip


def oracle(windows: dict[int, Estimate], hours: int, until_ms: int) -> dict[int, float | None]:
    """Start of each span -> the mean of its minutes; None below 75 %; only spans with windows, and over."""
    means: dict[int, float | None] = {}
    for hour in range(-8, 24 * 9):
        start_ms = START_MS + hour * HOUR_MS
        inside = [e for e in windows.values() if 0 <= e.start_ms - start_ms < hours * HOUR_MS]
        if inside and start_ms + hours * HOUR_MS <= until_ms:
            minutes = [(e.value, e.minutes["op1"]) for e in inside if e.value is not None]
            total = sum(count for _, count in minutes)
            enough = total >= 0.75 * 60 * hours
            means[start_ms] = sum(v * n for v, n in minutes) / total if enough else None
    return means


class Gateway:
    """A journal, its commits and its means; the agent's loop in small."""

    def __init__(self, directory: Path, clock: HandClock) -> None:
        self.journal = Journal(directory / "journal.db", WINDOW_MS, "process-crash")
        self._commits = GroupCommit(self.journal, "boot-1", 1_000, 20)
        self.time = Timekeeper(clock, doubt_ms=0)
        self.averaging = Averaging(self.journal, self._commits)

    def take(self, estimates: list[Estimate]) -> None:
        self.commit(estimates)
        self.settle()

    def settle(self) -> None:
        self.time.update()
        for _ in range(3):
            self.averaging.run_due(self.time)
            self.commit([])

    def commit(self, estimates: list[Estimate]) -> None:
        self._commits.add_estimates(estimates, {})
        committed, _ = self._commits.commit(self.time.now_ms)
        self.averaging.note(committed)

    def published(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for each in self.journal.outbox.waiting(0, 100_000):
            if "/" in each.sensor:
                yield each.sensor.partition("/")[2], json.loads(each.payload)


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    made = Gateway(tmp_path, HandClock(wall_ms=START_MS))
    with closing(made.journal):
        yield made


def windows(seed: int, days: int = 2) -> list[Estimate]:
    """With gaps, thin windows and windows without a value."""
    chance = random.Random(seed)
    there = [n for n in range(days * 96) if chance.random() < 0.9 and not 60 < n < 75]
    return [
        estimate(n, chance.choice((None, *[chance.gauss(1.0, 0.3)] * 9)), chance.randrange(12, 16))
        for n in there
    ]


def compare(gateway: Gateway, known: dict[int, Estimate], until_ms: int) -> None:
    for every, hours in (("1h", 1), ("8h", 8)):
        newest: dict[str, dict[str, Any]] = {}
        for span, record in gateway.published():
            if span == every:
                before = newest.get(record["start"])
                assert record["revision"] == (before["revision"] + 1 if before else 0)
                assert record["supersedes"] == (before["revision"] if before else None)
                newest[record["start"]] = record
        expected = oracle(known, hours, until_ms)
        found = {parse_time(start): record["value"] for start, record in newest.items()}
        assert {start: pytest.approx(value, abs=1e-8) for start, value in expected.items()} == found


def test_means_equal_the_oracle_with_gaps_and_revisions(gateway: Gateway) -> None:
    known = {}
    for each in windows(seed=1):
        gateway.take([each])
        known[each.start_ms] = each
    until_ms = max(each.end_ms for each in known.values())
    compare(gateway, known, until_ms)
    for n in (5, 64, 65, 66, 100):
        again = replace(estimate(n, 2.0 + n / 100, 15), revision=1)
        gateway.take([again])
        known[again.start_ms] = again
    compare(gateway, known, until_ms)


def test_many_days_are_averaged_one_at_a_time(gateway: Gateway) -> None:
    """The loop does not wait for all of it, and a revision of all changes no mean twice."""
    known = {n: estimate(n, 1.0 + n / 700, 15) for n in range(3 * 96)}
    for factor, revision in ((1.0, 0), (2.0, 1)):
        for n, each in known.items():
            known[n] = replace(each, value=(each.value or 0.0) * factor, revision=revision)
        gateway.commit([*known.values()])
        made = []
        while gateway.averaging.waits:
            gateway.averaging.run_due(gateway.time)
            before = len([*gateway.published()])
            gateway.commit([])
            made.append(len([*gateway.published()]) - before)
        assert max(made) <= 2 * 24
        assert sum(made) <= 3 * 2 * 24
        compare(gateway, known, START_MS + 3 * DAY_MS)


def test_an_hour_that_a_sensor_did_not_end_is_published_when_it_is_over(tmp_path: Path) -> None:
    clock = HandClock(wall_ms=START_MS)
    gateway = Gateway(tmp_path, clock)
    known = {}
    with closing(gateway.journal):
        for n in range(35):
            each = estimate(n, 1.0, 15)
            gateway.take([each])
            known[each.start_ms] = each
            clock.pass_ms(WINDOW_MS)
        for _ in range(12):
            clock.pass_ms(HOUR_MS)
            gateway.settle()
        compare(gateway, known, START_MS + 17 * HOUR_MS)
        again = replace(estimate(34, 3.0, 15), revision=1)
        gateway.take([again])
        compare(gateway, {**known, again.start_ms: again}, START_MS + 17 * HOUR_MS)


def test_a_restart_between_estimate_and_mean_loses_no_mean(tmp_path: Path) -> None:
    clock, known = HandClock(wall_ms=START_MS), {}
    for each in windows(seed=2, days=1):
        gateway = Gateway(tmp_path, clock)
        gateway._commits.add_estimates([each], {})
        gateway._commits.commit(START_MS)
        known[each.start_ms] = each
        gateway.journal.close()
    gateway = Gateway(tmp_path, clock)
    with closing(gateway.journal):
        gateway.settle()
        compare(gateway, known, max(each.end_ms for each in known.values()))


def test_a_sensor_that_is_silent_since_before_a_restart_gets_its_last_means(tmp_path: Path) -> None:
    clock, known = HandClock(wall_ms=START_MS), {}
    gateway = Gateway(tmp_path, clock)
    for n in range(36):
        known[n] = estimate(n, 1.0, 15)
        gateway.take([known[n]])
        clock.pass_ms(WINDOW_MS)
    gateway.journal.close()
    gateway = Gateway(tmp_path, clock)
    with closing(gateway.journal):
        for _ in range(12):
            clock.pass_ms(HOUR_MS)
            gateway.settle()
        compare(gateway, known, START_MS + 17 * HOUR_MS)


def test_a_read_that_fails_delays_the_revision_of_a_mean_and_does_not_lose_it(gateway: Gateway) -> None:
    known = {n: estimate(n, 1.0, 15) for n in range(36)}
    gateway.take([*known.values()])
    known[5] = replace(estimate(5, 3.0, 15), revision=1)
    gateway.commit([known[5]])
    with refused(gateway.journal), pytest.raises(JournalUnavailable, match="prohibited"):
        gateway.settle()
    gateway.settle()
    compare(gateway, known, START_MS + 9 * HOUR_MS)


def test_a_sensor_that_sends_all_half_a_day_late_and_then_nothing_gets_its_last_means(tmp_path: Path) -> None:
    """Also if the agent is off for some days before the last of them are over."""
    clock = HandClock(wall_ms=START_MS + 21 * HOUR_MS)
    known = {n: estimate(n, 1.0, 15) for n in range(36)}
    for name, away_ms in (("on", 0), ("off", 4 * DAY_MS)):
        (tmp_path / name).mkdir()
        gateway = Gateway(tmp_path / name, clock)
        gateway.take([*known.values()])
        gateway.journal.close()
        clock.pass_ms(away_ms)
        gateway = Gateway(tmp_path / name, clock)
        with closing(gateway.journal):
            for _ in range(4):
                clock.pass_ms(HOUR_MS // 4)
                gateway.settle()
            compare(gateway, known, START_MS + 17 * HOUR_MS)


@contextmanager
def refused(journal: Journal) -> Iterator[None]:
    """SQLite refuses to read closed windows."""
    deny = sqlite3.SQLITE_DENY, sqlite3.SQLITE_OK
    journal._db.set_authorizer(lambda act, table, *_: deny[(act, table) != (sqlite3.SQLITE_READ, "closed")])
    yield
    journal._db.set_authorizer(None)


def test_a_sensor_that_was_far_ahead_gets_each_mean_once(tmp_path: Path) -> None:
    gateway, far = Gateway(tmp_path, HandClock(wall_ms=START_MS)), 96 * 365 * 3
    with closing(gateway.journal):
        gateway.take([estimate(n, 1.0, 15) for n in range(far, far + 6)])
        gateway.journal.commit(Change(closed_until={"5A2D": START_MS}), START_MS)
        before = len([*gateway.published()])
        for n in range(48):
            gateway.take([estimate(n, 1.0, 15)])
        made = [(every, mean["start"]) for every, mean in [*gateway.published()][before:]]
        assert len(made) == len({*made}) == 12 + 12


def test_after_a_long_pause_the_last_means_have_all_their_windows(tmp_path: Path) -> None:
    """Rows of closed windows are deleted after four days, and the estimates are still there."""
    clock, known = HandClock(wall_ms=START_MS), {n: estimate(n, 1.0, 15) for n in range(68)}
    gateway = Gateway(tmp_path, clock)
    clock.pass_ms(17 * HOUR_MS)
    gateway.take([*known.values()])
    gateway.journal.close()
    clock.pass_ms(6 * DAY_MS)
    gateway = Gateway(tmp_path, clock)
    with closing(gateway.journal):
        gateway.settle()
        gateway.journal.forget(0, clock.wall_ms - 4 * DAY_MS, clock.wall_ms)
        for _ in range(3):
            clock.pass_ms(HOUR_MS)
            gateway.settle()
        compare(gateway, known, START_MS + 25 * HOUR_MS)


def test_years_without_a_window_are_passed_over(tmp_path: Path) -> None:
    """The first window of a sensor has a time of 1970; others do not wait."""
    gateway = Gateway(tmp_path, HandClock(wall_ms=START_MS + DAY_MS))
    with closing(gateway.journal):
        gateway.commit([replace(estimate(0, 1.0, 15), start_ms=0, end_ms=WINDOW_MS)])
        gateway.commit([estimate(n, 1.0, 15) for n in range(4)])
        gateway.settle()
        gateway.settle()
        assert not gateway.averaging.waits
        assert ("1h", START_MS) in {(every, parse_time(mean["start"])) for every, mean in gateway.published()}
