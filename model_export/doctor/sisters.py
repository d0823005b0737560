"""A package whose CO columns carry another gas, as two of the paper's six did with NOx.

Sisters are sensors beside the same reference at the same time. A swapped package differs from them in two
ways: it follows the reference far less, and its millivolts are outside their range, since another cell has
another zero. Both are needed. The evidence also has the paper's S5 - S2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from edge_agent.core.comparison import LESS
from edge_agent.core.kernel import Array
from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.lag import explained
from model_export.doctor.resample import interval
from model_export.doctor.served import s5_minus_s2
from model_export.recordings.dataset import MIN_WINDOWS

FEWEST_SOUND = 3  # sisters to compare millivolts with; two do not give a usable spread
LEVEL = 0.99
USUAL = 0.95  # share of sisters' levels inside the prediction interval
ALIKE = 0.99  # correlation of the references; above it both sensors had the same one


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A sensor and its sound sisters in one deployment; levels are medians of its channels."""

    case: Case
    sisters: Sequence[Case]
    levels: tuple[float, ...]
    expected: tuple[tuple[float, float], ...]  # the prediction interval of a sister's, for each channel

    @property
    def apart(self) -> bool:
        """Whether a channel is outside the sisters' range.

        The first of several channels does not count: it depends on the gas, and a weak cell reads low.
        """
        compared = list(zip(self.levels, self.expected, strict=True))
        return any(not low <= level <= high for level, (low, high) in compared[1:] or compared)


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """Sensors that seem to carry another gas's electrodes.

    Statistic: R² of the reference on the channels, and the median of the channels but the first.
    Null: that of the sisters, by resampled blocks (LEVEL) and as the next of normal values (USUAL).
    Threshold: under LESS of the best sister's R² and outside their range, in most shared deployments.
    """
    for sensor, found in swapped(cases).items():
        yield _finding(sensor, found)


def swapped(cases: Sequence[Case]) -> dict[str, list[Comparison]]:
    """The swapped sensors, each with the deployments that show it. A dead channel is not compared."""
    met: dict[str, int] = {}
    apart: dict[str, list[Comparison]] = {}
    for group in _groups([case for case in cases if not case.dead]):
        suspects, leaders = _divided(group)
        for case in (*suspects, *leaders):
            met[case.sensor] = met.get(case.sensor, 0) + 1
        for case in suspects:
            comparison = _compare(case, leaders)
            if comparison.apart:
                apart.setdefault(case.sensor, []).append(comparison)
    return {sensor: found for sensor, found in apart.items() if len(found) > met[sensor] / 2}


def _groups(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases with the same air and reference; each is in one group."""
    groups: list[list[Case]] = []
    for case in cases:
        if case.scan is None:
            continue
        for group in groups:
            if case.sensor not in {other.sensor for other in group} and _together(case, group[0]):
                group.append(case)
                break
        else:
            groups.append([case])
    return groups


def _together(one: Case, other: Case) -> bool:
    _, mine, others = np.intersect1d(one.windows.start_ms, other.windows.start_ms, return_indices=True)
    if len(mine) < MIN_WINDOWS or one.windows.channels != other.windows.channels:
        return False
    first, second = one.windows.target[mine], other.windows.target[others]
    varied = np.ptp(first) > 0.0 and np.ptp(second) > 0.0
    return bool(varied and np.corrcoef(first, second)[0, 1] > ALIKE)


def _divided(group: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """The cases with less than half of the best R², and the others."""
    intervals = [interval(_explained(case), LEVEL) for case in group]
    best = max(low for low, _ in intervals)
    suspects = [case for case, (_, high) in zip(group, intervals, strict=True) if high < LESS * best]
    leaders = [case for case in group if case not in suspects]
    return (suspects, leaders) if len(leaders) >= FEWEST_SOUND else ([], leaders)


def _explained(case: Case) -> Array:
    """R² of the reference on the fast part of the channels: the estimate, then each resample."""
    return explained(case.scan.moments[case.minutes])[:, 0] if case.scan else np.zeros(2)


def _compare(case: Case, sisters: Sequence[Case]) -> Comparison:
    medians = np.array([np.median(sister.windows.inputs, axis=0) for sister in sisters])
    levels = tuple(map(float, np.median(case.windows.inputs, axis=0)))
    return Comparison(case, sisters, levels, tuple(_prediction(column) for column in medians.T))


def _prediction(values: Array) -> tuple[float, float]:
    """The interval of the next of such normal values, at USUAL."""
    n = len(values)
    half = float(stdtrit(n - 1, 0.5 + USUAL / 2.0) * values.std(ddof=1) * np.sqrt(1.0 + 1.0 / n))
    return float(values.mean()) - half, float(values.mean()) + half


def _finding(sensor: str, found: Sequence[Comparison]) -> Finding:
    explained = _median([_explained(one.case)[0] for one in found])
    by_sisters = _median([_median([_explained(case)[0] for case in one.sisters]) for one in found])
    evidence = {
        "explained": explained,
        "explained_by_sisters": by_sisters,
        "s5_minus_s2": _median([_served(one.case, one.sisters) for one in found]),
        "s5_minus_s2_of_sisters": _median([_served(one.sisters[0], one.sisters[1:]) for one in found]),
        "datasets": {
            one.case.dataset: {"levels": list(one.levels), "expected": [list(each) for each in one.expected]}
            for one in found
        },
    }
    return Finding(
        "cross_sensor_swap",
        "error",
        sensor,
        None,
        evidence,
        f"it follows the reference far less than its sisters (R² {explained:.2f} against {by_sisters:.2f}), "
        f"and its channels are outside their range, in {', '.join(one.case.dataset for one in found)}",
        "The columns seem to carry another gas's electrodes, such as NOx for CO. Compare the firmware's "
        "channel map and the plugs with a sister's. Name the right columns with --columns, and fit again.",
    )


def _median(values: Sequence[float]) -> float:
    return float(np.median(values))


def _served(source: Case, targets: Sequence[Case]) -> float:
    return s5_minus_s2(source.windows, [target.windows for target in targets])
