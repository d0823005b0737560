"""Does the error wander off during a recording? Slowly it is drift, at once the reference's zero has moved.

A ramp and a step at every possible moment are offered to the smooth law as one more regressor. The null keeps
the memory of the errors that remain beside it: whole days of them are shuffled and turned over, and the best
change is sought again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_agent.kernel import Array
from edge_agent.messages import format_time
from model_export.dataset import Dataset
from model_export.doctor.finding import Finding
from model_export.doctor.smooth import Smooth, robust_spread

SHUFFLES = 499
LEVEL = 0.99
STEPS = 40  # moments tried
EDGE = 0.1  # of the recording; a step needs something on both sides
MATERIAL = 2.0  # spreads of the error in one window: less than that is lost in it
DAY_MS = 86_400_000
FEWEST_DAYS = 5


@dataclass(frozen=True, slots=True)
class Trend:
    """The best single change, in units of the reference, and how it compares with chance."""

    kind: str  # "ramp" or "step"
    change: float
    at: int  # the first window after a step, 0 for a ramp
    strength: float  # share of the error that it explains
    null: float  # what chance explains at LEVEL
    spread: float  # of the error that remains, in units of the reference


def trend(dataset: Dataset, smooth: Smooth, seed: int = 0) -> Trend | None:
    """The ramp or the step that explains most of the error; None where the recording is too short."""
    days = (dataset.start_ms - dataset.start_ms[0]) // DAY_MS
    if days[-1] + 1 < FEWEST_DAYS:
        return None
    places = np.linspace(EDGE, 1.0 - EDGE, STEPS) * len(days)
    shapes = _shapes(dataset, places.astype(int))
    free = shapes - smooth.design @ (np.linalg.pinv(smooth.design) @ shapes)
    sizes = np.maximum(np.sum(free**2, axis=0), 1e-12)
    shares = _strengths(free, sizes, smooth.tamed[None])[0]
    best = int(np.argmax(shares))
    change = float(free[:, best] @ smooth.tamed / sizes[best])
    rest = smooth.tamed - change * free[:, best]
    null = _strengths(free, sizes, _shuffled(rest, days, seed)).max(axis=1)
    unit = smooth.data.target_scale.spread
    return Trend(
        kind="step" if best else "ramp",
        change=unit * change,
        at=int(places[best - 1]) if best else 0,
        strength=float(shares[best]),
        null=float(np.quantile(null, LEVEL)),
        spread=unit * robust_spread(rest),
    )


def examine(dataset: Dataset, smooth: Smooth, sensor: str, name: str) -> list[Finding]:
    """A finding where a change explains more than chance does, and is larger than a window's error."""
    found = trend(dataset, smooth)
    if found is None or found.strength <= found.null or abs(found.change) <= MATERIAL * found.spread:
        return []
    evidence = {
        "change": found.change,
        "error_spread": found.spread,
        "explained": found.strength,
        "explained_by_chance": found.null,
        "level": LEVEL,
    }
    if found.kind == "step":
        when = format_time(int(dataset.start_ms[found.at]))
        return [_step(sensor, name, {**evidence, "at": when}, found.change, when)]
    days = float(dataset.start_ms[-1] - dataset.start_ms[0]) / DAY_MS
    return [_ramp(sensor, name, {**evidence, "per_day": found.change / days}, found.change, days)]


def _step(sensor: str, name: str, evidence: dict[str, object], change: float, when: str) -> Finding:
    return Finding(
        "reference_zero_shift",
        "warning",
        sensor,
        name,
        evidence,
        f"from about {when} on the reference reads {change:+.3g} against what the sensor says",
        "Look in the analyser's log for a service, a zero adjustment or a move at that time, and correct one "
        "of the two parts; or fit to one part only. If other sensors there do not show it, this sensor was "
        "disturbed.",
    )


def _ramp(sensor: str, name: str, evidence: dict[str, object], change: float, days: float) -> Finding:
    return Finding(
        "drift",
        "warning",
        sensor,
        name,
        evidence,
        f"over {days:.0f} days the reference moves {change:+.3g} away from what the sensor says",
        "Check the analyser's span and zero records for these days. If the analyser was stable the sensor is "
        "ageing or not yet settled: drop its first days, calibrate again sooner, replace it if this goes on.",
    )


def _shapes(dataset: Dataset, places: NDArray[np.int64]) -> Array:
    """A ramp from 0 to 1, then steps from 0 to 1, as columns (n, 1 + steps)."""
    at = dataset.start_ms.astype(float)
    ramp = (at - at[0]) / max(at[-1] - at[0], 1.0)
    steps = np.arange(len(at))[:, None] >= places[None, :]
    return np.column_stack([ramp, steps.astype(float)])


def _strengths(free: Array, sizes: Array, errors: Array) -> Array:
    """The share of each error (m, n) that each shape (n, k) explains, (m, k)."""
    whole = np.maximum(np.sum(errors**2, axis=1, keepdims=True), 1e-300)
    return np.asarray((errors @ free) ** 2 / sizes / whole)


def _shuffled(error: Array, days: NDArray[np.int64], seed: int) -> Array:
    """The errors with their days in another order, some of them upside down, (SHUFFLES, n)."""
    chance = np.random.default_rng(seed)
    parts = [error[days == day] for day in np.unique(days)]
    rows = []
    for _ in range(SHUFFLES):
        signs = chance.choice((-1.0, 1.0), len(parts))
        rows.append(np.concatenate([signs[day] * parts[day] for day in chance.permutation(len(parts))]))
    return np.array(rows)
