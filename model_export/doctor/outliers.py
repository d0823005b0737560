"""Windows that no calibration explains: a plume at one inlet only, a zero check that was not flagged.

Errors of sound sensors have tails heavier than a normal distribution's. The null is the double exponential:
beyond FAR robust standard deviations it leaves a share of 0.2 %. More than chance allows of that is reported.
"""

import numpy as np
from scipy.ndimage import median_filter
from scipy.stats import binom

from edge_agent.messages import format_time
from model_export.dataset import Dataset
from model_export.doctor.finding import Finding
from model_export.doctor.smooth import Smooth, robust_spread

FAR = 6.0
LEVEL = 0.999
NEIGHBOURS = 9  # windows; what stays for hours is not an outlier but something else
HEAVY = 0.02  # share: above it the recording itself is suspect
SHOWN = 10
# Of a double exponential the robust spread is 1.4826·ln 2 scales.
NULL_SHARE = float(np.exp(-FAR * 1.4826 * np.log(2.0)))


def examine(dataset: Dataset, smooth: Smooth, sensor: str, name: str) -> list[Finding]:
    """A finding where more windows lie far off than even heavy-tailed errors would put there."""
    sudden = smooth.residual - median_filter(smooth.residual, NEIGHBOURS, mode="nearest")
    far = np.abs(sudden) / (robust_spread(sudden) or 1.0)
    where = np.flatnonzero(far > FAR)
    expected = int(binom.ppf(LEVEL, len(far), NULL_SHARE))
    if len(where) <= expected:
        return []
    worst = where[np.argsort(far[where])[::-1]][:SHOWN]
    share = len(where) / len(far)
    evidence = {
        "windows": len(where),
        "share": share,
        "expected_at_most": expected,
        "threshold": FAR,
        "worst": [
            {"start": format_time(int(dataset.start_ms[at])), "robust_z": float(far[at])} for at in worst
        ],
    }
    return [
        Finding(
            "outliers",
            "warning" if share > HEAVY else "info",
            sensor,
            name,
            evidence,
            f"{len(where)} of {len(far)} windows ({share:.1%}) are more than {FAR:g} standard deviations off",
            "The fit sets such windows aside by itself. Look at the worst ones: zero and span checks of the "
            "analyser should be cut out, plumes at one inlet only mean the inlets stand too far apart.",
        )
    ]
