"""A reference beside the van: any bytes are a reading or an error, the figures are those of the pairs."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from edge_agent.core.colocation import Colocation, score_record
from edge_agent.core.errors import BadReading
from edge_agent.core.messages import UNSTAMPED, Estimate, Reading, decode_estimate, encode_estimate
from edge_agent.core.reference import decode_reference
from edge_agent.core.windows import ChannelMean

TOPIC = "reference/{gas}"
WINDOW_MS = 900_000


def reference(mean: float, minutes: int = 15) -> ChannelMean:
    return ChannelMean(mean, minutes, minutes, mean, mean)


def estimate(window: int, value: float | None, sensor: str = "5A2D", **changes: Any) -> Estimate:
    ends: dict[str, Any] = {} if value is None else {"low": value - 0.1, "high": value + 0.1, "level": 0.9}
    made = Estimate(sensor, window * WINDOW_MS, (window + 1) * WINDOW_MS, 1, (), {}, {})
    fields: dict[str, Any] = {
        "clock": "synchronised",
        "value": value,
        "gas": "CO",
        "unit": "ppm",
        "model": "sha256:1",
        **ends,
    }
    return replace(made, **{**fields, **changes})


def stood(values: list[float], errors: list[float]) -> Colocation:
    """Windows of a reference and of one sensor."""
    colocation = Colocation("ppm")
    for window, (value, error) in enumerate(zip(values, errors, strict=True)):
        colocation.add_reference("co", window * WINDOW_MS, reference(value))
        colocation.add_estimate(estimate(window, value + error))
    return colocation


@pytest.mark.parametrize(
    ("topic", "payload", "expected"),
    [
        ("reference/co", b"0.83", ("co", UNSTAMPED, 0.83)),
        ("reference/CO", b'{"value": 0.83, "at": "2024-02-01T10:15:30Z"}', ("co", 1_706_782_530_000, 0.83)),
        ("reference/o3", b"\x81\xa5value\x01", ("o3", UNSTAMPED, 1.0)),
    ],
)
def test_a_value_becomes_a_reading(topic: str, payload: bytes, expected: tuple[Any, ...]) -> None:
    assert decode_reference(TOPIC, topic, payload) == Reading("reference", *expected)


@pytest.mark.parametrize(
    ("topic", "payload", "kind"),
    [
        ("reference/co/ppm", b"1", "topic"),
        ("reference/", b"1", "topic"),
        ("sensors/co", b"1", "topic"),
        ("reference/co", b"nan", "number"),
        ("reference/co", b'{"at": 1706782530}', "number"),
        ("reference/co", b'{"value": 1, "at": "soon"}', "time"),
        ("reference/co", b"[" * 9_000, "size"),
        ("reference/co", b"[" * 900, "payload"),
        ("reference/co", b"", "payload"),
    ],
)
def test_anything_else_is_refused(topic: str, payload: bytes, kind: str) -> None:
    with pytest.raises(BadReading) as caught:
        decode_reference(TOPIC, topic, payload)
    assert caught.value.kind == kind


def test_the_figures_are_those_of_the_pairs() -> None:
    """Beside numpy: bias, RMSE, R² and the share of references in the interval."""
    random = np.random.default_rng(1)
    values, errors = random.normal(1.0, 0.3, 40), random.normal(0.02, 0.06, 40)
    [score] = stood(values.tolist(), errors.tolist()).scores()
    assert score_record(score, "van-1") == {
        "v": 1,
        "agent": "van-1",
        "sensor": "5A2D",
        "gas": "CO",
        "from": "1970-01-01T00:00:00Z",
        "to": "1970-01-01T10:00:00Z",
        "windows": 40,
        "bias": pytest.approx(errors.mean()),
        "rmse": pytest.approx(np.sqrt((errors**2).mean())),
        "unit": "ppm",
        "r2": pytest.approx(1.0 - (errors**2).sum() / ((values - values.mean()) ** 2).sum(), abs=1e-6),
        "coverage": pytest.approx((abs(errors) <= 0.1).mean()),
        "level": 0.9,
        "model": "sha256:1",
    }


def test_a_score_is_of_the_last_day_with_a_reference_and_stays() -> None:
    """96 windows; what a sensor estimates after the reference has left does not end the score."""
    colocation = stood([1.0] * 20 + [2.0] * 96, [0.5] * 20 + [0.0] * 96)
    for window in range(116, 400):
        colocation.add_estimate(estimate(window, 9.9))
    [score] = colocation.scores()
    assert (score.windows, score.from_ms, score.bias, score.r2) == (96, 20 * WINDOW_MS, 0.0, None)


def test_an_estimate_may_come_before_its_reference_and_be_revised() -> None:
    """The order changes nothing, and the newest revision counts."""
    colocation = Colocation("ppm")
    for window in range(4):
        colocation.add_estimate(estimate(window, 3.0))
        colocation.add_estimate(estimate(window, 1.5 + window))
        colocation.add_reference("co", window * WINDOW_MS, reference(1.0 + window))
    assert [score.bias for score in colocation.scores()] == [0.5]
    colocation.add_estimate(estimate(3, None))
    assert colocation.scores() == []


def test_the_estimates_of_a_day_take_little_memory() -> None:
    """Decoded, so that no two share a name: 290 bytes each, where a whole Estimate takes 1200 or more."""
    fields: dict[str, Any] = {
        "inputs": {"op1": 231.4, "op2": 206.1},
        "reasons": ("calibration_old",),
        "quality": 3,
    }
    payloads = [encode_estimate(estimate(n, 1.0 + n, **fields)) for n in range(96)]
    colocation = Colocation("ppm")
    tracemalloc.start()
    for payload in payloads:
        colocation.add_estimate(decode_estimate(payload))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / 96 < 400


def test_a_revision_that_is_older_than_a_day_still_counts() -> None:
    """The reference has left, and the sensor has estimates of many later windows."""
    colocation = stood([1.0, 2.0, 3.0, 4.0], [0.0] * 4)
    for window in range(4, 200):
        colocation.add_estimate(estimate(window, 9.9))
    colocation.add_estimate(estimate(0, 1.4))
    assert [(score.windows, round(score.bias, 9)) for score in colocation.scores()] == [(4, 0.1)]


@pytest.mark.parametrize(
    "changes",
    [{"quality": 4}, {"clock": "unsynchronised"}, {"unit": "V"}, {"gas": "O3"}, {"model": "sha256:old"}],
)
def test_windows_that_say_nothing_are_left_out(changes: dict[str, Any]) -> None:
    """Four sound windows come last, so the model of the first is an old one."""
    colocation = Colocation("ppm")
    for window in range(8):
        colocation.add_reference("co", window * WINDOW_MS, reference(1.0))
        colocation.add_estimate(estimate(window, 1.0, **(changes if window < 4 else {})))
    assert [(score.windows, score.from_ms) for score in colocation.scores()] == [(4, 4 * WINDOW_MS)]


def test_a_window_needs_three_quarters_of_the_references_minutes() -> None:
    """The fullest window says how often the reference sends: here every five minutes."""
    colocation = Colocation("ppm")
    for window, minutes in enumerate((3, 3, 2, 3, 1, 3)):
        colocation.add_reference("co", window * WINDOW_MS, reference(1.0, minutes))
        colocation.add_estimate(estimate(window, 1.0))
    assert [score.windows for score in colocation.scores()] == [4]


def test_a_reference_in_another_unit_is_converted() -> None:
    colocation = Colocation("ppb")
    for window in range(4):
        colocation.add_reference("co", window * WINDOW_MS, reference(1_000.0 + window))
        colocation.add_estimate(estimate(window, 1.5))
    assert [round(score.bias, 3) for score in colocation.scores()] == [0.498]  # ppm


def test_a_score_is_computed_again_only_when_its_windows_change() -> None:
    """Health and the topics need all scores, every minute."""
    colocation = stood([1.0, 2.0, 3.0, 4.0], [0.1] * 4)
    for window in range(4):
        colocation.add_estimate(estimate(window, 1.0 + window, sensor="B5FF"))
    first, second = colocation.scores()
    assert [each is before for each, before in zip(colocation.scores(), (first, second), strict=True)] == [
        True,
        True,
    ]
    colocation.add_estimate(estimate(3, 4.5))
    changed, same = colocation.scores()
    assert (round(changed.bias, 3), same is second) == (0.2, True)
    colocation.add_reference("co", 3 * WINDOW_MS, reference(5.0))
    assert [round(each.bias, 3) for each in colocation.scores()] == [-0.05, -0.25]
