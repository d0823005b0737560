"""A change of the residual during a recording: a slow one is drift, a sudden one a shift of the zero.

A ramp, and a step at each of STEPS moments, are regressed on the residual of the smooth law. The null keeps
the autocorrelation: whole days of the remaining residual are shuffled, some with the sign changed. A change
is called a step if a step explains what is seen and a ramp does not, a ramp if the reverse holds, and
otherwise unclear.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from edge_agent.core.messages import format_time
from edge_agent.core.robust import robust_spread
from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.minutes import DAY_MS
from model_export.doctor.smooth import Smooth
from model_export.recordings.dataset import Dataset

SHUFFLES = 499
AT_ONCE = 10_000_000  # numbers in the shuffles that are in memory
LEVEL = 0.99
STEPS = 160  # moments tried
EDGE = 0.1  # share of the recording; a step needs data on both sides
MATERIAL = 2.0  # robust standard deviations of one window; a smaller change does not matter
FEWEST_DAYS = 5


@dataclass(frozen=True, slots=True)
class Change:
    """A change in units of the reference, and the share of the residual's variance that it explains."""

    change: float
    explained: float


@dataclass(frozen=True, slots=True)
class Drift:
    """The ramp, the best step, which of them it is, and how they compare with the null."""

    shape: str  # "ramp", "step", or "unclear" where both explain it
    ramp: Change
    step: Change
    at: int  # the first window after the step
    null: float  # the share explained under the null, at LEVEL
    spread: float  # of the remaining residual, in units of the reference

    @property
    def change(self) -> Change:
        """The change of the shape found; if unclear, the one that explains more."""
        best = max(self.ramp, self.step, key=lambda one: one.explained)
        return {"ramp": self.ramp, "step": self.step}.get(self.shape, best)

    @property
    def significant(self) -> bool:
        """Whether it explains more than the null, and is larger than the noise of a window."""
        explained = max(self.ramp.explained, self.step.explained)
        return explained > self.null and abs(self.change.change) > MATERIAL * self.spread


def drift(dataset: Dataset, smooth: Smooth) -> Drift | None:
    """The ramp or step that explains most of the residual; None where the recording is too short."""
    days = (dataset.start_ms - dataset.start_ms[0]) // DAY_MS
    if days[-1] + 1 < FEWEST_DAYS:
        return None
    places = np.linspace(EDGE, 1.0 - EDGE, STEPS) * len(days)
    shapes = _shapes(dataset, places.astype(int))
    free = shapes - smooth.design @ (np.linalg.pinv(smooth.design) @ shapes)
    lengths = np.sqrt(np.maximum(np.einsum("nk,nk->k", free, free), 1e-12))
    free /= lengths
    shares = _strengths(free, smooth.tamed[None])[0]
    step = 1 + int(np.argmax(shares[1:]))
    best = 0 if shares[0] >= shares[step] else step
    rest = smooth.tamed - _part(free[:, best], smooth.tamed)
    null = _by_chance(free, 0.0, rest, days).max(axis=1)
    unit = smooth.data.target_scale.spread
    sizes = unit * (smooth.tamed @ free) / lengths
    return Drift(
        shape=_shape(free, smooth.tamed, days, step),
        ramp=Change(float(sizes[0]), float(shares[0])),
        step=Change(float(sizes[step]), float(shares[step])),
        at=int(places[step - 1]),
        null=float(np.quantile(null, LEVEL)),
        spread=unit * robust_spread(rest),
    )


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """A residual that drifts, or that steps from one level to another.

    Statistic: the largest share of the residual's variance that a ramp or a step explains.
    Null: the same for SHUFFLES shuffles of its days, some with the sign changed.
    Threshold: the LEVEL quantile of the null, and a change of MATERIAL robust standard deviations.
    """
    for case in cases:
        found = drift(case.windows, case.law) if case.law else None
        if found is not None and found.significant:
            yield _finding(case, found)


def _finding(case: Case, found: Drift) -> Finding:
    starts = case.windows.start_ms
    days = float(starts[-1] - starts[0]) / DAY_MS
    when = format_time(int(starts[found.at]))
    per_day = found.ramp.change / days
    evidence = {
        "shape": found.shape,
        "change": found.change.change,
        "explained": found.change.explained,
        "explained_by_chance": found.null,
        "level": LEVEL,
        "error_spread": found.spread,
        "ramp": {"change": found.ramp.change, "per_day": per_day, "explained": found.ramp.explained},
        "step": {"change": found.step.change, "at": when, "explained": found.step.explained},
    }
    if found.shape == "step":
        return case.finding(
            "reference_zero_shift",
            "warning",
            {**evidence, "at": when},
            f"the reference reads {found.step.change:+.3g} against the sensor from about {when} on",
            "Look in the analyser's log for a service, a zero adjustment or a move at that time. Correct one "
            "of the two parts, or fit to one part only. If other sensors there do not show it, this sensor "
            "was disturbed.",
        )
    summary = f"sensor and reference drift apart: {found.ramp.change:+.3g} in {days:.0f} days"
    if found.shape == "unclear":
        summary += f", or {found.step.change:+.3g} at once about {when}; the data do not show which"
    return case.finding(
        "drift",
        "warning",
        {**evidence, "per_day": per_day},
        summary,
        "Check the analyser's span and zero records for these days. If the analyser was stable, the sensor "
        "is ageing or not yet settled: drop its first days, fit again sooner, replace it if this goes on.",
    )


def _shapes(dataset: Dataset, places: NDArray[np.int64]) -> Array:
    """A ramp from 0 to 1, then steps from 0 to 1, as columns (n, 1 + steps)."""
    at = dataset.start_ms.astype(float)
    ramp = (at - at[0]) / max(at[-1] - at[0], 1.0)
    steps = np.arange(len(at))[:, None] >= places[None, :]
    return np.column_stack([ramp, steps.astype(float)])


def _shape(free: Array, error: Array, days: NDArray[np.int64], step: int) -> str:
    """Which of the two explains the observed lead of the best step over the ramp."""
    lead = float(_leads(_strengths(free, error[None]))[0])
    drawn = []
    for shape in (0, step):
        there = _part(free[:, shape], error)
        drawn.append(_leads(_by_chance(free, there, error - there, days)))
    as_ramp, as_step = lead <= np.quantile(drawn[0], LEVEL), lead >= np.quantile(drawn[1], 1.0 - LEVEL)
    return "unclear" if as_ramp == as_step else "ramp" if as_ramp else "step"


def _leads(strengths: Array) -> Array:
    """The share explained by the best step minus that of the ramp, (m,)."""
    return np.asarray(strengths[:, 1:].max(axis=1) - strengths[:, 0])


def _part(shape: Array, error: Array) -> Array:
    """The projection of a residual (n,) on a shape (n,) of length 1."""
    return np.asarray((shape @ error) * shape)


def _strengths(free: Array, errors: Array) -> Array:
    """The share of each residual (m, n) that each shape (n, k) of length 1 explains, (m, k)."""
    whole = np.maximum(np.einsum("mn,mn->m", errors, errors)[:, None], 1e-300)
    return np.asarray((errors @ free) ** 2 / whole)


def _by_chance(free: Array, there: Array | float, rest: Array, days: NDArray[np.int64]) -> Array:
    """The strengths of each shape where `rest` is shuffled around `there`, (SHUFFLES, k).

    Not all at once: the shuffles of a year take a third of a gigabyte.
    """
    drawn, size = _shuffled(rest, days), 1 + AT_ONCE // len(rest)
    found = []
    for done in range(0, SHUFFLES, size):
        rows = np.empty((min(size, SHUFFLES - done), len(rest)))
        for row, shuffled in zip(rows, drawn, strict=False):
            row[:] = there + shuffled
        found.append(_strengths(free, rows))
    return np.concatenate(found)


def _shuffled(error: Array, days: NDArray[np.int64]) -> Iterator[Array]:
    """The residual with its days shuffled, some with the sign changed, SHUFFLES times (n,)."""
    rng = np.random.default_rng(0)
    parts = [error[days == day] for day in np.unique(days)]
    for _ in range(SHUFFLES):
        signs = rng.choice((-1.0, 1.0), len(parts))
        yield np.concatenate([signs[day] * parts[day] for day in rng.permutation(len(parts))])
