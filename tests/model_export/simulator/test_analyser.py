"""The reference: means of the right minutes, a moved zero, and outliers at the asked rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_export.simulator.analyser import NOISE, Analyser, draw_analyser, measure, spoil
from model_export.simulator.rng import stream


def test_a_reading_is_the_mean_of_its_own_fifteen_minutes() -> None:
    """One hour of 1, 2, 3, 4 ppm, a quarter each, reads 1, 2, 3, 4 within the instrument's noise."""
    readings = measure(stream(1, "noise"), Analyser(), np.repeat([1.0, 2.0, 3.0, 4.0], 15))
    assert readings == pytest.approx([1.0, 2.0, 3.0, 4.0], abs=5 * NOISE)


def test_zero_and_gain_shift_the_readings() -> None:
    """reading = gain·CO + zero, with the same noise."""
    co = np.linspace(0.2, 3.0, 1_500)
    true = measure(stream(1, "noise"), Analyser(), co)
    moved = measure(stream(1, "noise"), Analyser(zero=0.3, gain=1.05), co)
    means = co.reshape(-1, 15).mean(axis=1)
    assert moved - true == pytest.approx(0.3 + 0.05 * means)


def test_moves_leave_shifts_of_a_tenth_of_a_ppm_or_so() -> None:
    """Large enough that an adapter helps, small enough for a reference."""
    zeros = [draw_analyser(stream(n, "move")).zero for n in range(500)]
    assert 0.08 < np.std(zeros) < 0.12
    assert np.max(np.abs(zeros)) < 0.5


@given(st.floats(0.0, 0.5), st.integers(0, 400), st.integers(0, 2**32))
def test_exactly_the_asked_share_is_spoilt_and_nothing_else(rate: float, n: int, seed: int) -> None:
    """Every outlier is listed, and every other reading is unchanged, also missing ones."""
    reference = np.where(np.arange(n) % 7 == 0, np.nan, 1.0)
    spoilt, where = spoil(stream(seed, "outliers"), reference, rate)
    present = ~np.isnan(reference)
    assert where.sum() == round(rate * present.sum())
    assert not where[~present].any()
    assert np.array_equal(spoilt[~where], reference[~where], equal_nan=True)
    assert np.all(np.abs(spoilt[where] - 1.0) > 0.1)
