"""How much warmer it is than it was: the same before and after a restart."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.change import Change
from edge_agent.core.messages import Reading
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.warming import REACH_MS, Past
from edge_agent.core.windows import Windows
from edge_agent.journal import Journal
from tests.conftest import make_warming_model

WINDOW_MS, HOUR_MS = 900_000, 3_600_000
MEMORIES = {"warming_1h": HOUR_MS, "warming_4h": 4 * HOUR_MS}
DAY = REACH_MS // WINDOW_MS
temperatures = st.lists(st.none() | st.floats(-40.0, 60.0), min_size=1, max_size=120)


def past_of(known: Sequence[float | None]) -> Past:
    past = Past(WINDOW_MS)
    for place, temperature in enumerate(known):
        if temperature is not None:
            past.note("5A2D", place * WINDOW_MS, temperature)
    return past


@given(known=temperatures, now=st.floats(-40.0, 60.0), gap=st.integers(0, 200))
def test_warming_is_now_minus_a_fading_mean_where_what_is_missing_is_the_next_known(
    known: list[float | None], now: float, gap: int
) -> None:
    """The law, said the slow way."""
    filled, then = list[float](), now
    for temperature in reversed([*[None] * DAY, *known, *[None] * gap]):
        then = then if temperature is None else temperature
        filled.append(then)
    expected = now - np.average(filled[:DAY], weights=np.exp(-np.arange(1, DAY + 1) / 16.0))
    warming = past_of(known).warming("5A2D", (len(known) + gap) * WINDOW_MS, now, 4 * HOUR_MS)
    assert warming == pytest.approx(expected, abs=1e-8)


def test_what_nobody_knows_has_not_changed() -> None:
    past = past_of([20.0] * 8)
    assert past.warming("5A2D", 27 * HOUR_MS, 35.0, HOUR_MS) == 0.0, "too long ago"
    assert past.warming("D3EB", 2 * HOUR_MS, 35.0, HOUR_MS) == 0.0, "of another sensor"


def test_the_future_is_not_looked_at() -> None:
    """After a clock that went wrong, windows may come out of order, and may be missing."""
    past = past_of([20.0] * 8)
    past.note("5A2D", 5 * HOUR_MS, -10.0)
    assert past.warming("5A2D", 2 * HOUR_MS, 22.0, HOUR_MS) == pytest.approx(2.0)
    assert past.warming("5A2D", 3 * HOUR_MS, 20.0, HOUR_MS) == pytest.approx(0.0)
    past.note("5A2D", 3 * HOUR_MS, 24.0)
    steady = past_of([20.0] * 8 + [24.0] * 5).warming("5A2D", 3 * HOUR_MS + WINDOW_MS, 25.0, HOUR_MS)
    assert past.warming("5A2D", 3 * HOUR_MS + WINDOW_MS, 25.0, HOUR_MS) == pytest.approx(steady)


def test_a_stamp_from_far_ahead_costs_the_past_and_no_more() -> None:
    """The windows of now that come after it are remembered as ever."""
    past = past_of([10.0] * 8)
    past.note("5A2D", 40 * 365 * 24 * HOUR_MS, 50.0)
    assert past.warming("5A2D", 2 * HOUR_MS, 21.0, HOUR_MS) == 0.0
    past.note("5A2D", 2 * HOUR_MS, 20.0)
    later = past.warming("5A2D", 2 * HOUR_MS + WINDOW_MS, 21.0, HOUR_MS)
    assert later == pytest.approx(1.0)


@pytest.mark.parametrize("window_ms", [60_000, HOUR_MS, REACH_MS, 2 * REACH_MS])
def test_windows_of_other_lengths_count_by_their_age(window_ms: int) -> None:
    """At 20 °C for the whole day before, 23 °C are 3 °C warmer, where a day has windows at all."""
    past = Past(window_ms)
    for number in range(2000):
        past.note("5A2D", number * window_ms, 20.0)
    warming = past.warming("5A2D", 2000 * window_ms, 23.0, 4 * HOUR_MS)
    assert warming == pytest.approx(3.0 if window_ms <= REACH_MS else 0.0)


def readings(hours: int) -> list[Reading]:
    values = {"op1": 231.0, "op2": 206.0}
    return [
        reading
        for minute in range(hours * 60)
        for at_ms in [HOUR_MS * 1000 + minute * 60_000]
        for reading in (
            *(Reading("5A2D", name, at_ms, value + minute % 7) for name, value in values.items()),
            Reading("5A2D", "temperature", at_ms, 20.0 + 4.0 * np.sin(minute / 100.0)),
        )
    ]


def test_an_estimate_tells_how_much_warmer_it_has_become() -> None:
    model = make_warming_model()
    *_, last = Pipeline(Windows(), {"5A2D": model}).replay(readings(hours=10))
    assert list(last.inputs) == ["op1", "op2", "temperature", "warming_1h", "warming_4h"]
    assert set(last.minutes) == {"op1", "op2", "temperature", "expected"}
    assert last.inputs["warming_1h"] > 0.3, "a rising sine"
    assert last.weights is not None
    explained = last.weights["bias"] + sum(last.weights[name] * last.inputs[name] for name in model.channels)
    assert last.value == pytest.approx(explained)


def test_too_fast_a_change_is_outside_training() -> None:
    calm = {**make_warming_model().domain, "warming_1h": (-0.1, 0.1)}
    *_, last = Pipeline(Windows(), {"5A2D": make_warming_model(domain=calm)}).replay(readings(6))
    assert last.reasons == ("warming_1h_outside_training",)


def test_an_estimate_whose_past_is_mostly_guessed_is_suspect() -> None:
    """After a start from nothing, and after a gap, until half of what counts is known again."""
    stream = [r for r in readings(24) if not 12 <= (r.at_ms - HOUR_MS * 1000) / HOUR_MS < 16]
    estimates = list(Pipeline(Windows(), {"5A2D": make_warming_model()}).replay(stream))
    guessed = [
        (each.start_ms / HOUR_MS - 1000, each.quality)
        for each in estimates
        if "temperature_history_incomplete" in each.reasons
    ]
    expected = [*np.arange(0, 2.8, 0.25), *np.arange(16, 17.1, 0.25)]
    assert guessed == [(hour, 3) for hour in expected]


def test_a_restart_changes_no_bit(tmp_path: Path) -> None:
    """What the journal keeps of the last windows is enough to go on as if nothing had happened."""
    models = {"5A2D": make_warming_model()}
    whole = list(Pipeline(Windows(), models).replay(readings(30)))
    journal = Journal(tmp_path / "journal.db", WINDOW_MS)
    journal.commit(Change(estimates=[replace(each, seq=0) for each in whole[:100]]), now_ms=0)

    pipeline = Pipeline(Windows(), models)
    pipeline.prime("5A2D", ((each.start_ms, each.mean) for each in journal.means("5A2D", "temperature", DAY)))
    rest = [reading for reading in readings(30) if reading.at_ms >= HOUR_MS * 1000 + 100 * WINDOW_MS]
    again = list(pipeline.replay(rest))
    assert [(each.inputs, each.value) for each in again] == [(e.inputs, e.value) for e in whole[100:]]


def test_a_window_with_little_temperature_is_not_remembered() -> None:
    """A mean of a few minutes is no temperature to compare others with, here as in training."""
    pipeline = Pipeline(Windows(), {"5A2D": make_warming_model()})
    thin = [r for r in readings(1) if r.channel != "temperature" or r.at_ms % WINDOW_MS < 11 * 60_000]
    later = [r._replace(at_ms=r.at_ms + HOUR_MS, value=r.value + 5.0) for r in readings(1)]
    estimates = list(pipeline.replay([*thin, *later]))
    assert estimates[4].inputs["warming_1h"] == 0.0
