"""R² of the reference on the channels for every lag, in minutes, between the two clocks.

The sums that a linear regression needs come from an FFT, for each block of 6 hours and each lag. A regression
on resampled blocks is then a weighted sum, so a block bootstrap of the whole scan costs one matrix product.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from edge_agent.core.kernel import Array
from model_export.doctor.minutes import Minutes, fast
from model_export.doctor.resample import RESAMPLES, block_weights

FURTHEST = 14 * 60  # minutes; no time zone is further from UTC
BLOCK = 360  # minutes; longer than the autocorrelation that `fast` leaves
FEWEST_BLOCKS = 8  # two days
AT_ONCE = 256  # blocks, which are 64 days
LEAST_SHARE = 0.5  # of the largest overlap; with fewer minutes a high R² is chance
_JITTER = 1e-9  # share of the variance, so that two equal channels can be solved


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


def scan(minutes: Minutes) -> Scan | None:
    """The scan over ± FURTHEST minutes, or None where too few blocks overlap."""
    x, y = _padded(fast(minutes))
    usable = _usable(x, y)
    blocks = int(usable.sum())
    if blocks < FEWEST_BLOCKS:
        return None
    weights = np.zeros((1 + RESAMPLES, len(usable)))
    weights[:, usable] = block_weights(blocks)
    moments = _moments(x, y, weights)
    share = explained(moments)
    places, lags = np.argmax(share, axis=1), np.arange(-FURTHEST, FURTHEST + 1)
    return Scan(
        lags,
        share[0].copy(),
        lags[places],
        {int(lags[place]): moments.at(int(place)) for place in (FURTHEST, places[0])},
        blocks,
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


def _padded(minutes: Minutes) -> tuple[Array, Array]:
    """The channels (d, m + 2·FURTHEST) and the reference (m,): NaN fills the last block and the margins."""
    fill = -len(minutes.reference) % BLOCK
    margins = (0, 0), (FURTHEST, FURTHEST + fill)
    x = np.pad(minutes.channels, margins, constant_values=np.nan)
    return x, np.pad(minutes.reference, (0, fill), constant_values=np.nan)


def _usable(x: Array, y: Array) -> NDArray[np.bool_]:
    """The blocks that have a minute of the reference with one of the channels at any lag."""
    sensed = np.cumsum(np.isfinite(x).all(axis=0))
    lags = x.shape[1] - len(y)
    near = sensed[lags:] > np.concatenate([[0], sensed[: -lags - 1]])[: len(y)]
    return np.asarray((np.isfinite(y) & near).reshape(-1, BLOCK).any(axis=1))


def _moments(x: Array, y: Array, weights: Array) -> Moments:
    """Means and covariances of every resample; `weights` are (resamples, blocks)."""
    d, lags = len(x), x.shape[1] - len(y)
    totals: list[Array] = []
    # A part at a time: the sums of all blocks of a year take half a gigabyte.
    for first in range(0, weights.shape[1], AT_ONCE):
        drawn = weights[:, first : first + AT_ONCE]
        start, after = first * BLOCK, (first + drawn.shape[1]) * BLOCK
        found = [drawn @ each for each in _sums(x[:, start : after + lags], y[start:after])]
        totals = [a + b for a, b in zip(totals, found, strict=True)] if totals else found
    n = np.rint(totals[0])
    enough = n >= LEAST_SHARE * n.max(axis=1, keepdims=True)
    _, y1, yy, *rest = (each / np.maximum(n, 1.0) for each in totals)
    x1, xy = np.stack(rest[: 2 * d : 2], axis=-1), np.stack(rest[1 : 2 * d : 2], axis=-1)
    channels = np.empty((*n.shape, d, d))
    for (i, j), xx in zip(_pairs(d), rest[2 * d :], strict=True):
        channels[..., i, j] = channels[..., j, i] = xx - x1[..., i] * x1[..., j]
    return Moments(yy - y1**2, xy - x1 * y1[..., None], channels, enough)


def _sums(x: Array, y: Array) -> Iterator[Array]:
    """Σ of 1, y, y²; x and xy of each channel; xx of each pair: (blocks, lags) each, in this order."""
    lags = x.shape[1] - len(y)
    size = 1 << (BLOCK + lags - 1).bit_length()
    sensed, there = np.isfinite(x).all(axis=0), np.isfinite(y)
    x, y = np.where(sensed, x, 0.0), np.where(there, y, 0.0)

    def spectra(row: Array) -> NDArray[np.complex128]:
        return np.fft.rfft(sliding_window_view(row, BLOCK + len(row) - len(there))[::BLOCK], size)

    references = [np.conj(spectra(row)) for row in (there.astype(float), y, y * y)]
    channels = [
        (sensed.astype(float), 3),
        *((each, 2) for each in x),
        *((x[i] * x[j], 1) for i, j in _pairs(len(x))),
    ]
    for row, powers in channels:
        ahead = spectra(row)
        for reference in references[:powers]:
            yield np.fft.irfft(ahead * reference, size)[:, : lags + 1]


def _pairs(d: int) -> list[tuple[int, int]]:
    return [*combinations_with_replacement(range(d), 2)]
