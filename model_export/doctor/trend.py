"""Does the error wander off during a recording? Slowly it is drift, at once the reference's zero has moved.

A ramp and a step at every possible moment are offered to the smooth law as one more regressor. The null keeps
the memory of the errors that remain beside it: whole days of them are shuffled and turned over, and the best
change is sought again. It is called a step if a step with such errors would look like it and a ramp would
hardly ever; a ramp is told from a step in the same way. Otherwise both are told.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from edge_agent.core.messages import format_time
from model_export.doctor.finding import Finding
from model_export.doctor.minutes import DAY_MS
from model_export.doctor.smooth import Smooth, robust_spread
from model_export.recordings.dataset import Dataset

SHUFFLES = 499
LEVEL = 0.99
STEPS = 160  # moments tried
EDGE = 0.1  # of the recording; a step needs something on both sides
MATERIAL = 2.0  # spreads of the error in one window: less than that is lost in it
FEWEST_DAYS = 5


@dataclass(frozen=True, slots=True)
class Change:
    """One shape of change, in units of the reference, and the share of the error that it explains."""

    change: float
    explained: float


@dataclass(frozen=True, slots=True)
class Trend:
    """The best ramp and the best step, which of them it was, and how they compare with chance."""

    shape: str  # "ramp", "step", or "unclear" where either may look like the other
    ramp: Change
    step: Change
    at: int  # the first window after the step
    null: float  # what chance explains at LEVEL
    spread: float  # of the error that remains, in units of the reference

    @property
    def change(self) -> Change:
        """The one it was; where that is unclear, the one that explains more."""
        best = max(self.ramp, self.step, key=lambda one: one.explained)
        return {"ramp": self.ramp, "step": self.step}.get(self.shape, best)

    @property
    def plain(self) -> bool:
        """Whether it explains more than chance does, and is larger than a window's error."""
        explained = max(self.ramp.explained, self.step.explained)
        return explained > self.null and abs(self.change.change) > MATERIAL * self.spread


def trend(dataset: Dataset, smooth: Smooth, seed: int = 0) -> Trend | None:
    """The ramp or the step that explains most of the error; None where the recording is too short."""
    days = (dataset.start_ms - dataset.start_ms[0]) // DAY_MS
    if days[-1] + 1 < FEWEST_DAYS:
        return None
    places = np.linspace(EDGE, 1.0 - EDGE, STEPS) * len(days)
    shapes = _shapes(dataset, places.astype(int))
    free = shapes - smooth.design @ (np.linalg.pinv(smooth.design) @ shapes)
    lengths = np.sqrt(np.maximum(np.sum(free**2, axis=0), 1e-12))
    free /= lengths
    shares = _strengths(free, smooth.tamed[None])[0]
    step = 1 + int(np.argmax(shares[1:]))
    best = 0 if shares[0] >= shares[step] else step
    rest = smooth.tamed - _part(free[:, best], smooth.tamed)
    null = _strengths(free, _shuffled(rest, days, seed)).max(axis=1)
    unit = smooth.data.target_scale.spread
    sizes = unit * (smooth.tamed @ free) / lengths
    return Trend(
        shape=_shape(free, smooth.tamed, days, step, seed),
        ramp=Change(float(sizes[0]), float(shares[0])),
        step=Change(float(sizes[step]), float(shares[step])),
        at=int(places[step - 1]),
        null=float(np.quantile(null, LEVEL)),
        spread=unit * robust_spread(rest),
    )


def examine(dataset: Dataset, smooth: Smooth, sensor: str, name: str) -> list[Finding]:
    """A finding where a change explains more than chance does, and is larger than a window's error."""
    found = trend(dataset, smooth)
    if found is None or not found.plain:
        return []
    days = float(dataset.start_ms[-1] - dataset.start_ms[0]) / DAY_MS
    when = format_time(int(dataset.start_ms[found.at]))
    evidence = {
        "shape": found.shape,
        "change": found.change.change,
        "explained": found.change.explained,
        "explained_by_chance": found.null,
        "level": LEVEL,
        "error_spread": found.spread,
        "ramp": {
            "change": found.ramp.change,
            "per_day": found.ramp.change / days,
            "explained": found.ramp.explained,
        },
        "step": {"change": found.step.change, "at": when, "explained": found.step.explained},
    }
    if found.shape == "step":
        return [_step(sensor, name, {**evidence, "at": when}, found.step.change, when)]
    ramp = f"over {days:.0f} days the reference moves {found.ramp.change:+.3g} away from what the sensor says"
    if found.shape == "unclear":
        ramp += f", or by {found.step.change:+.3g} at once about {when}: which of the two cannot be told"
    return [_ramp(sensor, name, {**evidence, "per_day": found.ramp.change / days}, ramp)]


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


def _ramp(sensor: str, name: str, evidence: dict[str, object], summary: str) -> Finding:
    return Finding(
        "drift",
        "warning",
        sensor,
        name,
        evidence,
        summary,
        "Check the analyser's span and zero records for these days. If the analyser was stable the sensor is "
        "ageing or not yet settled: drop its first days, calibrate again sooner, replace it if this goes on.",
    )


def _shapes(dataset: Dataset, places: NDArray[np.int64]) -> Array:
    """A ramp from 0 to 1, then steps from 0 to 1, as columns (n, 1 + steps)."""
    at = dataset.start_ms.astype(float)
    ramp = (at - at[0]) / max(at[-1] - at[0], 1.0)
    steps = np.arange(len(at))[:, None] >= places[None, :]
    return np.column_stack([ramp, steps.astype(float)])


def _shape(free: Array, error: Array, days: NDArray[np.int64], step: int, seed: int) -> str:
    """Which of the two, with such errors, gives the lead that the best step has over the ramp."""
    lead = float(_leads(_strengths(free, error[None]))[0])
    drawn = []
    for shape in (0, step):
        there = _part(free[:, shape], error)
        drawn.append(_leads(_strengths(free, there + _shuffled(error - there, days, seed))))
    as_ramp, as_step = lead <= np.quantile(drawn[0], LEVEL), lead >= np.quantile(drawn[1], 1.0 - LEVEL)
    return "unclear" if as_ramp == as_step else "ramp" if as_ramp else "step"


def _leads(strengths: Array) -> Array:
    """By how much the best step explains more than the ramp, (m,)."""
    return np.asarray(strengths[:, 1:].max(axis=1) - strengths[:, 0])


def _part(shape: Array, error: Array) -> Array:
    """What a shape (n,) of length 1 makes of an error (n,)."""
    return np.asarray((shape @ error) * shape)


def _strengths(free: Array, errors: Array) -> Array:
    """The share of each error (m, n) that each shape (n, k) of length 1 explains, (m, k)."""
    whole = np.maximum(np.sum(errors**2, axis=1, keepdims=True), 1e-300)
    return np.asarray((errors @ free) ** 2 / whole)


def _shuffled(error: Array, days: NDArray[np.int64], seed: int) -> Array:
    """The errors with their days in another order, some of them upside down, (SHUFFLES, n)."""
    chance = np.random.default_rng(seed)
    parts = [error[days == day] for day in np.unique(days)]
    rows = []
    for _ in range(SHUFFLES):
        signs = chance.choice((-1.0, 1.0), len(parts))
        rows.append(np.concatenate([signs[day] * parts[day] for day in chance.permutation(len(parts))]))
    return np.array(rows)
