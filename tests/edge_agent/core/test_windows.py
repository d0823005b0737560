"""Windows: alignment, averages, closing, and the laws that hold whatever the order."""

import random
from collections import Counter, defaultdict
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.coverage import expected_minutes
from edge_agent.core.messages import Reading
from edge_agent.core.windows import (
    MINUTE_MS,
    ChannelMean,
    Outcome,
    Window,
    Windows,
)

LENGTH_MS = 900_000
GRACE_MS = 60_000


def reading(at_ms: int, value: float = 1.0, channel: str = "op1", sensor: str = "5A2D") -> Reading:
    return Reading(sensor, channel, at_ms, value)


def feed(windows: Windows, *readings: Reading) -> list[Outcome]:
    return [windows.add(r, now_ms=r.at_ms) for r in readings]


def starts(closed: list[Window]) -> list[int]:
    return [window.start_ms for window in closed]


def oracle(readings: list[Reading]) -> dict[tuple[str, int], dict[str, tuple[float, int]]]:
    """The obvious way: collect everything, average minutes, then windows; the first duplicate counts."""
    cells: dict[tuple[str, int, str, int], dict[int, float]] = defaultdict(dict)
    for sensor, channel, at_ms, value in readings:
        key = sensor, at_ms // LENGTH_MS * LENGTH_MS, channel, at_ms // MINUTE_MS
        cells[key].setdefault(at_ms, value)
    minutes: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (sensor, start, channel, _), values in cells.items():
        minutes[sensor, start][channel].append(fmean(values.values()))
    return {
        key: {channel: (fmean(means), len(means)) for channel, means in channels.items()}
        for key, channels in minutes.items()
    }


def test_replay_of_shuffled_readings_equals_the_obvious_oracle() -> None:
    """10 000 readings over 20 sensors, shuffled within the grace: same windows, coverage and averages."""
    chance = random.Random(7)
    readings = [
        reading(
            1_706_780_000_000 + chance.randrange(0, 8 * LENGTH_MS),
            chance.gauss(230, 20),
            chance.choice(["op1", "op2", "temperature"]),
            f"S{chance.randrange(20):02}",
        )
        for _ in range(10_000)
    ]
    readings.sort(key=lambda r: r.at_ms + chance.uniform(0, GRACE_MS))
    windows, closed = Windows(LENGTH_MS, GRACE_MS), []
    for r in readings:
        assert windows.add(r, now_ms=r.at_ms) in (Outcome.ACCEPTED, Outcome.DUPLICATE)
        closed += windows.close()
    closed += windows.close_all()

    expected = oracle(readings)
    assert {(w.sensor, w.start_ms) for w in closed} == set(expected)
    assert len(closed) == len(expected)
    for window in closed:
        wanted = expected[window.sensor, window.start_ms]
        found = {name: (channel.mean, channel.minutes) for name, channel in window.channels.items()}
        assert {name: minutes for name, (_, minutes) in found.items()} == {
            n: m for n, (_, m) in wanted.items()
        }
        assert {n: mean for n, (mean, _) in found.items()} == pytest.approx(
            {n: mean for n, (mean, _) in wanted.items()}, rel=0, abs=1e-9
        )


stamps = st.integers(0, 4 * LENGTH_MS)
streams = st.lists(
    st.builds(Reading, st.sampled_from("AB"), st.sampled_from(["op1", "op2"]), stamps, st.floats(-1e6, 1e6)),
    max_size=60,
)


@given(readings=streams, order=st.randoms(use_true_random=False), closes=st.sets(st.integers(0, 60)))
def test_every_accepted_reading_is_counted_in_exactly_one_window(
    readings: list[Reading], order: random.Random, closes: set[int]
) -> None:
    """Whatever the order of arrival and whenever windows are closed, nothing is lost or counted twice."""
    order.shuffle(readings)
    windows, closed, accepted = Windows(LENGTH_MS, GRACE_MS), [], Counter[tuple[str, int, str]]()
    for index, (sensor, channel, at_ms, _) in enumerate(readings):
        if windows.add(readings[index], now_ms=at_ms) is Outcome.ACCEPTED:
            accepted[sensor, at_ms // LENGTH_MS * LENGTH_MS, channel] += 1
        if index in closes:
            closed += windows.close(now_ms=at_ms)
    closed += windows.close_all()
    assert accepted == Counter(
        {(w.sensor, w.start_ms, name): c.readings for w in closed for name, c in w.channels.items()}
    )
    assert len({(w.sensor, w.start_ms) for w in closed}) == len(closed)


@given(readings=streams, order=st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_change_a_bit(readings: list[Reading], order: random.Random) -> None:
    """With nothing late, the averages of any permutation are equal to the last bit."""
    unique = list({r[:3]: r for r in readings}.values())
    shuffled = order.sample(unique, len(unique))
    patient = [Windows(LENGTH_MS, grace_ms=10 * LENGTH_MS) for _ in range(2)]
    for windows, stream in zip(patient, (unique, shuffled), strict=True):
        assert set(feed(windows, *stream)) <= {Outcome.ACCEPTED}
    first, second = ({(w.sensor, w.start_ms): w for w in windows.close_all()} for windows in patient)
    assert first == second


@given(readings=streams, value=st.floats(-1e6, 1e6))
def test_a_duplicate_changes_nothing(readings: list[Reading], value: float) -> None:
    """The same sensor, channel and at_ms again, with any value, is counted as a duplicate or late."""
    once, twice = Windows(LENGTH_MS, GRACE_MS), Windows(LENGTH_MS, GRACE_MS)
    for r in readings:
        once.add(r, now_ms=r.at_ms)
        twice.add(r, now_ms=r.at_ms)
        assert twice.add(r._replace(value=value), now_ms=r.at_ms) in (Outcome.DUPLICATE, Outcome.TOO_LATE)
    assert once.close_all() == twice.close_all()


def test_windows_are_half_open_and_aligned_to_the_epoch() -> None:
    windows = Windows(LENGTH_MS, GRACE_MS)
    feed(windows, reading(LENGTH_MS - 1), reading(LENGTH_MS))
    assert starts(windows.close_all()) == [0, LENGTH_MS]


def test_event_time_closes_at_end_plus_grace_and_not_before() -> None:
    windows = Windows(LENGTH_MS, GRACE_MS)
    feed(windows, reading(5), reading(LENGTH_MS + GRACE_MS - 1))
    assert windows.close() == []
    feed(windows, reading(LENGTH_MS + GRACE_MS))
    assert starts(windows.close()) == [0]


def test_a_reading_within_the_grace_still_counts_and_after_it_is_late() -> None:
    windows = Windows(LENGTH_MS, GRACE_MS)
    outcomes = feed(
        windows,
        reading(5),
        reading(LENGTH_MS + GRACE_MS - 1),
        reading(6),
        reading(LENGTH_MS + GRACE_MS),
        reading(7),
    )
    assert outcomes == [Outcome.ACCEPTED] * 4 + [Outcome.TOO_LATE]


def test_lateness_does_not_depend_on_when_close_is_called() -> None:
    """Replay and the daemon call close at different moments and must agree."""
    eager, lazy = Windows(LENGTH_MS, GRACE_MS), Windows(LENGTH_MS, GRACE_MS)
    stream = [reading(5), reading(LENGTH_MS + GRACE_MS), reading(6), reading(2 * LENGTH_MS)]
    closed = []
    for r in stream:
        outcome = eager.add(r, now_ms=r.at_ms)
        closed += eager.close()
        assert lazy.add(r, now_ms=r.at_ms) is outcome
    assert closed == lazy.close()


def test_the_wall_clock_closes_the_window_of_a_sensor_gone_silent() -> None:
    windows = Windows(LENGTH_MS, GRACE_MS)
    feed(windows, reading(5))
    assert windows.close(now_ms=LENGTH_MS + GRACE_MS - 1) == []
    assert starts(windows.close(now_ms=LENGTH_MS + GRACE_MS)) == [0]


def test_a_backlog_that_arrives_hours_late_is_averaged_whole() -> None:
    """After an outage the broker hands over old readings at once: none may be called late."""
    windows, now_ms, closed = Windows(LENGTH_MS, GRACE_MS), 100 * LENGTH_MS, []
    for minute in range(45):
        assert windows.add(reading(minute * MINUTE_MS), now_ms) is Outcome.ACCEPTED
        closed += windows.close(now_ms)
        now_ms += 10
    closed += windows.close(now_ms + windows.patience_ms)
    assert [window.channels["op1"].minutes for window in closed] == [15, 15, 15]


def test_a_sensor_whose_clock_is_slow_loses_nothing() -> None:
    """One reading a minute, stamped two hours ago: the wall clock must not close windows between them."""
    windows, closed = Windows(LENGTH_MS, GRACE_MS), []
    for minute in range(61):
        assert (
            windows.add(reading(minute * MINUTE_MS), now_ms=minute * 61_000 + 7_200_000) is Outcome.ACCEPTED
        )
        closed += windows.close(now_ms=minute * 61_000 + 7_260_000)
    assert [window.channels["op1"].minutes for window in closed] == [15, 15, 15]


def test_after_an_outage_the_wall_clock_has_patience_anew() -> None:
    windows = Windows(LENGTH_MS, GRACE_MS, patience_ms=120_000)
    feed(windows, reading(5))
    windows.wait(steady_ms=5 * LENGTH_MS)
    assert windows.close(now_ms=5 * LENGTH_MS + 119_999) == []
    assert starts(windows.close(now_ms=5 * LENGTH_MS + 120_000)) == [0]


def backlog(windows: Windows, seconds: int) -> list[Window]:
    """A broker hands over an old window of A for so long, one reading a second, and then one of B."""
    now_ms = 100 * LENGTH_MS
    feed(windows, reading(5, sensor="A"), reading(5, sensor="B"))
    windows.wait(steady_ms=now_ms)
    closed: list[Window] = []
    for second in range(1, seconds):
        windows.add(reading(5 + second, sensor="A"), now_ms + second * 1_000)
        closed += windows.close(now_ms + second * 1_000)
    assert windows.add(reading(6, sensor="B"), now_ms + seconds * 1_000) in Outcome
    return closed


def test_a_short_patience_lasts_through_a_backlog() -> None:
    """The readings of one sensor may come before those of another; both are still to come."""
    windows = Windows(LENGTH_MS, GRACE_MS, patience_ms=2_000)
    assert backlog(windows, seconds=60) == []
    [a, b] = windows.close_all()
    assert (a.channels["op1"].readings, b.channels["op1"].readings) == (60, 2)


def test_a_sensor_whose_clock_is_slow_does_not_look_like_a_backlog_for_ever() -> None:
    windows = Windows(LENGTH_MS, GRACE_MS, patience_ms=2_000)
    assert [window.sensor for window in backlog(windows, seconds=700)] == ["B"]


def test_one_silent_sensor_never_holds_another() -> None:
    windows = Windows(LENGTH_MS, GRACE_MS)
    feed(windows, reading(5, sensor="quiet"), reading(5), reading(LENGTH_MS + GRACE_MS))
    assert [(w.sensor, w.start_ms) for w in windows.close()] == [("5A2D", 0)]


def test_after_a_restart_closed_windows_stay_closed() -> None:
    windows = Windows(LENGTH_MS, GRACE_MS)
    windows.resume("5A2D", closed_until_ms=LENGTH_MS)
    assert feed(windows, reading(5), reading(LENGTH_MS)) == [Outcome.TOO_LATE, Outcome.ACCEPTED]
    assert "5A2D" in windows
    assert len(windows) == 1


def test_a_window_tells_mean_minutes_and_extremes_of_each_channel() -> None:
    windows = Windows(LENGTH_MS, GRACE_MS)
    feed(windows, reading(0, 1.0), reading(1, 3.0), reading(60_000, 5.0), reading(0, 24.0, "temperature"))
    [window] = windows.close_all()
    assert window == Window(
        "5A2D",
        0,
        LENGTH_MS,
        {"op1": ChannelMean(3.5, 2, 3, 1.0, 5.0), "temperature": ChannelMean(24.0, 1, 1, 24.0, 24.0)},
    )
    assert expected_minutes(window.end_ms - window.start_ms) == 15
