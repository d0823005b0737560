"""Working and auxiliary electrode in each other's column.

The gas reaches the working electrode and hardly reaches the auxiliary one. So the working electrode responds
more strongly, and upwards. The response is compared in the channel's unit and in its noise, since gains may
differ. If the first channel responds as well, up or down, the second is not its auxiliary electrode but
another cell, such as NO2 beside O3, and nothing is swapped.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from edge_agent.core.kernel import Array
from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.lag import Moments, slopes
from model_export.doctor.resample import least

LEVEL = 0.999
HARDLY = 0.25  # of the working electrode's response, at most: that of an auxiliary electrode
ROUNDING = 1e-6  # bounds below this count as zero


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """Two channels in each other's column. A recording with a dead channel is not checked.

    Statistic: op2 minus op1 in signal-to-noise ratio and in regression weight; HARDLY of the response of op2
    to the gas, minus that of op1, up or down.
    Null: the differences, the ratio and the weight of op2 are 0; their spread is that of resampled blocks.
    Threshold: the lower LEVEL bound of all six is above 0.
    """
    for case in cases:
        # With three or more channels nothing says which two belong together.
        if case.scan is None or case.dead or len(case.windows.channels) != 2:
            continue
        here = case.scan.moments[case.minutes]
        if (here.variance > 0.0).all():
            yield from _swapped(case, here, case.scan.blocks)


def _swapped(case: Case, here: Moments, blocks: int) -> Iterator[Finding]:
    first, second = case.windows.channels
    responses, ratios, weights = _responses(here), _signal_to_noise(here), _standard_slopes(here)
    more, clearer, carries = (each[:, 1] - each[:, 0] for each in (responses, ratios, weights))
    still = (HARDLY * responses[:, 1] - sign * responses[:, 0] for sign in (1.0, -1.0))
    bounds = (least(each, LEVEL) for each in (ratios[:, 1], clearer, weights[:, 1], carries, *still))
    if min(bounds) <= ROUNDING:
        return
    evidence = {
        "columns": [first, second],
        f"{first}_per_reference": float(responses[0, 0]),
        f"{second}_per_reference": float(responses[0, 1]),
        f"{first}_signal_to_noise": float(ratios[0, 0]),
        f"{second}_signal_to_noise": float(ratios[0, 1]),
        "difference": float(more[0]),
        "difference_at_least": least(more, LEVEL),
        "level": LEVEL,
        "confidence": float(np.mean((more[1:] > 0.0) & (clearer[1:] > 0.0) & (carries[1:] > 0.0))),
        "blocks": blocks,
    }
    yield case.finding(
        "channels_swapped",
        "error",
        evidence,
        f"{first} and {second} are swapped: {second} changes by {responses[0, 1]:.3g} per unit of the "
        f"reference, {first} by {responses[0, 0]:.3g}",
        f"Swap the two columns with --swap {first},{second}. Then correct "
        "the wiring or the labels in the firmware before the sensor is used again.",
    )


def _responses(moments: Moments) -> Array:
    """The change of each channel per unit of the reference, (resamples, d)."""
    return np.asarray(moments.shared[:, 0] / moments.variance[:, :1])


def _signal_to_noise(moments: Moments) -> Array:
    """r/√(1 - r²), where r is the correlation of a channel with the reference, (resamples, d)."""
    spread = np.sqrt(np.diagonal(moments.channels[:, 0], axis1=-2, axis2=-1) * moments.variance[:, :1])
    r = np.divide(moments.shared[:, 0], spread, out=np.zeros_like(spread), where=spread > 0.0)
    return np.asarray(r / np.sqrt(np.maximum(1.0 - r**2, 1e-12)))


def _standard_slopes(moments: Moments) -> Array:
    """The weights of both channels in one regression, in standard deviations of the channels."""
    spread = np.sqrt(np.diagonal(moments.channels[:, 0], axis1=-2, axis2=-1))
    return np.asarray(slopes(moments)[:, 0] * spread)
