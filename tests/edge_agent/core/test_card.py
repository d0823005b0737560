"""The card: a model for people, in JSON."""

import json

import pytest

from edge_agent.core.card import POINTS, card
from edge_agent.core.model import Model
from tests.conftest import make_model


def test_curves_are_the_weights_over_the_training_temperatures(model: Model) -> None:
    curves = card(model)["curves"]
    assert curves["temperature"][0] == 8.0
    assert curves["temperature"][-1] == 40.0
    for place in (0, 17, POINTS - 1):
        expected = model.weights([curves["temperature"][place]])[0]
        assert [curves[name][place] for name in ("op1", "op2", "bias")] == pytest.approx(expected, rel=1e-4)


def test_a_card_is_json_and_small(model: Model) -> None:
    assert len(json.dumps(card(model))) < 3_000


def test_a_model_without_domain_or_interval_has_a_card_too() -> None:
    told = card(make_model(domain={}, interval=None))
    assert told["interval"] is None
    assert told["curves"]["temperature"][0] == pytest.approx(24.3 - 2 * 6.2)
