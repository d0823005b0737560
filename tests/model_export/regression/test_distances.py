"""Quantiles of pairwise distances against the pairs written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from model_export.regression.distances import length_scale_quantile


@given(
    z=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=120),
    q=st.floats(0.0, 1.0),
    decimals=st.sampled_from([0, 2, 12]),
)
def test_it_is_the_quantile_of_all_pairs(z: list[float], q: float, decimals: int) -> None:
    """Repeated temperatures included, where many distances tie."""
    values = np.round(z, decimals)
    expected = np.quantile(pdist(values[:, None]), q)
    assert length_scale_quantile(values, q) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_it_needs_no_list_of_pairs() -> None:
    """Half a million temperatures have 125 thousand million pairs; a normal's median distance is 0.9539."""
    z = np.random.default_rng(0).normal(size=500_000)
    assert length_scale_quantile(z, 0.5) == pytest.approx(0.9539, abs=0.003)


def test_many_ties_end_the_bisection() -> None:
    """All windows at two temperatures: most distances are exactly 0 or 1."""
    z = np.repeat([0.0, 1.0], 1000)
    assert [length_scale_quantile(z, q) for q in (0.1, 0.9)] == [0.0, 1.0]
