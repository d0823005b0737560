"""Figures of agreement, beside scikit-learn's."""

from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score  # type: ignore[import-untyped]

from model_export.calibration.fit import evaluate
from model_export.regression.metrics import r2, score
from tests.support.models import drawn, linear


@given(st.integers(2, 50), st.integers(0, 2**32 - 1))
def test_figures_agree_with_scikit_learn(n: int, seed: int) -> None:
    """R², RMSE and MAE are the usual ones; bias is the mean of estimate minus reference."""
    random = np.random.default_rng(seed)
    reference, estimate = random.normal(size=n), random.normal(size=n)
    actual = score(reference, estimate, half_width=1.0)
    expected = (
        r2_score(reference, estimate),
        sqrt(mean_squared_error(reference, estimate)),
        mean_absolute_error(reference, estimate),
        (estimate - reference).mean(),
        np.mean(np.abs(estimate - reference) <= 1.0),
    )
    assert expected == pytest.approx((actual.r2, actual.rmse, actual.mae, actual.bias, actual.coverage))


def test_undefined_figures_are_nan() -> None:
    """R² of a constant reference, coverage without an interval, every figure of no windows."""
    assert isnan(r2(np.full(3, 0.1), np.arange(3.0)))  # whose mean is not quite 0.1
    assert isnan(score(np.arange(3.0), np.arange(3.0)).coverage)
    empty = score(np.array([]), np.array([]), 1.0)
    assert (empty.n, isnan(empty.r2) and isnan(empty.rmse) and isnan(empty.coverage)) == (0, True)


def test_a_model_is_evaluated_as_the_agent_serves_it() -> None:
    """Its own data gives R² 1; coverage comes from its interval."""
    actual = evaluate(linear(half_width=0.1), drawn(200))
    assert (actual.n, actual.r2, actual.coverage) == pytest.approx((200, 1.0, 1.0))
    assert isnan(evaluate(linear(), drawn(200)).coverage)
