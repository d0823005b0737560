"""Alerts: two thresholds, minimum durations, transitions only, nothing while data are missing."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.alerts import Alerts, Limit, Transition, alert_record
from edge_agent.core.messages import Estimate

WINDOW_MS = 900_000
HIGH = Limit("co-high", above=9.0, below=7.0, raise_after_ms=1_800_000, clear_after_ms=2_700_000)


def window(place: int, value: float | None, **changes: Any) -> Estimate:
    """The window at a place; without a value its data are missing."""
    start_ms = place * WINDOW_MS
    fields: dict[str, Any] = {
        "quality": 9 if value is None else 1,
        "minutes": {"op1": 15, "op2": 15, "expected": 15},
        "weights": None if value is None else {"op1": 1.0, "op2": 1.0, "bias": 0.0},
        "unit": "ppm",
        **changes,
    }
    return Estimate("5A2D", start_ms, start_ms + WINDOW_MS, reasons=(), inputs={}, value=value, **fields)


def play(alerts: Alerts, estimates: Iterable[Estimate]) -> list[Transition]:
    return [transition for estimate in estimates for transition in alerts.update(estimate)]


def changes(values: Iterable[float | None], limit: Limit = HIGH) -> list[tuple[int, str]]:
    """At which places a limit is raised or cleared."""
    found = play(Alerts([limit]), (window(place, value) for place, value in enumerate(values)))
    return [(each.at_ms // WINDOW_MS - 1, each.state) for each in found]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([9.0, 9.0], [(1, "raised")]),
        ([9.0, 8.9, 9.0, 8.9], []),
        ([9, 9, 9, 9], [(1, "raised")]),
        ([9, 9, 7, 7, 7, 7], [(1, "raised")]),
        ([9, 9, 6, 6, 6, 6], [(1, "raised"), (4, "cleared")]),
        ([9, 9, 6, 6, 8, 6, 6, 6], [(1, "raised"), (7, "cleared")]),
        ([9, None, 9, None, 9], []),
        ([9, 9, None, None, None, None], [(1, "raised")]),
        ([9, 9, 6, 6, None, 6, 6, 6], [(1, "raised"), (7, "cleared")]),
        ([6, 6, 6, 6], []),
    ],
)
def test_transitions(values: list[float | None], expected: list[tuple[int, str]]) -> None:
    assert changes(values) == expected


def test_a_transition_says_since_when_and_at_what_value() -> None:
    [raised] = play(Alerts([HIGH]), [window(4, 9.5), window(5, 10.25)])
    assert alert_record(raised, "van-1") == {
        "v": 1,
        "agent": "van-1",
        "sensor": "5A2D",
        "alert": "co-high",
        "state": "raised",
        "since": "1970-01-01T01:00:00Z",
        "at": "1970-01-01T01:30:00Z",
        "value": 10.25,
        "unit": "ppm",
        "mean": "window",
        "above": 9.0,
        "below": 7.0,
    }


def test_a_window_that_is_not_there_interrupts() -> None:
    """A van that was off for an hour has not measured too much in that hour."""
    assert play(Alerts([HIGH]), [window(0, 12.0), window(4, 12.0)]) == []


@pytest.mark.parametrize("doubt", [{"quality": 4}, {"clock": "unsynchronised"}, {"revision": 1}])
def test_what_is_not_certain_raises_nothing(doubt: dict[str, Any]) -> None:
    assert play(Alerts([HIGH]), [window(place, 12.0, **doubt) for place in range(8)]) == []


def test_a_window_of_a_wrong_clock_does_not_silence_those_after_it() -> None:
    ahead = window(10_000_000, 12.0, clock="unsynchronised")
    assert len(play(Alerts([HIGH]), [ahead, window(0, 12.0), window(1, 12.0)])) == 1


@pytest.mark.parametrize("mean", ["window", "1h"])
def test_a_window_in_the_far_future_does_not_silence_those_after_it(mean: str) -> None:
    """A sensor sent its time before the clock could be trusted; the window closed after that."""
    limit = replace(HIGH, mean=mean, raise_after_ms=0)
    later = [window(place, 9.0) for place in range(4)]
    assert [each.state for each in play(Alerts([limit]), [window(10_000_000, 1.0), *later])] == ["raised"]


def test_values_in_another_unit_do_not_count_together() -> None:
    assert play(Alerts([HIGH]), [window(0, 12.0, unit="ppb"), window(1, 12.0)]) == []


def test_a_mean_over_an_hour_is_judged_on_the_hour() -> None:
    """One window of 40 ppm is no hour of 9 ppm; an hour with fewer than 45 minutes has no mean."""
    hourly = Limit("co-1h", above=9.0, below=7.0, mean="1h")
    assert changes([30, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9], hourly) == [(7, "raised")]
    assert changes([40, None, None, None] * 4, hourly) == []
    assert changes([None, 12, 12, 12, 1, 1, 1, 1], hourly) == [(3, "raised"), (7, "cleared")]


def test_a_running_mean_over_eight_hours() -> None:
    running = Limit("co-8h", above=9.0, below=7.0, mean="8h")
    values = [1.0] * 32 + [20.0] * 32
    [raised] = play(Alerts([running]), (window(p, v) for p, v in enumerate(values)))
    hours = 4  # (4 × 1 + 4 × 20) / 8 = 10.5; with three of eight hours 8.1
    assert (raised.at_ms, raised.value) == ((32 + 4 * hours) * WINDOW_MS, 10.5)


def test_a_limit_can_be_for_some_sensors() -> None:
    alerts = Alerts([replace(HIGH, sensors=("D3EB",))])
    assert play(alerts, [window(0, 12.0), window(1, 12.0)]) == []


@given(
    st.lists(st.sampled_from([None, 1.0, 8.0, 12.0]), max_size=60),
    st.integers(0, 60),
    st.sampled_from(["window", "1h"]),
)
def test_a_restart_changes_nothing(values: list[float | None], cut: int, mean: str) -> None:
    """Primed with the last windows and the last state, the alerts go on as if nothing had happened."""
    limit = replace(HIGH, mean=mean)
    windows = [window(place, value) for place, value in enumerate(values)]
    whole = play(Alerts([limit]), windows)
    first, second = Alerts([limit]), Alerts([limit])
    before = play(first, windows[:cut])
    if before:
        second.restore("co-high", "5A2D", before[-1].state)
    closed_ms = min(cut, len(windows)) * WINDOW_MS
    for estimate in windows[:cut]:
        if estimate.start_ms >= closed_ms - limit.reach_ms:
            second.prime(estimate)
    assert before + play(second, windows[cut:]) == whole


@given(st.lists(st.sampled_from([None, 1.0, 8.0, 12.0]), max_size=60))
def test_raised_and_cleared_alternate(values: list[float | None]) -> None:
    states = [state for _, state in changes(values)]
    assert states == (["raised", "cleared"] * len(states))[: len(states)]
