"""The theorem by simulation: what it promises is recovered, and more breaks the fit."""

import json
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from edge_agent.core.kernel import gram
from model_export.cli.main import main
from model_export.experiment.breakdown import (
    ADVERSARIES,
    BANDWIDTH,
    Limit,
    Point,
    attack,
    error,
    limits,
    make_world,
    slopes,
    sweep,
)


@pytest.mark.parametrize("n", [100, 300])
def test_the_truth_lies_in_the_top_eigenvectors_of_the_whole_matrix(n: int) -> None:
    """F by its definition, N x N, with the same channels."""
    world = make_world(n, seed=0)
    x = np.random.default_rng([n, 0])
    z, channels = x.uniform(0.0, 1.0, n), x.uniform(1.0, 2.0, (n, 2))
    np.testing.assert_array_equal(z, world.z)
    F = gram("rbf", BANDWIDTH, z, z) * (1.0 + channels @ channels.T)
    _, vectors = np.linalg.eigh(F)
    top = vectors[:, -world.top.shape[1] :]
    np.testing.assert_allclose(top @ (top.T @ world.truth), world.truth, atol=1e-8)
    assert world.truth.std() == pytest.approx(1.0)


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_an_adversary_corrupts_exactly_k_targets(adversary: str) -> None:
    world = make_world(200, seed=1)
    corruption = attack(world, adversary, 17, seed=0)
    assert np.count_nonzero(corruption) == 17
    assert set(corruption) == ({-1.0, 0.0, 1.0} if "either" in adversary else {0.0, 1.0})


def test_places_are_what_they_say() -> None:
    world = make_world(200, seed=1)
    assert world.z[attack(world, "clustered", 20, 0) != 0.0].min() > np.quantile(world.z, 0.89)
    leverages = np.sum(world.top**2, axis=1)
    hit = attack(world, "leverage", 20, 0) != 0.0
    assert leverages[hit].min() >= leverages[~hit].max()


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("n", [200, 1000])
def test_the_theorems_step_survives_sqrt_n_of_any_adversary(adversary: str, n: int) -> None:
    """k = sqrt(N), N from the theorem's smallest constant up, to 1e-5 of a standard deviation."""
    k = round(sqrt(n))
    for seed in range(3):
        world = make_world(n, seed)
        assert error(world, world.project, attack(world, adversary, k, seed), k) < 1e-5


@pytest.mark.parametrize("step", ["projection", "ridge"])
def test_nearly_half_of_the_targets_side_by_side_are_too_many(step: str) -> None:
    """The fit follows a cluster of 45 %."""
    world = make_world(500, seed=0)
    assert error(world, world.steps[step], attack(world, "clustered", 225, 0), 225) > 0.5


def test_limits_stop_at_the_first_failure() -> None:
    """A later recovery is chance."""

    def point(k: int, recovered: float) -> Point:
        return Point("ridge", "scattered", 100, k, k / 100, 0.0, recovered)

    found = limits([point(1, 1.0), point(5, 1.0), point(10, 0.8), point(20, 1.0)])
    assert found == [Limit("ridge", "scattered", 100, 5, 0.05, 10.0)]


def test_a_linear_breakdown_point_has_exponent_one() -> None:
    found = [Limit("ridge", "scattered", n, n // 10, 0.1, sqrt(n)) for n in (100, 1000, 5000)]
    assert slopes(found) == {"ridge": {"scattered": pytest.approx(1.0)}}


def test_what_never_broke_is_no_breakdown_point() -> None:
    """The largest k is a share of N, so its exponent would always be 1."""
    points = [
        Point("ridge", adversary, n, k, k / n, 0.0, recovered)
        for n in (100, 1000)
        for adversary, last in (("scattered", 1.0), ("leverage", 0.0))
        for k, recovered in ((n // 10, 1.0), (n // 5, last))
    ]
    found = limits(points)
    assert [(one.adversary, one.n, one.k, one.censored) for one in found] == [
        ("scattered", 100, 20, True),
        ("leverage", 100, 10, False),
        ("scattered", 1000, 200, True),
        ("leverage", 1000, 100, False),
    ]
    assert slopes(found) == {"ridge": {"leverage": pytest.approx(1.0)}}


def test_a_sweep_is_the_same_every_time() -> None:
    first, second = (sweep(sizes=(100,), fractions=(0.1, 0.3), seeds=1) for _ in range(2))
    assert first == second
    assert len(first) == 2 * 2 * len(ADVERSARIES)


def test_the_command_tells_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["breakdown", "--sizes", "100,200", "--seeds", "1", "--plot", str(tmp_path / "b.png")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {row["n"] for row in told["breakdown"]} == {100, 200}
    assert all(row["sqrt_n"] == pytest.approx(sqrt(row["n"]), rel=1e-5) for row in told["breakdown"])
    censored = {row["adversary"] for row in told["breakdown"] if row["censored"]}
    assert "scattered, either sign" in censored
    assert "clustered" not in censored
    assert "scattered, either sign" not in told["exponents"]["projection"]
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("sizes", ["10", "a", ""])
def test_too_few_windows_is_a_usage_error(sizes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["breakdown", "--sizes", sizes]) == 2
    assert "expected numbers from 50" in capsys.readouterr().err
