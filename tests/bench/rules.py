"""Other rules beside the consensus, on vans that are not judged: python -m tests.bench.rules CACHE [VANS]

Each figure is an RMSE against the truth, divided by that of the median sensor of the van: with six sound
sensors, with a zero that is wrong by 0.1 or 0.2 ppm in one of them, and by 0.2 ppm in two. `best` are the
constant weights with the least error for six sound sensors, which nobody can know. The last line says how
much of the errors is in the coldest and the hottest tenth of the windows: of the part that all sensors have
in common, and of the part that each has alone.
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


def at_the_ends(errors: Array, temperature: Array) -> tuple[float, float]:
    """The share of the common and of the own variance in the coldest and the hottest tenth of the windows."""
    low, high = np.quantile(temperature, (0.1, 0.9))
    ends = (temperature < low) | (temperature > high)
    count = errors.shape[1]
    common = (errors.sum(axis=1) ** 2 - (errors**2).sum(axis=1)) / (count * (count - 1))
    own = (errors**2).mean(axis=1) - common
    return float(common[ends].sum() / common.sum()), float(own[ends].sum() / own.sum())


def judged(cache: Path, seed: int) -> tuple[dict[str, list[float]], tuple[float, float]]:
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
    found["best"] = [rms((errors + shift) @ weights) / single for shift in wrong]
    return found, at_the_ends(errors, year.temperature[known].mean(axis=1))


def rows(vans: list[dict[str, list[float]]]) -> Iterator[str]:
    """The table, with the median van."""
    yield "| rule | " + " | ".join(WRONG) + " |"
    yield "|---|" + "--:|" * len(WRONG)
    for name in vans[0]:
        figures = np.median([van[name] for van in vans], axis=0)
        yield f"| {name} | " + " | ".join(f"{each:.3f}" for each in figures) + " |"


def main(cache: Path, count: int) -> None:
    """Print the table and the shares."""
    with ProcessPoolExecutor(2) as pool:
        vans, ends = zip(*pool.map(partial(judged, cache), range(SEED, SEED + count)), strict=True)
    print(*rows(list(vans)), sep="\n")
    common, own = np.median(ends, axis=0)
    print(
        f"\nIn the coldest and the hottest tenth: {common:.0%} of the common variance, {own:.0%} of the own"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 40)
