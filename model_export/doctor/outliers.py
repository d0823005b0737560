"""Single windows far from the smooth law: a plume at one inlet only, a zero check that was not flagged.

Residuals of sound sensors have heavy tails, and where the law does not fit, it fails for hours. So a window
counts only if it is several times as far off as the windows before and after it.
"""

from collections.abc import Iterator, Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter
from scipy.special import bdtrik

from edge_agent.core.kernel import Array
from edge_agent.core.messages import format_time
from edge_agent.core.robust import robust_spread
from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.smooth import Smooth

FAR = 6.0
LEVEL = 0.999
NEIGHBOURS = 9  # windows; a change that lasts for hours is not an outlier
ALONE = 3.0  # times as far off as the windows before and after
MATERIAL = 1.0  # robust standard deviations by which outliers move a plain fit
SHOWN = 10
# The robust spread of a double exponential is 1.4826·ln 2 of its scales.
NULL_SHARE = float(np.exp(-FAR * 1.4826 * np.log(2.0)))


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """More single far windows than heavy tails explain.

    Statistic: the count of windows beyond FAR robust standard deviations, each ALONE times its neighbours.
    Null: double exponential residuals, of which a share of 0.2 % is beyond FAR, so the count is binomial.
    Threshold: the LEVEL quantile of that count. It is a warning if plain least squares moves by MATERIAL.
    """
    for case in cases:
        if case.law is not None:
            far = _far(case.law.residual)
            beside = np.maximum(np.append(far[1:], 0.0), np.append(0.0, far[:-1]))
            where = np.flatnonzero((far > FAR) & (far > ALONE * beside))
            expected = ceil(bdtrik(LEVEL, len(far), NULL_SHARE))
            if len(where) > expected:
                yield _finding(case, where, expected, far, _astray(case.law))


def _finding(case: Case, where: NDArray[np.intp], expected: int, far: Array, astray: float) -> Finding:
    worst = where[np.argsort(far[where])[::-1]][:SHOWN]
    starts, share = case.windows.start_ms, len(where) / len(far)
    evidence = {
        "windows": len(where),
        "share": share,
        "expected_at_most": expected,
        "threshold": FAR,
        "plain_fit_off_by": astray,
        "worst": [{"start": format_time(int(starts[at])), "robust_z": float(far[at])} for at in worst],
    }
    return case.finding(
        "outliers",
        "warning" if astray > MATERIAL else "info",
        evidence,
        f"{len(where)} of {len(far)} windows ({share:.1%}) are single outliers, more than {FAR:g} standard "
        "deviations off",
        "The fit ignores such windows. Look at the worst ones: cut out zero and span checks of the analyser. "
        "Plumes at one inlet only mean that the inlets are too far apart.",
    )


def _far(residual: Array) -> Array:
    """The distance of each window from the median around it, in robust standard deviations."""
    sudden = residual - median_filter(residual, NEIGHBOURS, mode="nearest")
    return np.asarray(np.abs(sudden) / (robust_spread(sudden) or 1.0))


def _astray(smooth: Smooth) -> float:
    """The root mean square distance of plain least squares from the law, in robust standard deviations."""
    plain = smooth.design @ (np.linalg.pinv(smooth.design) @ smooth.data.y)
    return float(np.sqrt(np.mean((plain - smooth.data.y + smooth.residual) ** 2)) / (smooth.spread or 1.0))
