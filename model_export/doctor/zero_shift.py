"""A zero of the reference that differs between deployments of one sensor.

The analyser is moved and serviced between deployments. One law for all of them is fitted, with an offset for
each (the fixed effects of panel regression). Then each deployment's reference is regressed on that law. The
slope is a change of gain, the intercept a change of zero.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from edge_agent.core.kernel import Array
from edge_agent.core.robust import robust_spread
from model_export.doctor import sisters
from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.minutes import DAY_MS
from model_export.doctor.resample import block_weights
from model_export.doctor.smooth import DEGREE, huber
from model_export.recordings.dataset import Dataset

ALPHA = 0.01  # for all deployments of a sensor together


@dataclass(frozen=True, slots=True)
class Shift:
    """The difference of one deployment's reference from the baseline's, in its unit."""

    dataset: str
    shift: float
    half_width: float  # at 1 - ALPHA for all deployments together
    gain: float


@dataclass(frozen=True, slots=True)
class Shifts:
    """All deployments of a sensor against one of them; `spread` is the noise of one window."""

    baseline: str
    spread: float
    others: tuple[Shift, ...]

    def detectable(self, one: Shift) -> float:
        """The smallest shift that is reported."""
        return self.spread + one.half_width


def shifts(names: Sequence[str], datasets: Sequence[Dataset]) -> Shifts:
    """The zeros of two or more deployments against the middle one (of two, the first)."""
    terms, target, owner = _pooled(datasets)
    own = (owner[:, None] == np.arange(len(datasets))).astype(float)
    _, residual, tamed = huber(np.column_stack([terms, own]), target)
    moments = _by_day(terms, target - residual + tamed, owner, datasets)
    weights = [block_weights(len(each), seed) for seed, each in enumerate(moments)]
    drawn = [_level(np.tensordot(w, m, axes=1)) for w, m in zip(weights, moments, strict=True)]
    base = _middle(_zeros(drawn, base=0)[0][0])
    zeros, gains = _zeros(drawn, base)
    wide = float(ndtri(1.0 - ALPHA / 2.0 / max(len(datasets) - 1, 1))) * zeros[1:].std(axis=0)
    others = tuple(
        Shift(names[i], float(zeros[0, i]), float(wide[i]), float(gains[0, i]))
        for i in range(len(datasets))
        if i != base
    )
    return Shifts(names[base], robust_spread(residual), others)


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """Sensors whose reference has another zero in some deployment. A swapped sensor is not checked.

    Statistic: the difference of the zero from that of the middle deployment.
    Null: it is 0; its spread is that of resampled days within each deployment.
    Threshold: the noise of one window, plus the half-width at 1 - ALPHA for all deployments together.
    """
    for sensor, mine in _by_sensor(cases).items():
        if len(mine) > 1 and len({case.windows.channels for case in mine}) == 1:
            found = shifts([case.dataset for case in mine], [case.windows for case in mine])
            moved = [one for one in found.others if abs(one.shift) > found.detectable(one)]
            if moved:
                yield _finding(sensor, found, moved)


def _by_sensor(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases of each sensor that is not swapped, in the order of time."""
    swapped = sisters.swapped(cases)
    usable = [case for case in cases if case.law is not None and case.sensor not in swapped]
    found: dict[str, list[Case]] = {}
    for case in sorted(usable, key=lambda case: int(case.windows.start_ms[0])):
        found.setdefault(case.sensor, []).append(case)
    return found


def _finding(sensor: str, found: Shifts, moved: Sequence[Shift]) -> Finding:
    listed = ", ".join(f"{one.dataset} {one.shift:+.3g}" for one in moved)
    evidence = {
        "baseline": found.baseline,
        "error_spread": found.spread,
        "shifts": {
            one.dataset: {
                "shift": one.shift,
                "half_width": one.half_width,
                "detectable": found.detectable(one),
                "gain": one.gain,
                "moved": one in moved,
            }
            for one in found.others
        },
        "level": 1.0 - ALPHA,
    }
    return Finding(
        "reference_zero_shift",
        "warning",
        sensor,
        None,
        evidence,
        f"the reference's zero differs from that in {found.baseline}: {listed}",
        "Compare with the analyser's service and zero records, and correct the reference. If that is not "
        "possible, fit on one deployment and fit an adapter for each other (model-export adapt). If sister "
        "sensors do not show the same, the zero of this sensor has moved.",
    )


def _middle(zeros: Array) -> int:
    """The place of the median; of two values the first, which is the earlier deployment."""
    return 0 if len(zeros) == 2 else int(np.argsort(zeros, kind="stable")[(len(zeros) - 1) // 2])


def _pooled(datasets: Sequence[Dataset]) -> tuple[Array, Array, NDArray[np.intp]]:
    """The law's terms (n, p) without a constant, the reference (n,), and the deployment of each row."""
    inputs = np.concatenate([each.inputs for each in datasets])
    auxiliary = np.concatenate([each.auxiliary for each in datasets])
    x = (inputs - inputs.mean(axis=0)) / np.maximum(inputs.std(axis=0), 1e-12)
    z = (auxiliary - auxiliary.mean()) / max(float(auxiliary.std()), 1e-12)
    powers = [z[:, None] ** k for k in range(DEGREE + 1)]
    terms = np.column_stack([*(power * x for power in powers), *powers[1:]])
    owner = np.repeat(np.arange(len(datasets)), [len(each) for each in datasets])
    return terms, np.concatenate([each.target for each in datasets]), owner


def _by_day(terms: Array, target: Array, owner: NDArray[np.intp], datasets: Sequence[Dataset]) -> list[Array]:
    """For each dataset the moments (days, q, q) of (1, terms, target)."""
    rows = np.column_stack([np.ones(len(target)), terms, target])
    found = []
    for place, dataset in enumerate(datasets):
        mine, days = rows[owner == place], dataset.start_ms // DAY_MS
        found.append(np.array([mine[days == day].T @ mine[days == day] for day in np.unique(days)]))
    return found


def _level(moments: Array) -> tuple[Array, Array]:
    """Means (r, q - 1) and covariances times n (r, q - 1, q - 1) of every resample."""
    count = moments[:, :1, :1]
    means = moments[:, 0, 1:] / count[:, 0]
    return means, moments[:, 1:, 1:] - count * means[:, :, None] * means[:, None, :]


def _zeros(drawn: Sequence[tuple[Array, Array]], base: int) -> tuple[Array, Array]:
    """Intercepts and slopes of each reference on the law with the baseline's offset, (r, datasets)."""
    within = np.sum([covariance for _, covariance in drawn], axis=0)
    law = np.linalg.solve(within[:, :-1, :-1] + 1e-9 * np.eye(within.shape[1] - 1), within[:, :-1, -1:])[
        ..., 0
    ]
    at_base = drawn[base][0]
    offset = at_base[:, -1] - np.einsum("rp,rp->r", at_base[:, :-1], law)
    zeros, gains = [], []
    for means, covariance in drawn:
        mean = np.einsum("rp,rp->r", means[:, :-1], law) + offset
        variance = np.einsum("rp,rpq,rq->r", law, covariance[:, :-1, :-1], law)
        gain = np.einsum("rp,rp->r", law, covariance[:, :-1, -1]) / np.maximum(variance, 1e-300)
        gains.append(gain)
        zeros.append(means[:, -1] - gain * mean)
    intercepts = np.array(zeros).T
    return intercepts - intercepts[:, base : base + 1], np.array(gains).T
