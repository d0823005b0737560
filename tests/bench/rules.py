"""Other rules beside the consensus, on vans that are not judged: python -m tests.bench.rules CACHE [VANS]

Each figure is an RMSE against the truth, divided by that of the median sensor of the van: with six sound
sensors, with a zero that is wrong by 0.1 or 0.2 ppm in one of them, and by 0.2 ppm in two. `best` are the
constant weights with the least error for six sound sensors, which nobody can know.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from edge_agent.core.consensus import assumed, combine
from edge_agent.core.kernel import Array
from edge_agent.core.robust import medians
from tests.bench.examination import best_weights, rms
from tests.bench.vans import SENSORS, Van

SEED = 5_000  # the vans of the tables have 1000 to 1019
WRONG: dict[str, tuple[float, ...]] = {
    "sound": (),
    "one by 0.1 ppm": (0.1,),
    "one by 0.2 ppm": (0.2,),
    "two by 0.2 ppm": (0.2, 0.2),
}
Rule = Callable[[Array, Array], Array]  # values and half-widths (m, n) -> (m,)


def weighted(x: Array, weights: Array) -> Array:
    return np.asarray(np.sum(x * weights, axis=1) / np.sum(weights, axis=1))


def huber(x: Array, h: Array) -> Array:
    """Weights that fall as 1/distance beyond 1.5 standard deviations."""
    sigma, centre = h / 1.645, medians(x)
    for _ in range(10):
        far = np.abs(x - centre[:, None]) / sigma
        centre = weighted(x, np.minimum(1.0, 1.5 / np.maximum(far, 1e-9)) / sigma**2)
    return centre


def hodges_lehmann(x: Array, _: Array) -> Array:
    """The median of the means of all pairs."""
    first, second = np.triu_indices(x.shape[1])
    return medians((x[:, first] + x[:, second]) / 2.0)


RULES: dict[str, Rule] = {
    "consensus": lambda x, h: combine(x, h).value,
    "mean": lambda x, _: np.asarray(x.mean(axis=1)),
    "mean, weighted by precision": lambda x, h: weighted(x, h**-2.0),
    "Huber": huber,
    "Hodges-Lehmann": hodges_lehmann,
    "mean without highest and lowest": lambda x, _: np.asarray(np.sort(x, axis=1)[:, 1:-1].mean(axis=1)),
    "median": lambda x, _: medians(x),
}


def judged(cache: Path, seed: int) -> dict[str, list[float]]:
    """Each rule's figures on one van, over the windows in which two sensors have an interval."""
    year = Van(seed, cache).year()
    widths = assumed(year.value, year.half_width)
    known = ~np.isnan(widths).any(axis=1)
    value, widths, truth = year.value[known], widths[known], year.truth[known]
    errors = value - truth[:, None]
    single = float(np.median([rms(each) for each in errors.T]))
    wrong = [np.pad(shifts, (0, len(SENSORS) - len(shifts))) for shifts in WRONG.values()]
    found = {
        name: [rms(rule(value + shift, widths) - truth) / single for shift in wrong]
        for name, rule in RULES.items()
    }
    weights = best_weights(errors)
    return {**found, "best": [rms((errors + shift) @ weights) / single for shift in wrong]}


def rows(vans: list[dict[str, list[float]]]) -> Iterator[str]:
    """The table, with the median van."""
    yield "| rule | " + " | ".join(WRONG) + " |"
    yield "|---|" + "--:|" * len(WRONG)
    for name in vans[0]:
        figures = np.median([van[name] for van in vans], axis=0)
        yield f"| {name} | " + " | ".join(f"{each:.3f}" for each in figures) + " |"


if __name__ == "__main__":
    count = int(sys.argv[2]) if sys.argv[2:] else 40
    with ProcessPoolExecutor(2) as pool:
        print(*rows([*pool.map(partial(judged, Path(sys.argv[1])), range(SEED, SEED + count))]), sep="\n")
