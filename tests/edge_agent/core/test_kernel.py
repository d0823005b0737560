"""Kernels: the textbook's formulas, and what makes a kernel a kernel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core.kernel import KERNELS, gram

Z = np.linspace(-3.0, 3.0, 25)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_equals_the_one_of_scikit_learn(name: str) -> None:
    kernels = pytest.importorskip("sklearn.gaussian_process.kernels", reason="needs the trainer's libraries")
    smoothness = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}
    textbook = kernels.RBF(0.7) if name == "rbf" else kernels.Matern(0.7, nu=smoothness[name])
    expected = textbook(Z[:, None], Z[:, None])
    np.testing.assert_allclose(gram(name, 0.7, Z, Z), expected, atol=1e-12)


@given(
    name=st.sampled_from(sorted(KERNELS)),
    length_scale=st.floats(0.05, 10.0),
    z=st.lists(st.floats(-4, 4), min_size=1, max_size=12),
)
def test_a_gram_matrix_is_symmetric_and_positive(name: str, length_scale: float, z: list[float]) -> None:
    K = gram(name, length_scale, z, z)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-8
