"""The block bootstrap: neighbouring minutes are not independent, so whole blocks of time are resampled."""

import numpy as np
from scipy.special import ndtri

from edge_agent.core.kernel import Array

RESAMPLES = 200


def block_weights(blocks: int, seed: int = 0) -> Array:
    """How often each block is drawn, (1 + RESAMPLES, blocks); the first row is the data themselves.

    >>> {*block_weights(3).sum(axis=1).tolist()}
    {3.0}
    """
    rng = np.random.default_rng([seed, blocks])
    drawn = rng.multinomial(blocks, np.full(blocks, 1.0 / blocks), size=RESAMPLES)
    return np.vstack([np.ones(blocks), drawn]).astype(float)


def interval(values: Array, level: float) -> tuple[float, float]:
    """The middle `level` of the resampled values; the first value is the estimate and does not count."""
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(values[1:], [tail, 100.0 - tail])
    return float(low), float(high)


def least(values: Array, level: float) -> float:
    """The lower bound of the estimate, the first value; the others give its normal standard error."""
    return float(values[0] - ndtri(level) * values[1:].std())
