"""Statistics that a few bad values do not change, for the agent and for the doctor."""

import numpy as np

from edge_agent.core.kernel import Array

NORMAL = 1.4826  # times the median absolute deviation is the standard deviation of normal values


def robust_spread(values: Array) -> float:
    """1.4826·MAD, the standard deviation of normal values; the plain one where the MAD is 0.

    >>> round(robust_spread(np.array([1.0, 2.0, 3.0, 4.0, 100.0])), 4)
    1.4826
    """
    return NORMAL * float(np.median(np.abs(values - np.median(values)))) or float(np.std(values))


def medians(values: Array) -> Array:
    """The median of each row (m, n) without its missing values, (m,); NaN for a row without values.

    >>> medians(np.array([[1.0, 5.0, np.nan], [3.0, 1.0, 2.0]])).tolist()
    [3.0, 2.0]
    """
    rows = np.sort(values, axis=1)  # missing values come last
    last = np.maximum(np.sum(~np.isnan(rows), axis=1) - 1, 0)
    each = np.arange(len(rows))
    return np.asarray((rows[each, last // 2] + rows[each, (last + 1) // 2]) / 2.0)
