"""Windows that no calibration explains: a plume at one inlet only, a zero check that was not flagged.

Errors of sound sensors have heavy tails, and a memory: where the law does not fit, it fails for hours. An
outlier is far off and alone, so a window counts only if it is several times as far off as both beside it.
The null is the double exponential: beyond FAR robust standard deviations it leaves a share of 0.2 %, alone or
not. More than chance allows of that is reported. It matters if plain least squares would follow them.
"""

import numpy as np
from scipy.ndimage import median_filter
from scipy.stats import binom

from edge_agent.core.kernel import Array
from edge_agent.core.messages import format_time
from model_export.doctor.finding import Finding
from model_export.doctor.smooth import Smooth, robust_spread
from model_export.recordings.dataset import Dataset

FAR = 6.0
LEVEL = 0.999
NEIGHBOURS = 9  # windows; what stays for hours is not an outlier but something else
ALONE = 3.0  # times as far off as the windows before and after
MATERIAL = 1.0  # spreads of the error in one window by which a plain fit would be led astray
SHOWN = 10
# Of a double exponential the robust spread is 1.4826·ln 2 scales.
NULL_SHARE = float(np.exp(-FAR * 1.4826 * np.log(2.0)))


def examine(dataset: Dataset, smooth: Smooth, sensor: str, name: str) -> list[Finding]:
    """A finding where more windows lie far off than even heavy-tailed errors would put there."""
    far = _far(smooth.residual)
    beside = np.maximum(np.append(far[1:], 0.0), np.append(0.0, far[:-1]))
    where = np.flatnonzero((far > FAR) & (far > ALONE * beside))
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
        "plain_fit_off_by": (astray := _astray(smooth)),
        "worst": [
            {"start": format_time(int(dataset.start_ms[at])), "robust_z": float(far[at])} for at in worst
        ],
    }
    return [
        Finding(
            "outliers",
            "warning" if astray > MATERIAL else "info",
            sensor,
            name,
            evidence,
            f"{len(where)} of {len(far)} windows ({share:.1%}) are more than {FAR:g} standard deviations "
            "off, each of them alone",
            "The fit sets such windows aside by itself. Look at the worst ones: zero and span checks of the "
            "analyser should be cut out, plumes at one inlet only mean the inlets stand too far apart.",
        )
    ]


def _far(residual: Array) -> Array:
    """How far each window lies from those around it, in robust standard deviations."""
    sudden = residual - median_filter(residual, NEIGHBOURS, mode="nearest")
    return np.asarray(np.abs(sudden) / (robust_spread(sudden) or 1.0))


def _astray(smooth: Smooth) -> float:
    """What outliers would do to plain least squares: its distance from the law, in spreads of the error."""
    plain = smooth.design @ (np.linalg.pinv(smooth.design) @ smooth.data.y)
    return float(np.sqrt(np.mean((plain - smooth.fitted) ** 2)) / (smooth.spread or 1.0))
