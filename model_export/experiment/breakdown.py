"""The paper's theorem by simulation: how many corrupted targets the robust fit survives.

The data are those of the theorem: z uniform on [0, 1], two channels in [1, 2], the RBF kernel, and true
targets y* = Fβ* with β* in the span of the top s eigenvectors of F. The adversary knows all of this. It
corrupts k targets by a multiple of their standard deviation, and the worst multiple counts. The theorem's
interval of bandwidths, [sqrt(40/log N), 1], is empty below N = exp(40), so its upper end is used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from model_export.regression.form import regressors
from model_export.regression.lowrank import pivot
from model_export.regression.respire import apis
from model_export.regression.solver import Ridge, functions

BANDWIDTH = 1.0
FRACTIONS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
STRENGTHS = (1.0, 3.0, 10.0)  # standard deviations of the true targets
RIDGE = 1e-3
TOLERANCE = 0.05  # standard deviations, too: the root mean square error that counts as recovered
ROUNDS = 500

Regress = Callable[[Array], Array]


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Data of the theorem's kind, and the two regression steps."""

    z: Array  # (n,)
    truth: Array  # (n,)
    top: Array  # (n, s): the top eigenvectors of F
    ridge: Ridge

    def project(self, target: Array) -> Array:
        """The theorem's step: the projection on the top eigenvectors."""
        return np.asarray(self.top @ (self.top.T @ target))

    @property
    def steps(self) -> Mapping[str, Regress]:
        """The theorem's step, and RESPIRE's."""
        return {"projection": self.project, "ridge": self.ridge}


@dataclass(frozen=True, slots=True)
class Point:
    """The result of one step against k corruptions, over several worlds."""

    step: str
    adversary: str
    n: int
    k: int
    fraction: float
    error: float  # median over worlds of the worst strength, in standard deviations
    recovered: float  # share of the worlds


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest k tried up to which every world was recovered."""

    step: str
    adversary: str
    n: int
    k: int
    fraction: float
    sqrt_n: float
    censored: bool = False  # every k was recovered, so the breakdown point is higher


def make_world(n: int, seed: int) -> World:
    """A world whose truth is in the span of s = log N / log log N eigenvectors."""
    rng = np.random.default_rng([n, seed])
    z, x = rng.uniform(0.0, 1.0, n), rng.uniform(1.0, 2.0, (n, 2))
    u = regressors(x)
    _, factor = pivot("rbf", BANDWIDTH, z)
    features = (factor[:, :, None] * u[:, None, :]).reshape(n, -1)  # F = features @ features.T
    vectors, singular, _ = np.linalg.svd(features, full_matrices=False)
    s = ceil(log(n) / log(log(n)))
    truth = vectors[:, :s] @ (singular[:s] ** 2 * rng.standard_normal(s))
    ridge = Ridge(functions("rbf", BANDWIDTH, z, u), z, u, RIDGE, 0.0)
    return World(z, truth / truth.std(), vectors[:, :s], ridge)


def scattered(world: World, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """At random."""
    return rng.choice(len(world.z), k, replace=False)


def leverage(world: World, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Where one target moves the fit most."""
    return np.argsort(-np.sum(world.top**2, axis=1), kind="stable")[:k]


def clustered(world: World, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Side by side at the end of the range, where no other targets are."""
    return np.argsort(-world.z, kind="stable")[:k]


PLACES = {"scattered": scattered, "leverage": leverage, "clustered": clustered}
ADVERSARIES = ("scattered, either sign", *PLACES)  # the others all push the same way


def attack(world: World, adversary: str, k: int, seed: int) -> Array:
    """The corruption for a strength of 1, (n,), k entries of ±1."""
    rng = np.random.default_rng([len(world.z), k, seed])
    place, _, either = adversary.partition(", ")
    where = PLACES[place](world, k, rng)
    corruption = np.zeros(len(world.z))
    corruption[where] = rng.choice([-1.0, 1.0], k) if either else 1.0
    return corruption


def error(world: World, regress: Regress, corruption: Array, k: int) -> float:
    """The root mean square error of the worst strength, in standard deviations."""
    return max(
        sqrt(np.mean((_fitted(regress, world.truth + strength * corruption, k) - world.truth) ** 2))
        for strength in STRENGTHS
    )


def _fitted(regress: Regress, target: Array, k: int) -> Array:
    return apis(regress, target, k / len(target), eta=1.0, rounds=ROUNDS).fitted


def sweep(
    sizes: Sequence[int],
    seeds: int,
    fractions: Sequence[float] = FRACTIONS,
    progress: Callable[[float, float], None] | None = None,
) -> list[Point]:
    """Every size, adversary, fraction and step."""
    points: list[Point] = []
    for number, n in enumerate(sizes):
        worlds = [make_world(n, seed) for seed in range(seeds)]
        points += _of_size(worlds, [max(1, round(fraction * n)) for fraction in fractions])
        if progress:
            progress(sum(sizes[: number + 1]), sum(sizes))
    return points


def _of_size(worlds: Sequence[World], counts: Sequence[int]) -> Iterator[Point]:
    n = len(worlds[0].z)
    for step in worlds[0].steps:
        for adversary in ADVERSARIES:
            for k in sorted(set(counts)):
                errors = [
                    error(world, world.steps[step], attack(world, adversary, k, seed), k)
                    for seed, world in enumerate(worlds)
                ]
                recovered = float(np.mean(np.array(errors) <= TOLERANCE))
                yield Point(step, adversary, n, k, k / n, float(np.median(errors)), recovered)


def limits(points: Sequence[Point]) -> list[Limit]:
    """The empirical breakdown point of each step, adversary and size; 0 where no k was recovered."""
    found = []
    for step, adversary, n in dict.fromkeys((point.step, point.adversary, point.n) for point in points):
        tried = [one for one in points if (one.step, one.adversary, one.n) == (step, adversary, n)]
        survived = list(takewhile(lambda point: point.recovered >= 1.0, tried))
        k = survived[-1].k if survived else 0
        found.append(Limit(step, adversary, n, k, k / n, sqrt(n), len(survived) == len(tried)))
    return found


def slopes(found: Sequence[Limit]) -> dict[str, dict[str, float]]:
    """The exponent p of k = c·N^p for each step and adversary; the theorem promises at least 1/2.

    Censored limits are left out: they are a fixed share of N, so their exponent is always 1.
    """
    exponents: dict[str, dict[str, float]] = {}
    for step, adversary in dict.fromkeys((limit.step, limit.adversary) for limit in found):
        rows = [one for one in found if (one.step, one.adversary) == (step, adversary)]
        rows = [one for one in rows if one.k > 0 and not one.censored]
        if len(rows) > 1:
            line = np.polyfit(np.log([one.n for one in rows]), np.log([one.k for one in rows]), 1)
            exponents.setdefault(step, {})[adversary] = float(line[0])
    return exponents
