"""The model: parity with the formula written out, and folding that changes nothing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.kernel import KERNELS, gram
from edge_agent.core.model import Model, Scale
from tests.conftest import make_model


def written_out(model: Model, inputs: np.ndarray, auxiliary: np.ndarray) -> np.ndarray:
    """y = gain·(Σ wᵢ(z)·xᵢ + b(z)) + offset, step by step in standardised quantities."""
    if model.transfer is not None:
        inputs = inputs @ model.transfer[:, :-1].T + model.transfer[:, -1]
    x = np.column_stack([(inputs[:, i] - s.centre) / s.spread for i, s in enumerate(model.channel_scales)])
    held = np.minimum(np.maximum(auxiliary, model.hold[0]), model.hold[1])
    z = (held - model.auxiliary_scale.centre) / model.auxiliary_scale.spread
    K = gram(model.kernel, model.length_scale, z, model.support)
    w = K @ model.coefficients.T + np.column_stack([np.ones_like(z), z]) @ model.trend.T
    y = (w[:, :-1] * x).sum(axis=1) + w[:, -1]
    gain, offset = model.adapter
    return np.asarray(gain * (y * model.target_scale.spread + model.target_scale.centre) + offset)


def variants() -> st.SearchStrategy[Model]:
    return st.builds(
        make_model,
        kernel=st.sampled_from(sorted(KERNELS)),
        length_scale=st.floats(0.05, 5.0),
        seed=st.integers(0, 1000),
        support=st.integers(0, 40),
        adapter=st.tuples(st.floats(0.5, 2.0), st.floats(-1.0, 1.0)),
        hold=st.sampled_from([Model.hold, (12.0, 33.0)]),
        transfer=st.sampled_from([None, np.array([[1.1, -0.05, 3.0], [0.02, 0.9, -4.0]])]),
    )


@given(model=variants(), seed=st.integers(0, 1000))
def test_predictions_equal_the_formula_written_out(model: Model, seed: int) -> None:
    """Scaling, transfer and adapter folded into raw weights give the same estimate."""
    rng = np.random.default_rng(seed)
    inputs, auxiliary = rng.normal([230.0, 206.0], [20.0, 11.0], (9, 2)), rng.uniform(5.0, 45.0, 9)
    expected = written_out(model, inputs, auxiliary)
    np.testing.assert_allclose(model.predict(inputs, auxiliary), expected, atol=1e-9)


@given(model=variants(), seed=st.integers(0, 1000), power=st.sampled_from([1.0, 0.25, 3.0]))
def test_one_window_gets_the_estimate_and_the_weights_of_many(model: Model, seed: int, power: float) -> None:
    """The agent's way for one window, and the way for all windows of an archive."""
    rng, bent = np.random.default_rng(seed), replace(model, power=power)
    inputs, temperature = rng.normal([230.0, -206.0], [20.0, 11.0]), float(rng.uniform(5.0, 45.0))
    value, weights = bent.explain(inputs.tolist(), temperature)
    [expected], [raw] = bent.predict([inputs], [temperature]), bent.weights([temperature])
    np.testing.assert_allclose(weights, raw, rtol=1e-12, atol=1e-12)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-12 * np.abs(raw[:-1] * inputs**3).max())


def test_a_power_that_overflows_is_infinite() -> None:
    """As in the way for many windows; the agent flags such a value."""
    value, _ = make_model(power=3.0).explain([1e200, 1.0], 20.0)
    assert np.isinf(value)


def test_the_weights_returned_are_the_weights_used(model: Model) -> None:
    """A consumer who multiplies the published weights with the published inputs gets the estimate."""
    [value], [(w1, w2, bias)] = model.predict([[231.4, 206.1]], [24.3]), model.weights([24.3])
    assert value == pytest.approx(w1 * 231.4 + w2 * 206.1 + bias, rel=1e-12)


def test_the_weights_stay_outside_the_temperatures_learnt_from() -> None:
    """However cold or hot it gets, the weights are those of the nearest temperature that was seen."""
    model = make_model(hold=(8.0, 40.0))
    expected = model.weights([8.0, 8.0, 8.1, 40.0, 40.0])
    np.testing.assert_array_equal(model.weights([-30.0, 7.9, 8.1, 40.1, 90.0]), expected)


@pytest.mark.parametrize("d", [1, 3])
def test_any_number_of_channels_works(d: int) -> None:
    model = make_model(
        channels=tuple(f"x{i}" for i in range(d)),
        channel_scales=(Scale(1.0, 2.0),) * d,
        coefficients=np.ones((d + 1, 32)),
        trend=np.ones((d + 1, 2)),
    )
    inputs, auxiliary = np.full((4, d), 1.5), np.array([10.0, 20.0, 30.0, 40.0])
    np.testing.assert_allclose(model.predict(inputs, auxiliary), written_out(model, inputs, auxiliary))


def test_arrays_are_held_at_the_precision_of_a_bundle(model: Model) -> None:
    again = replace(model, support=model.support + 1e-9)
    np.testing.assert_array_equal(again.support, model.support)
    with pytest.raises(ValueError, match="read-only"):
        model.support[0] = 1.0


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"coefficients": np.ones((2, 32))}, r"coefficients: expected shape \(3, 32\), got \(2, 32\)"),
        ({"trend": np.ones((3, 1))}, r"trend: expected shape \(3, 2\), got \(3, 1\)"),
        ({"transfer": np.eye(2)}, r"transfer: expected shape \(2, 3\), got \(2, 2\)"),
        ({"channel_scales": (Scale(0.0, 1.0),)}, "2 channels need as many scales, got 1"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make_model(**changes)


def test_departures_count_widths_of_the_training_range(model: Model) -> None:
    inputs = {"op1": 360.0, "op2": 205.0, "temperature": 0.0}
    assert model.departures(inputs) == {"op1": 0.5, "op2": 0.0, "temperature": 0.25}


def test_departures_are_judged_after_the_transfer() -> None:
    """Another sensor's raw millivolts mean nothing to the trained range before they are mapped."""
    model = make_model(transfer=np.array([[1.0, 0.0, 100.0], [0.0, 1.0, 0.0]]))
    departures = model.departures({"op1": 130.0, "op2": 205.0, "temperature": 24.0})
    assert departures == {"op1": 0.0, "op2": 0.0, "temperature": 0.0}
