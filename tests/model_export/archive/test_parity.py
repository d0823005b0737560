"""The archive's path gives the agent's own estimates: same windows, minutes, reasons, and values."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.core.messages import Estimate, Reading
from edge_agent.core.model import Interval, Model
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Windows
from model_export.archive.estimates import Estimates, estimate
from model_export.archive.past import Temperatures
from model_export.archive.windows import windows_of
from tests.conftest import make_model, make_warming_model

FIRST_MS = 1_706_745_600_000
CHANNELS = ("op1", "op2", "temperature")
HALF_A_DIGIT = 5e-10  # of the nine decimals that are published

Row = tuple[int, dict[str, float]]  # at_ms, channel -> value


def agents(rows: list[Row], model: Model, length_ms: int = 900_000) -> list[Estimate]:
    """What the agent makes of the rows, one reading after the other."""
    pipeline = Pipeline(Windows(length_ms=length_ms), {model.sensor: model})
    readings = (
        Reading(model.sensor, name, at_ms, values[name])
        for at_ms, values in rows
        for name in CHANNELS
        if name in values
    )
    return [*pipeline.replay(readings)]


def archives(rows: list[Row], model: Model, length_ms: int = 900_000) -> Estimates:
    """What the archive makes of them."""
    at_ms = np.array([at for at, _ in rows], dtype=np.int64)
    columns = {name: np.array([values.get(name, np.nan) for _, values in rows]) for name in CHANNELS}
    return estimate(windows_of(at_ms, columns, length_ms), model)


def require_same(expected: list[Estimate], found: Estimates) -> None:
    """Every field of every estimate."""
    assert [each.start_ms for each in expected] == found.start_ms.tolist()
    for row, each in enumerate(expected):
        reasons = tuple(name for name, mask in found.reasons.items() if mask[row])
        assert (each.quality, each.reasons) == (found.quality[row], reasons)
        minutes = {name: int(counts[row]) for name, counts in found.minutes.items()}
        assert dict(each.minutes) == {**minutes, "expected": found.expected}
        inputs = {name: values[row] for name, values in found.inputs.items() if not np.isnan(values[row])}
        assert dict(each.inputs) == pytest.approx(inputs, rel=1e-15, abs=HALF_A_DIGIT)
        for name in ("value", "low", "high"):
            published = getattr(each, name)
            expected_number = np.nan if published is None else published
            assert getattr(found, name)[row] == pytest.approx(
                expected_number, rel=1e-12, abs=HALF_A_DIGIT, nan_ok=True
            )


def rows_of(gaps_ms: list[int], values: list[tuple[float | None, float | None, float | None]]) -> list[Row]:
    times = (FIRST_MS + np.cumsum(gaps_ms)).tolist()
    named = [
        {name: value for name, value in zip(CHANNELS, row, strict=True) if value is not None}
        for row in values
    ]
    return list(zip(times, named, strict=False))


GAPS = st.one_of(
    st.just(60_000), st.just(0), st.integers(0, 1_000), st.integers(0, 3_000_000), st.just(90_000_000)
)
ELECTRODES = st.one_of(st.floats(150, 330), st.just(200.0), st.none(), st.floats(-1e4, 1e4))
HEAT = st.one_of(st.floats(-30, 60), st.just(20.0), st.none())
ROWS = st.lists(st.tuples(GAPS, st.tuples(ELECTRODES, ELECTRODES, HEAT)), min_size=1, max_size=120)
MODELS = st.sampled_from(
    [
        make_model(),
        make_warming_model(),
        make_warming_model(cadence_minutes={"temperature": 5}),
        make_model(cadence_minutes={"op1": 3, "op2": 3, "temperature": 15}, interval=None),
        make_model(transfer=np.array([[1.1, 0.05, 3.0], [-0.1, 0.9, 11.0]]), adapter=(1.3, -0.2)),
        make_model(
            valid_until_ms=FIRST_MS + 3_600_000,
            transfer=np.array([[1.1, 0.05, 3.0], [-0.1, 0.9, 11.0]]),
            power=0.5,
            interval=Interval(0.1, 0.9, slope=0.2, origin=0.5),
        ),
    ]
)


@settings(max_examples=60)
@given(rows=ROWS, model=MODELS, length_ms=st.sampled_from([900_000, 3_600_000, 600_000, 60_000]))
def test_any_rows_give_the_agents_estimates(
    rows: list[tuple[int, tuple[float | None, float | None, float | None]]], model: Model, length_ms: int
) -> None:
    """Gaps, duplicates, bursts, days without a reading, missing channels: the same estimates."""
    made = rows_of([gap for gap, _ in rows], [values for _, values in rows])
    require_same(agents(made, model, length_ms), archives(made, model, length_ms))


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    lost=st.sampled_from([0.0, 0.05, 0.2, 0.6]),
    model=MODELS,
    jitter=st.booleans(),
)
def test_two_days_give_the_agents_estimates(seed: int, lost: float, model: Model, jitter: bool) -> None:
    """A row a minute, some lost, some with a channel missing, an outage in between."""
    made = two_days(seed, lost, jitter)
    require_same(agents(made, model), archives(made, model))


def two_days(seed: int, lost: float, jitter: bool, minutes: int = 2_880) -> list[Row]:
    rng = np.random.default_rng(seed)
    at_ms = FIRST_MS + 60_000 * np.arange(minutes) + (rng.integers(0, 60_000, minutes) if jitter else 0)
    values = rng.normal([235.0, 205.0, 24.0], [25.0, 12.0, 6.0], (minutes, 3)).round(3)
    values[rng.random((minutes, 3)) < lost] = np.nan
    first, last = sorted(rng.integers(0, minutes, 2))
    values[first : first + (last - first) // 3] = np.nan
    still = rng.integers(0, minutes)
    values[still : still + 60, 0] = 230.0
    return [
        (at, {name: value for name, value in zip(CHANNELS, row, strict=True) if not np.isnan(value)})
        for at, row in zip(at_ms.tolist(), values.tolist(), strict=True)
    ]


def test_means_have_the_agents_bits() -> None:
    """`fsum` and the compensated sums of the archive round alike."""
    made = two_days(seed=1, lost=0.1, jitter=True, minutes=20_000)
    found = archives(made, make_model())
    expected = agents(made, make_model())
    for name in CHANNELS:
        means = [each.inputs.get(name, np.nan) for each in expected]
        np.testing.assert_array_equal(found.inputs[name], means)


def test_the_last_day_of_a_part_serves_the_next() -> None:
    """An archive in parts gives the estimates of the whole."""
    made, model = two_days(seed=7, lost=0.3, jitter=False, minutes=4_320), make_warming_model()
    whole = archives(made, model)
    before, parts = Temperatures.none(), []
    for low, high in pairwise((0, 1_500, 1_515, 2_880, 4_320)):
        at_ms = np.array([at for at, _ in made[low:high]], dtype=np.int64)
        columns = {n: np.array([v.get(n, np.nan) for _, v in made[low:high]]) for n in CHANNELS}
        parts.append(estimate(windows_of(at_ms, columns), model, before))
        before = parts[-1].temperatures
    np.testing.assert_array_equal(np.concatenate([part.quality for part in parts]), whole.quality)
    np.testing.assert_allclose(
        np.concatenate([part.value for part in parts]), whole.value, rtol=0, atol=HALF_A_DIGIT
    )


def test_more_readings_than_the_agent_takes_are_left_out() -> None:
    rows: list[Row] = [
        (FIRST_MS + 400 * n, {"op1": float(n), "op2": 1.0, "temperature": 20.0}) for n in range(2_200)
    ]
    require_same(agents(rows, make_model()), archives(rows, make_model()))


def test_another_auxiliary_channel_than_the_temperature() -> None:
    """A bundle may have weights over any channel; only `warming` needs the temperature."""
    humid = {"op1": (180.0, 300.0), "op2": (170.0, 240.0), "humidity": (8.0, 40.0)}
    model, heat = make_model(auxiliary="humidity", domain=humid), make_model()
    columns = dict(
        zip(CHANNELS, np.random.default_rng(1).normal([[235], [205], [24]], 9, (3, 60)), strict=True)
    )
    at_ms = FIRST_MS + 60_000 * np.arange(60)
    expected = estimate(windows_of(at_ms, columns), heat)
    columns["humidity"] = columns.pop("temperature")
    np.testing.assert_array_equal(estimate(windows_of(at_ms, columns), model).value, expected.value)
