"""R² of the reference on the channels for every lag, in minutes, between the two clocks.

The sums that a linear regression needs come from an FFT, for each block of 6 hours and each lag. A regression
on resampled blocks is then a weighted sum, so a block bootstrap of the whole scan costs one matrix product.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from model_export.doctor.minutes import Minutes, fast
from model_export.doctor.resample import block_weights

FURTHEST = 14 * 60  # minutes; no time zone is further from UTC
BLOCK = 360  # minutes; longer than the autocorrelation that `fast` leaves
FEWEST_BLOCKS = 8  # two days
LEAST_SHARE = 0.5  # of the largest overlap; with fewer minutes a high R² is chance
_JITTER = 1e-9  # share of the variance, so that two equal channels can be solved


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums of products of the reference y and the channels x, for each block and lag."""

    n: Array  # (blocks, lags)
    y: Array
    yy: Array
    x: Array  # (d, blocks, lags)
    xy: Array
    xx: Array  # (d, d, blocks, lags)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Variances and covariances for each resample (the first is the data) and each lag."""

    variance: Array  # of y, (resamples, lags)
    shared: Array  # of y and each channel, (resamples, lags, d)
    channels: Array  # (resamples, lags, d, d)
    enough: NDArray[np.bool_]  # whether enough minutes overlap, (resamples, lags)

    def at(self, place: int) -> "Moments":
        """A copy of one lag's moments, so that the large arrays of all lags can be freed."""
        one = slice(place, place + 1)
        return Moments(
            self.variance[:, one].copy(),
            self.shared[:, one].copy(),
            self.channels[:, one].copy(),
            self.enough[:, one].copy(),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """R² at each lag; a lag of 60 pairs the reference stamped 10:00 with the channels at 11:00."""

    lags: NDArray[np.int64]  # minutes
    explained: Array  # R² of the reference on the channels, (lags,)
    best: NDArray[np.int64]  # the lag with the highest R², of the data and of each resample
    moments: Mapping[int, Moments]  # at two lags: 0, as stamped, and the best
    blocks: int


def scan(minutes: Minutes, furthest: int = FURTHEST, seed: int = 0) -> Scan | None:
    """The scan over ± `furthest` minutes, or None where too few blocks overlap."""
    sums = _sums(fast(minutes), furthest)
    usable = sums.n.max(axis=1) > 0.0
    if usable.sum() < FEWEST_BLOCKS:
        return None
    moments = _moments(sums, usable, block_weights(int(usable.sum()), seed))
    share = explained(moments)
    places, lags = np.argmax(share, axis=1), np.arange(-furthest, furthest + 1)
    return Scan(
        lags,
        share[0].copy(),
        lags[places],
        {int(lags[place]): moments.at(int(place)) for place in (furthest, places[0])},
        int(usable.sum()),
    )


def slopes(moments: Moments) -> Array:
    """The slopes of the reference on all channels together, (resamples, lags, d)."""
    size = np.diagonal(moments.channels, axis1=-2, axis2=-1)[..., None]
    ridge = np.where(size > 0.0, _JITTER * size, 1.0) * np.eye(moments.shared.shape[-1])
    return np.asarray(np.linalg.solve(moments.channels + ridge, moments.shared[..., None])[..., 0])


def explained(moments: Moments) -> Array:
    """R² of that regression, (resamples, lags)."""
    part = np.einsum("...d,...d->...", slopes(moments), moments.shared)
    varies = moments.enough & (moments.variance > 0.0)
    return np.where(varies, part / np.where(varies, moments.variance, 1.0), 0.0)


def _moments(sums: Sums, usable: NDArray[np.bool_], weights: Array) -> Moments:
    """Means and covariances of every resample; `weights` are (resamples, usable blocks)."""
    n, y, yy, x, xy, xx = (
        np.tensordot(weights, part[..., usable, :], axes=(1, part.ndim - 2))
        for part in (sums.n, sums.y, sums.yy, sums.x, sums.xy, sums.xx)
    )
    enough = n >= LEAST_SHARE * n.max(axis=1, keepdims=True)
    n = np.maximum(n, 1.0)
    y, yy = y / n, yy / n
    x, xy, xx = x / n[:, None], xy / n[:, None], xx / n[:, None, None]
    shared = xy - x * y[:, None]
    channels = xx - x[:, :, None] * x[:, None, :]
    return Moments(yy - y**2, np.moveaxis(shared, 1, 2), np.moveaxis(channels, -1, 1), enough)


def _sums(minutes: Minutes, furthest: int) -> Sums:
    d, n = minutes.channels.shape
    blocks = -(-n // BLOCK)
    sensed = np.isfinite(minutes.channels).all(axis=0)
    x = np.where(sensed, minutes.channels, 0.0)
    there = np.isfinite(minutes.reference)
    y = np.where(there, minutes.reference, 0.0)
    pairs = list(combinations_with_replacement(range(d), 2))
    ahead = np.array([sensed, *x, *(x[i] * x[j] for i, j in pairs)], dtype=float)
    size = 1 << (BLOCK + 2 * furthest - 1).bit_length()
    sensor = np.fft.rfft(_blocks(ahead, blocks, furthest), size)
    reference = np.conj(np.fft.rfft(_blocks(np.array([there, y, y * y], dtype=float), blocks, 0), size))

    def correlate(i: int, j: int) -> Array:
        return np.fft.irfft(sensor[i] * reference[j], size)[:, : 2 * furthest + 1]

    xx = np.empty((d, d, blocks, 2 * furthest + 1))
    for place, (i, j) in enumerate(pairs):
        xx[i, j] = xx[j, i] = correlate(1 + d + place, 0)
    return Sums(
        n=np.rint(correlate(0, 0)),
        y=correlate(0, 1),
        yy=correlate(0, 2),
        x=np.array([correlate(1 + i, 0) for i in range(d)]),
        xy=np.array([correlate(1 + i, 1) for i in range(d)]),
        xx=xx,
    )


def _blocks(rows: Array, blocks: int, margin: int) -> Array:
    """(rows, n) cut into (rows, blocks, BLOCK + 2·margin): each block with a margin on both sides."""
    padded = np.pad(rows, ((0, 0), (margin, margin + blocks * BLOCK - rows.shape[1])))
    return np.stack(
        [padded[:, block * BLOCK : (block + 1) * BLOCK + 2 * margin] for block in range(blocks)], axis=1
    )
