"""Are working and auxiliary electrode labelled the right way round?

The working electrode meets the gas, the auxiliary one is hidden from it. So of the two the working one
answers the gas more strongly, and upwards, even where the auxiliary answers a little too. Three things must
be plain for the labels to be called wrong: the second channel answers more, in its own unit, and since gains
may differ also in its own noise; and in a regression on both it is the one that carries the gas.
"""

import numpy as np

from edge_agent.core.kernel import Array
from model_export.doctor.finding import Finding
from model_export.doctor.lag import Moments, Scan, slopes
from model_export.doctor.resample import least

LEVEL = 0.999
ROUNDING = 1e-6  # what is less is none


def examine(
    scan: Scan | None, minutes: int, channels: tuple[str, ...], sensor: str, dataset: str
) -> list[Finding]:
    """A finding where the second of two channels is plainly the working electrode.

    The reference's clock is put right by `minutes` first. One channel cannot be swapped, and of three or more
    nothing says which belong together.
    """
    if scan is None or len(channels) != 2:
        return []
    here = scan.moments[minutes]
    if not (here.variance > 0.0).all():
        return []
    answers, weights = _answers(here), _standard_slopes(here)
    ratios = _signal_to_noise(here)
    more, clearer, carries = (each[:, 1] - each[:, 0] for each in (answers, ratios, weights))
    if min(least(each, LEVEL) for each in (ratios[:, 1], more, clearer, weights[:, 1], carries)) <= ROUNDING:
        return []
    evidence = {
        f"{channels[0]}_per_reference": float(answers[0, 0]),
        f"{channels[1]}_per_reference": float(answers[0, 1]),
        f"{channels[0]}_signal_to_noise": float(ratios[0, 0]),
        f"{channels[1]}_signal_to_noise": float(ratios[0, 1]),
        "difference": float(more[0]),
        "difference_at_least": least(more, LEVEL),
        "level": LEVEL,
        "confidence": float(np.mean((more[1:] > 0.0) & (clearer[1:] > 0.0) & (carries[1:] > 0.0))),
        "blocks": scan.blocks,
    }
    return [_finding(channels, sensor, dataset, evidence, answers[0])]


def _finding(
    channels: tuple[str, ...], sensor: str, dataset: str, evidence: dict[str, float], answers: Array
) -> Finding:
    first, second = channels
    return Finding(
        "channels_swapped",
        "error",
        sensor,
        dataset,
        evidence,
        f"{second} answers the gas ({answers[1]:.3g} per unit of the reference) and {first} does not or less "
        f"({answers[0]:.3g}): the working electrode stands in the column of the auxiliary one",
        f"Swap the two columns, for example with --columns {first}={second},{second}={first}; then look for "
        "the cause in the wiring or the firmware's labels before the sensor goes out again.",
    )


def _answers(moments: Moments) -> Array:
    """The change of each channel with the gas, in channel units per unit of the reference, (resamples, d)."""
    return np.asarray(moments.shared[:, 0] / moments.variance[:, :1])


def _signal_to_noise(moments: Moments) -> Array:
    """How much of each channel goes with the gas, over what does not, r/√(1 - r²), signed, (resamples, d)."""
    spread = np.sqrt(np.diagonal(moments.channels[:, 0], axis1=-2, axis2=-1) * moments.variance[:, :1])
    r = np.divide(moments.shared[:, 0], spread, out=np.zeros_like(spread), where=spread > 0.0)
    return np.asarray(r / np.sqrt(np.maximum(1.0 - r**2, 1e-12)))


def _standard_slopes(moments: Moments) -> Array:
    """The weights of both channels in one regression, in standard deviations, whatever their units."""
    spread = np.sqrt(np.diagonal(moments.channels[:, 0], axis1=-2, axis2=-1))
    return np.asarray(slopes(moments)[:, 0] * spread)
