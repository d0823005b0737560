"""Pivoted Cholesky: few columns, the whole matrix."""

import numpy as np
import pytest

from edge_agent.core.kernel import gram
from model_export.regression.lowrank import TOLERANCE, pivot


@pytest.mark.parametrize("length_scale", [0.1, 1.0, 10.0])
def test_the_factor_gives_back_the_gram_matrix(length_scale: float) -> None:
    z = np.unique(np.random.default_rng(0).normal(size=300))
    landmarks, factor = pivot("rbf", length_scale, z)
    np.testing.assert_allclose(factor @ factor.T, gram("rbf", length_scale, z, z), atol=2 * TOLERANCE)
    assert len(landmarks) == factor.shape[1]


def test_the_rank_does_not_grow_with_the_number_of_windows() -> None:
    """That is what makes RBF fits linear in N."""
    ranks = [len(pivot("rbf", 1.0, np.linspace(-3.0, 3.0, count))[0]) for count in (100, 1000, 10_000)]
    assert ranks[2] <= ranks[0] + 2
    assert ranks[0] < 30


def test_a_landmark_is_never_taken_twice() -> None:
    landmarks, _ = pivot("rbf", 1e-3, np.linspace(0.0, 1.0, 50))
    assert sorted(landmarks) == np.linspace(0.0, 1.0, 50).tolist()
