"""Does a package carry another gas's cell in its CO columns? Sister sensors in the same air tell.

The paper's case: in two of six packages the CO and NOx pairs were swapped. Three signs, all against sisters
that stood beside the same reference at the same time. A swapped package (1) follows the reference far less
than they do, though the air is the same; (2) its millivolts lie where no sister's do, since another cell has
another zero and bias; (3) a model learnt from it scores otherwise on its sisters than at home (the paper's S5
- S2), where a sound one's score does not change. The first two decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from edge_agent.core.kernel import Array
from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.lag import explained
from model_export.doctor.resample import interval
from model_export.doctor.served import s5_minus_s2
from model_export.recordings.dataset import MIN_WINDOWS

FEWEST_SOUND = 3  # sisters to compare millivolts with: two have no spread worth the name
LEVEL = 0.99
USUAL = 0.95  # of sisters' levels
LESS = 0.5  # of what the best sister explains
ALIKE = 0.99  # correlation: both stood beside one reference


@dataclass(frozen=True, slots=True)
class Comparison:
    """A sensor against its sound sisters in one deployment; levels are medians of its channels."""

    dataset: str
    explained: float
    explained_by_sisters: float
    levels: tuple[float, ...]
    expected: tuple[tuple[float, float], ...]  # where a sister's would lie, for each channel
    served: float  # S5 - S2 of models from this sensor, the median over the sisters they are moved to
    served_by_sisters: float  # and of models from one sister, moved to another

    @property
    def apart(self) -> bool:
        """Whether a channel lies where no sister's would.

        The first channel of several does not count: the gas moves it, and a dead cell's lies low.
        """
        compared = list(zip(self.levels, self.expected, strict=True))
        return any(not low <= level <= high for level, (low, high) in compared[1:] or compared)


def examine(cases: Sequence[Case]) -> list[Finding]:
    """A finding for each sensor that in most deployments it shares with sisters looks like another gas's."""
    met: dict[str, int] = {}
    apart: dict[str, list[Comparison]] = {}
    for group in _groups(cases):
        suspects, leaders = _divided(group)
        for case in (*suspects, *leaders):
            met[case.sensor] = met.get(case.sensor, 0) + 1
        for case in suspects:
            comparison = _compare(case, leaders)
            if comparison.apart:
                apart.setdefault(case.sensor, []).append(comparison)
    return [_finding(sensor, found) for sensor, found in apart.items() if len(found) > met[sensor] / 2]


def _groups(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases that share air and reference; each belongs to one group."""
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
    """Those that plainly explain less than half of what the best does, and the others."""
    intervals = [interval(_explained(case), LEVEL) for case in group]
    best = max(low for low, _ in intervals)
    suspects = [case for case, (_, high) in zip(group, intervals, strict=True) if high < LESS * best]
    leaders = [case for case in group if case not in suspects]
    return (suspects, leaders) if len(leaders) >= FEWEST_SOUND else ([], leaders)


def _explained(case: Case) -> Array:
    """R² of the reference on the fast part of the channels, of the data and of each resample."""
    return explained(case.scan.moments[case.minutes])[:, 0] if case.scan else np.zeros(2)


def _compare(case: Case, leaders: Sequence[Case]) -> Comparison:
    medians = np.array([np.median(leader.windows.inputs, axis=0) for leader in leaders])
    return Comparison(
        case.dataset,
        float(_explained(case)[0]),
        float(np.median([_explained(leader)[0] for leader in leaders])),
        tuple(map(float, np.median(case.windows.inputs, axis=0))),
        tuple(_prediction(column) for column in medians.T),
        s5_minus_s2(case.windows, [leader.windows for leader in leaders]),
        s5_minus_s2(leaders[0].windows, [leader.windows for leader in leaders[1:]]),
    )


def _prediction(values: Array) -> tuple[float, float]:
    """Where the next of such normal values lies, with USUAL."""
    n = len(values)
    half = float(student.ppf(0.5 + USUAL / 2.0, n - 1) * values.std(ddof=1) * np.sqrt(1.0 + 1.0 / n))
    return float(values.mean()) - half, float(values.mean()) + half


def _finding(sensor: str, found: Sequence[Comparison]) -> Finding:
    def middle(name: str) -> float:
        return float(np.median([getattr(one, name) for one in found]))

    evidence = {
        "explained": middle("explained"),
        "explained_by_sisters": middle("explained_by_sisters"),
        "s5_minus_s2": middle("served"),
        "s5_minus_s2_of_sisters": middle("served_by_sisters"),
        "datasets": {
            one.dataset: {"levels": list(one.levels), "expected": [list(between) for between in one.expected]}
            for one in found
        },
    }
    return Finding(
        "cross_sensor_swap",
        "error",
        sensor,
        None,
        evidence,
        f"it follows the reference far less than its sisters do (R² {evidence['explained']:.2f} against "
        f"{evidence['explained_by_sisters']:.2f}), and its channels lie where theirs do not, in "
        f"{', '.join(one.dataset for one in found)}",
        "The columns seem to carry another gas's electrodes, such as NOx for CO. Compare the firmware's "
        "channel map and the plugs with a sister's, take the right columns with --columns, and fit again.",
    )
