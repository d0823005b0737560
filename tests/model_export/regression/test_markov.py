"""The Markov process behind each Matérn kernel is that kernel."""

import numpy as np
import pytest

from edge_agent.core.kernel import KERNELS
from model_export.regression.markov import ORDERS, Process, place_nodes

GAPS = np.array([0.0, 1e-6, 1e-3, 0.1, 1.0, 3.0, 20.0])


@pytest.mark.parametrize("kernel", ORDERS)
def test_the_covariance_over_a_gap_is_the_kernel(kernel: str) -> None:
    """cov(f(0), f(t)) is the kernel at t, in the process's own unit of time."""
    process = Process(ORDERS[kernel])
    covariance = process.transition(GAPS)[:, 0] @ process.stationary[:, 0]
    expected = KERNELS[kernel](GAPS / np.sqrt(2 * process.order - 1))
    np.testing.assert_allclose(covariance, expected, atol=1e-14)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_noise_keeps_the_process_stationary(order: int) -> None:
    """transition·P·transitionᵀ + noise = P."""
    process = Process(order)
    carried = process.transition(GAPS) @ process.stationary @ np.swapaxes(process.transition(GAPS), 1, 2)
    np.testing.assert_allclose(carried + process.noise(GAPS) - process.stationary, 0.0, atol=1e-14)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_two_gaps_in_a_row_are_one_gap(order: int) -> None:
    """The noise of a + b is that of a carried over b, plus that of b, precisely even for tiny gaps."""
    process, a, b = Process(order), np.array([1e-5, 2e-3, 0.7]), np.array([3e-5, 1e-3, 2.0])
    over = process.transition(b)
    both = over @ process.noise(a) @ np.swapaxes(over, 1, 2) + process.noise(b)
    np.testing.assert_allclose(process.noise(a + b), both, rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_every_window_lies_between_two_nodes_that_keep_their_distance(order: int) -> None:
    """Nodes closer than the grid would be ill-conditioned, and a window outside them could not be read."""
    times = np.random.default_rng(0).normal(size=500).round(2)
    nodes = place_nodes(times, order)
    assert nodes[0] < times.min()
    assert nodes[-1] > times.max()
    assert np.diff(nodes).min() > 0.9e-8
    assert len(nodes) <= 2 * len(np.unique(times)) + 2
