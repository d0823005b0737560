"""The consensus from the journal: made when all sensors have closed a window, revised by late ones."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edge_agent.clock import Timekeeper
from edge_agent.commit import GroupCommit
from edge_agent.comparing import MOST, Comparing
from edge_agent.core.messages import Estimate
from edge_agent.core.suspicions import Suspicions
from edge_agent.derivations import Derivations
from edge_agent.journal import Journal
from edge_agent.settings import Consensus, Settings
from tests.edge_agent.test_clock import HandClock

START_MS, WINDOW_MS = 1_706_745_600_000, 900_000
DAY_MS = 96 * WINDOW_MS
PATIENCE_MS = 600_000


def estimate(sensor: str, window: int, value: float | None, **fields: Any) -> Estimate:
    start_ms = START_MS + window * WINDOW_MS
    made = Estimate(
        sensor, start_ms, start_ms + WINDOW_MS, 9 if value is None else 1, (), {"op1": 1.0}, {"op1": 15},
        value=value, gas="CO", unit="ppm", model="sha256:9f3c", agent="van-1",
    )  # fmt: skip
    if value is not None:
        made = replace(made, low=value - 0.1, high=value + 0.1, level=0.9)
    return replace(made, **fields)


class Gateway:
    """A journal, its commits and its consensus; the agent's loop in small."""

    def __init__(self, directory: Path, clock: HandClock, **chosen: Any) -> None:
        self.journal = Journal(directory / "journal.db", WINDOW_MS, "process-crash")
        self._commits = GroupCommit(self.journal, "boot-1", 1_000, 20)
        self._time = Timekeeper(clock, doubt_ms=0)
        self.retained: dict[str, bytes] = {}
        settings = Settings(agent="van-1", consensus=Consensus(**chosen))
        retain = self.retained.__setitem__
        self.models = {"A", "B", "C", "D"}
        self._comparing = Comparing(settings, self.journal, self._commits, self.models, retain)

    def take(self, *estimates: Estimate) -> list[dict[str, Any]]:
        """What is published for these estimates."""
        self._commits.add_estimates(list(estimates), {})
        self._commit()
        return self.settle()

    @property
    def latest(self) -> dict[str, Any]:
        """What a new subscriber gets."""
        return dict(json.loads(self.retained["respire/van-1/consensus/co/latest"]))

    def settle(self) -> list[dict[str, Any]]:
        self._time.update()
        found = []
        for _ in range(4):
            self._comparing.run_due(self._time)
            found += self._commit()
        return found

    def _commit(self) -> list[dict[str, Any]]:
        committed, _ = self._commits.commit(self._time.now_ms)
        self._comparing.note(committed)
        return [json.loads(each.payload) for each in committed if each.sensor == "consensus/co"]


@pytest.fixture
def clock() -> HandClock:
    return HandClock(wall_ms=START_MS)


@pytest.fixture
def gateway(tmp_path: Path, clock: HandClock) -> Iterator[Gateway]:
    made = Gateway(tmp_path, clock)
    with closing(made.journal):
        yield made


def test_it_waits_for_every_sensor_that_was_heard_lately(gateway: Gateway) -> None:
    gateway.take(*(estimate(sensor, 0, 1.0) for sensor in "ABC"))
    assert gateway.take(estimate("A", 1, 1.0)) == []
    assert gateway.take(estimate("B", 1, 1.2)) == []
    [made] = gateway.take(estimate("C", 1, 1.1))
    assert made["value"] == pytest.approx(1.1, abs=0.01)
    assert made["sensors"].keys() == {"A", "B", "C"}
    assert (made["seq"], made["revision"], made["cause"], made["quality"]) == (2, 0, None, 1)


def test_a_flood_of_old_windows_of_one_sensor_neither_fills_the_memory_nor_hides_the_present(
    gateway: Gateway,
) -> None:
    for flood in range(3):
        first = -3 * MOST + flood * MOST
        gateway.take(*(estimate("A", window, 1.0) for window in range(first, first + MOST)))
    assert len(gateway._comparing._new) <= 2 * MOST
    now = gateway.take(*(estimate(sensor, 0, 1.0) for sensor in "ABC"))
    while not now:
        now = gateway.settle()
    assert (now[0]["start"], now[0]["value"]) == ("2024-02-01T00:00:00Z", 1.0)


def test_a_sensor_that_is_late_is_not_waited_for_forever_and_revises_it(
    gateway: Gateway, clock: HandClock
) -> None:
    gateway.take(*(estimate(sensor, 0, 1.0) for sensor in "ABC"))
    assert gateway.take(estimate("A", 1, 1.0), estimate("B", 1, 1.1)) == []
    clock.pass_ms(PATIENCE_MS)
    [first] = gateway.settle()
    assert (first["sensors"].keys(), first["reasons"]) == ({"A", "B"}, ["few_sensors"])
    [again] = gateway.take(estimate("C", 1, 1.2))
    assert again["sensors"].keys() == {"A", "B", "C"}
    assert (again["revision"], again["supersedes"], again["cause"]) == (1, 0, "late_sensor")
    [third] = gateway.take(estimate("C", 1, 1.0, revision=1))
    assert (third["revision"], third["supersedes"], third["cause"]) == (2, 1, "late_readings")
    assert gateway.take(estimate("C", 1, 1.0, revision=2)) == [], "nothing else is said"


def test_it_is_final_when_all_its_estimates_are(gateway: Gateway) -> None:
    final = [estimate(sensor, 0, 1.0, status="final") for sensor in "ABC"]
    [made] = gateway.take(*final)
    assert made["status"] == "final"
    [made] = gateway.take(
        estimate("A", 1, 1.0),
        *(
            replace(each, start_ms=each.start_ms + WINDOW_MS, end_ms=each.end_ms + WINDOW_MS)
            for each in final[1:]
        ),
    )
    assert made["status"] == "preliminary"


def test_one_sensor_has_no_consensus(gateway: Gateway) -> None:
    assert gateway.take(estimate("A", 0, 1.0)) == []


def test_a_sensor_without_a_model_takes_no_part(gateway: Gateway) -> None:
    assert gateway.take(estimate("A", 0, 1.0), estimate("stranger", 0, 1.0)) == []


def test_the_settings_may_name_the_sensors(tmp_path: Path, clock: HandClock) -> None:
    gateway = Gateway(tmp_path, clock, sensors=("A", "B"))
    with closing(gateway.journal):
        [made] = gateway.take(*(estimate(sensor, 0, 1.0) for sensor in "ABC"))
    assert made["sensors"].keys() == {"A", "B"}


def test_it_says_who_was_left_out_and_why(gateway: Gateway) -> None:
    [made] = gateway.take(
        estimate("A", 0, 1.0), estimate("B", 0, 1.05), estimate("C", 0, 5.0), estimate("D", 0, None)
    )
    assert made["left_out"] == {"C": "far_from_others", "D": "no_value"}
    assert made["value"] == pytest.approx(1.025, abs=0.01)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"quality": 4, "reasons": ("op1_outside_training",)}, "failed"),
        ({"quality": 3, "reasons": ("stuck_value",)}, "stuck_value"),
        ({"quality": 3, "reasons": ("drifting",)}, "drifting"),
        ({"quality": 3, "reasons": ("disagrees", "swapped_suspected")}, "swapped_suspected"),
        ({"unit": "ppb"}, "other_unit"),
        ({"value": 1e160}, "failed"),
        ({"low": -1e200, "high": 1e200}, "failed"),
    ],
)
def test_each_reason_to_leave_one_out(gateway: Gateway, fields: dict[str, Any], why: str) -> None:
    other = replace(estimate("C", 0, 1.0), **fields)
    [made] = gateway.take(estimate("A", 0, 1.0), estimate("B", 0, 1.0), other)
    assert made["left_out"] == {"C": why}
    assert made["sensors"].keys() == {"A", "B"}


def test_if_all_are_doubted_all_count(gateway: Gateway) -> None:
    suspect = {"quality": 3, "reasons": ("drifting",)}
    [made] = gateway.take(*(estimate(sensor, 0, 1.0, **suspect) for sensor in "ABC"))
    assert made["sensors"].keys() == {"A", "B", "C"}
    assert (made["quality"], made["reasons"]) == (3, ["drifting"])


def test_of_one_value_there_is_none(gateway: Gateway) -> None:
    [made] = gateway.take(estimate("A", 0, 1.0), estimate("B", 0, None), estimate("C", 0, None))
    assert (made["value"], made["low"], made["quality"]) == (None, None, 9)
    assert made["reasons"] == ["too_few_sensors"]
    assert made["left_out"] == {"A": "alone", "B": "no_value", "C": "no_value"}


def test_a_missing_value_does_not_change_the_gas(gateway: Gateway) -> None:
    """Nor does a sensor that is off: the topic names CO."""
    others = [estimate(sensor, 0, 20.0, gas="NO2", unit="ppb") for sensor in "ABC"]
    [made] = gateway.take(*others, estimate("D", 0, None))
    assert (made["gas"], made["unit"], made["value"]) == ("CO", "ppm", None)
    assert made["left_out"] == {**dict.fromkeys("ABC", "other_unit"), "D": "no_value"}


def test_without_co_it_is_the_gas_of_most_sensors(gateway: Gateway) -> None:
    others = [estimate(sensor, 0, 20.0, gas="NO2", unit="ppb") for sensor in "BC"]
    [made] = gateway.take(estimate("A", 0, 30.0, gas="O3", unit="ppb"), *others)
    assert (made["gas"], made["value"], made["left_out"]) == ("NO2", 20.0, {"A": "other_unit"})


def test_it_has_an_interval_if_two_sensors_have_one(gateway: Gateway) -> None:
    """The others take part like the median of these."""
    unbounded = {"low": None, "high": None, "level": None}
    sensors = [estimate("A", 0, 1.0), estimate("B", 0, 1.1, **unbounded), estimate("C", 0, 1.05, **unbounded)]
    [made] = gateway.take(*sensors)
    assert made["sensors"].keys() == {"A", "B", "C"}
    assert [made[name] for name in ("low", "high", "level")] == [None, None, None]
    [again] = gateway.take(estimate("D", 0, 1.05))
    assert again["sensors"].keys() == {"A", "B", "C", "D"}
    assert (again["low"] < again["value"] < again["high"], again["level"]) == (True, 0.9)


def test_it_has_no_interval_if_those_with_one_are_far_from_the_others(gateway: Gateway) -> None:
    unbounded = {"low": None, "high": None, "level": None}
    gateway.models |= {"E"}
    [made] = gateway.take(
        *(estimate(sensor, 0, 1.0, **unbounded) for sensor in "ABC"),
        *(estimate(sensor, 0, 5.0) for sensor in "DE"),
    )
    assert (made["value"], made["low"], made["level"]) == (1.0, None, None)
    assert made["left_out"] == {"D": "far_from_others", "E": "far_from_others"}


@pytest.mark.parametrize("days", [2, 10])
def test_an_old_backlog_does_not_change_what_is_final(gateway: Gateway, clock: HandClock, days: int) -> None:
    """Neither while the journal has the window, nor after it was deleted; the key stays unique."""
    gateway.take(estimate("C", 0, 1.0), estimate("D", 0, 1.1))
    clock.pass_ms(days * DAY_MS)
    gateway.take(estimate("C", 96 * days, 1.0), estimate("D", 96 * days, 1.1))
    now_ms = clock.now_ms()
    gateway.journal.forget(now_ms - 30 * DAY_MS, now_ms - 4 * DAY_MS, now_ms)
    assert gateway.take(estimate("A", 0, 2.0), estimate("B", 0, 2.1)) == []


def test_a_revision_that_was_late_itself_changes_a_final_consensus(
    gateway: Gateway, clock: HandClock
) -> None:
    """Readings of the last hour before a window is final revise its estimate after that."""
    gateway.take(estimate("C", 0, 1.0), estimate("D", 0, 1.1))
    clock.pass_ms(DAY_MS + 2 * WINDOW_MS)
    [made] = gateway.take(estimate("C", 0, 1.05, revision=1))
    assert (made["revision"], made["sensors"].keys()) == (1, {"C", "D"})


def test_an_old_backlog_of_a_window_without_a_consensus_gets_one(gateway: Gateway, clock: HandClock) -> None:
    clock.pass_ms(2 * DAY_MS)
    [made] = gateway.take(estimate("A", 0, 2.0), estimate("B", 0, 2.1))
    assert (made["revision"], made["sensors"].keys()) == (0, {"A", "B"})


def test_bundles_that_come_and_go_change_no_past_consensus(gateway: Gateway) -> None:
    gateway.take(*(estimate(sensor, 0, 1.0) for sensor in "ABC"), estimate("D", 0, None, model=None))
    gateway.models.remove("B")
    [made] = gateway.take(estimate("A", 0, 1.1, revision=1))
    assert (made["sensors"].keys(), made["left_out"]) == ({"A", "B", "C"}, {})
    assert (made["revision"], made["cause"], made["quality"]) == (1, "late_readings", 1)


def test_it_does_not_keep_the_loop_awake_when_nothing_is_left(gateway: Gateway) -> None:
    assert len(gateway.take(*(estimate(sensor, 0, 1.0) for sensor in "ABC"))) == 1
    assert not gateway._comparing.waits


def test_a_restart_between_estimates_and_consensus_loses_none(tmp_path: Path, clock: HandClock) -> None:
    for window in range(3):
        gateway = Gateway(tmp_path, clock)
        gateway._commits.add_estimates([estimate(sensor, window, 1.0 + window) for sensor in "ABC"], {})
        gateway._commits.commit(START_MS)
        gateway.journal.close()
    gateway = Gateway(tmp_path, clock)
    with closing(gateway.journal):
        assert [made["value"] for made in gateway.settle()] == [1.0, 2.0, 3.0]
    gateway = Gateway(tmp_path, clock)
    with closing(gateway.journal):
        assert gateway.settle() == []


def test_a_window_from_the_future_hides_no_other_after_a_start(tmp_path: Path, clock: HandClock) -> None:
    """The clock of a sensor was wrong for a while, and the agent was killed before the next consensus."""
    gateway = Gateway(tmp_path, clock)
    for window in (0, 99_999, 1):
        gateway._commits.add_estimates([estimate(sensor, window, 1.0 + window) for sensor in "ABC"], {})
        gateway._commits.commit(START_MS)
    gateway.journal.close()
    gateway = Gateway(tmp_path, clock)
    with closing(gateway.journal):
        assert [made["value"] for made in gateway.settle()] == [1.0, 2.0, 100_000.0]


def test_a_kill_in_a_backlog_of_days_loses_no_consensus(tmp_path: Path, clock: HandClock) -> None:
    """The broker kept the readings of three days; their windows closed faster than the consensus was made."""
    gateway = Gateway(tmp_path, clock)
    for window in range(300):
        gateway._commits.add_estimates([estimate(sensor, window, 1.0) for sensor in "ABC"], {})
        gateway._commits.commit(START_MS)
    gateway.journal.close()
    gateway = Gateway(tmp_path, clock)
    with closing(gateway.journal):
        made = [each["start"] for _ in range(75) for each in gateway.settle()]
    assert (len(made), made[0], made[-1]) == (300, "2024-02-01T00:00:00Z", "2024-02-04T02:45:00Z")


def test_after_a_start_no_more_windows_wait_than_before(tmp_path: Path, clock: HandClock) -> None:
    """The windows that were written last count."""
    gateway = Gateway(tmp_path, clock)
    gateway._commits.add_estimates([estimate("A", window, 1.0) for window in range(MOST + 1)], {})
    gateway._commits.commit(START_MS)
    gateway.journal.close()
    gateway = Gateway(tmp_path, clock)
    with closing(gateway.journal):
        assert (len(gateway._comparing._new), min(gateway._comparing._new)) == (MOST, START_MS + WINDOW_MS)


def test_the_newest_window_is_retained(gateway: Gateway, tmp_path: Path, clock: HandClock) -> None:
    """A revision of it, too, but nothing of an older window; a restart has the same."""
    assert gateway.retained == {}
    gateway.take(*(estimate(sensor, 0, 1.0) for sensor in "ABC"))
    [second] = gateway.take(*(estimate(sensor, 2, 2.0) for sensor in "ABC"))
    assert gateway.latest == second
    gateway.take(estimate("A", 0, 1.1, revision=1))
    [between] = gateway.take(*(estimate(sensor, 1, 1.5, revision=1) for sensor in "ABC"))
    assert (between["revision"], gateway.latest) == (0, second)
    [revised] = gateway.take(estimate("A", 2, 2.1, revision=1))
    assert (revised["revision"], gateway.latest) == (1, revised)
    gateway.journal.close()
    again = Gateway(tmp_path, clock)
    with closing(again.journal):
        assert again.latest == revised


def test_a_window_in_the_future_does_not_stay_the_newest(
    gateway: Gateway, tmp_path: Path, clock: HandClock
) -> None:
    """Clocks that were wrong for a while made it; the sensors' windows have gone back since."""
    gateway.take(*(estimate(sensor, 9_999, 1.0) for sensor in "ABC"))
    gateway._commits.add_estimates([], dict.fromkeys("ABC", START_MS))
    gateway._commits.commit(START_MS)
    restarted = Gateway(tmp_path, clock)
    with closing(restarted.journal):
        assert restarted.retained == {}
    [made] = gateway.take(*(estimate(sensor, 0, 2.0) for sensor in "ABC"))
    assert gateway.latest == made


def test_the_newest_is_removed_when_the_consensus_is_switched_off(gateway: Gateway) -> None:
    def retained() -> dict[str, bytes]:
        kept: dict[str, bytes] = {}
        settings, suspicions = Settings(agent="van-1"), Suspicions(0)
        Derivations(settings, gateway.journal, gateway._commits, {}, suspicions, kept.__setitem__)
        return kept

    assert retained() == {}, "there was none"
    gateway.take(*(estimate(sensor, 0, 1.0) for sensor in "ABC"))
    assert retained() == {"respire/van-1/consensus/co/latest": b""}


def test_a_stream_of_long_ago_has_its_consensus(tmp_path: Path) -> None:
    """As in a demo: the wall clock says that its windows can not be revised any more."""
    clock = HandClock(wall_ms=START_MS + 10 * 86_400_000)
    gateway = Gateway(tmp_path, clock)
    with closing(gateway.journal):
        gateway.journal.forget(0, clock.wall_ms - 4 * 86_400_000, clock.wall_ms)
        assert gateway.take(*(estimate(sensor, 0, 1.0) for sensor in "ABC"))
