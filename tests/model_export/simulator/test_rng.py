"""Named streams and autocorrelated noise."""

import numpy as np
import pytest

from model_export.simulator.rng import smoothed, stream, wander


def test_a_stream_depends_on_its_seed_and_its_whole_name() -> None:
    """Parts never share bits unless they are the same part of the same seed."""
    parts = [("air", "T-W"), ("air", "T-S"), ("air",), ("van", "T-W")]
    names = [(2, parts[0]), *((1, part) for part in parts)]
    draws = [stream(seed, *parts).random(4).tobytes() for seed, parts in names]
    assert len(set(draws)) == len(names)
    assert draws[1] == stream(1, "air", "T-W").random(4).tobytes()


@pytest.mark.parametrize("memory", [3, 40, 700])
def test_a_wander_has_variance_one_and_forgets(memory: int) -> None:
    """Whatever its memory: mean 0, variance 1, much alike after a tenth of it, unlike after ten."""
    paths = np.array([wander(stream(n, "wander"), 20 * memory, memory) for n in range(400)])
    first, soon, late = paths[:, 0], paths[:, memory // 10 + 1], paths[:, 10 * memory]
    assert abs(first.mean()) < 0.15
    assert np.var(paths[:, [0, 5 * memory, -1]], axis=0) == pytest.approx(1.0, abs=0.25)
    assert np.corrcoef(first, soon)[0, 1] > 0.9
    assert abs(np.corrcoef(first, late)[0, 1]) < 0.15


def test_smoothing_follows_a_step_as_the_exponential_does() -> None:
    """1 - exp(-t/memory) after t minutes, and a constant stays itself."""
    step = np.r_[0.0, np.ones(60)]
    assert smoothed(step, 10.0)[1:] == pytest.approx(1 - np.exp(-np.arange(1, 61) / 10.0))
    assert smoothed(np.full(50, 7.5), 10.0) == pytest.approx(7.5)
