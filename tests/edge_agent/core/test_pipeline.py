"""The pure steps composed: what a window becomes, and that replay is the whole line."""

from dataclasses import replace
from typing import Any

import pytest

from edge_agent.core.messages import Estimate, Reading
from edge_agent.core.model import Interval, Model
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Windows
from tests.conftest import make_model

START_MS = 1_706_782_500_000


def recording(minutes: int = 15, sensor: str = "5A2D") -> list[Reading]:
    return [
        Reading(sensor, channel, START_MS + minute * 60_000, value + minute / 10)
        for minute in range(minutes)
        for channel, value in (("op1", 231.0), ("op2", 206.0), ("temperature", 24.0))
    ]


def test_a_full_window_becomes_an_estimate_that_explains_itself(model: Model) -> None:
    [estimate] = Pipeline(Windows(), {"5A2D": model}, agent="van-1").replay(recording())
    [value], [weights] = model.predict([[231.7, 206.7]], [24.7]), model.weights([24.7])
    expected: dict[str, Any] = {
        "inputs": pytest.approx({"op1": 231.7, "op2": 206.7, "temperature": 24.7}),
        "value": pytest.approx(value),
        "low": pytest.approx(value - 0.12),
        "high": pytest.approx(value + 0.12),
        "weights": pytest.approx(dict(zip(("op1", "op2", "bias"), weights, strict=True))),
    }
    assert estimate == Estimate(
        sensor="5A2D",
        start_ms=START_MS,
        end_ms=START_MS + 900_000,
        quality=1,
        reasons=(),
        minutes={"op1": 15, "op2": 15, "temperature": 15, "expected": 15},
        level=0.9,
        status="final",
        gas="CO",
        unit="ppm",
        model=model.id,
        agent="van-1",
        seq=1,
        **expected,
    )


def test_too_little_coverage_is_published_without_a_value(model: Model) -> None:
    [estimate] = Pipeline(Windows(), {"5A2D": model}).replay(recording(minutes=11))
    assert (estimate.value, estimate.quality, estimate.reasons) == (None, 9, ("insufficient_coverage",))
    assert estimate.minutes == {"op1": 11, "op2": 11, "temperature": 11, "expected": 15}
    assert (estimate.gas, estimate.unit, estimate.model) == ("CO", "ppm", model.id)


def test_a_slow_sensor_is_expected_at_its_own_cadence(model: Model) -> None:
    every_five = [each for each in recording() if each.at_ms // 60_000 % 5 == 0]
    slow = replace(model, cadence_minutes=dict.fromkeys(("op1", "op2", "temperature"), 5))
    [estimate] = Pipeline(Windows(), {"5A2D": slow}).replay(every_five)
    assert (estimate.quality, estimate.reasons) == (1, ())
    assert estimate.minutes == {"op1": 3, "op2": 3, "temperature": 3, "expected": 3}


def test_beside_a_slow_thermometer_the_fastest_channel_is_the_measure(model: Model) -> None:
    seldom = [each for each in recording() if each.channel != "temperature" or each.at_ms % 300_000 == 0]
    slow = replace(model, cadence_minutes={"temperature": 5})
    [estimate] = Pipeline(Windows(), {"5A2D": slow}).replay(seldom)
    assert estimate.quality == 1
    assert estimate.minutes == {"op1": 15, "op2": 15, "temperature": 3, "expected": 15}


def test_a_channel_that_said_nothing_has_no_minutes(model: Model) -> None:
    silent = [reading for reading in recording() if reading.channel != "op2"]
    [estimate] = Pipeline(Windows(), {"5A2D": model}).replay(silent)
    assert estimate.minutes == {"op1": 15, "op2": 0, "temperature": 15, "expected": 15}


def test_a_sensor_without_a_model_still_produces_windows() -> None:
    [estimate] = Pipeline(Windows()).replay(recording())
    assert (estimate.value, estimate.quality, estimate.reasons) == (None, 9, ("no_model",))
    assert estimate.inputs["op1"] == pytest.approx(231.7)
    assert estimate.model is None


def test_an_estimate_that_is_not_finite_fails() -> None:
    """A model that blows up is told, not published as a number that JSON cannot hold."""
    endless = make_model(adapter=(1e305, 0.0), domain={})
    [estimate] = Pipeline(Windows(), {"5A2D": endless}).replay(
        [reading._replace(value=reading.value * 1e6) for reading in recording()]
    )
    assert (estimate.value, estimate.quality) == (None, 4)
    assert estimate.reasons == ("value_not_finite",)


def test_a_model_without_an_interval_gives_no_band(model: Model) -> None:
    [estimate] = Pipeline(Windows(), {"5A2D": replace(model, interval=None)}).replay(recording())
    assert (estimate.low, estimate.high, estimate.level) == (None, None, None)
    assert estimate.value is not None


def test_an_interval_grows_with_the_estimate(model: Model) -> None:
    growing = replace(model, interval=Interval(0.1, 0.9, slope=0.5, origin=0.2))
    [estimate] = Pipeline(Windows(), {"5A2D": growing}).replay(recording())
    assert estimate.value is not None
    half_width = 0.1 + 0.5 * (estimate.value - 0.2)
    assert (estimate.low, estimate.high) == pytest.approx(
        (estimate.value - half_width, estimate.value + half_width)
    )


def test_no_interval_is_promised_outside_the_training_data(model: Model) -> None:
    """The value is published and flagged, and the reasons name the input."""
    cold = replace(model, domain={**model.domain, "temperature": (25.0, 40.0)})
    [estimate] = Pipeline(Windows(), {"5A2D": cold}).replay(recording())
    assert estimate.value is not None
    assert (estimate.low, estimate.high, estimate.level) == (None, None, None)
    assert (estimate.quality, estimate.reasons) == (3, ("temperature_outside_training",))


def test_the_clock_is_told_with_the_estimate(model: Model) -> None:
    windows = Windows()
    pipeline = Pipeline(windows, {"5A2D": model})
    for reading in recording():
        windows.add(reading, reading.at_ms, trusted=False)
    [estimate] = pipeline.close(now_ms=START_MS + 2_000_000, synchronised=False)
    assert (estimate.clock, estimate.quality) == ("unsynchronised", 3)
    assert estimate.reasons == ("clock_unsynchronised",)


def test_replay_numbers_estimates_from_one(model: Model) -> None:
    estimates = list(Pipeline(Windows(), {"5A2D": model}).replay(recording(minutes=50)))
    assert [estimate.seq for estimate in estimates] == [1, 2, 3, 4]
