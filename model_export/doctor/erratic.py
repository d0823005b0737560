"""Weight curves that are noise: the paper's sign of a swapped sensor.

The smooth law's residuals are shifted in time, so that they no longer depend on the temperature. Curves
fitted to them show what noise alone makes of the weights: the null band. Roughness is the null band divided
by the weight.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edge_agent.core.kernel import Array
from model_export.doctor.case import Case
from model_export.doctor.finding import Finding
from model_export.doctor.smooth import Smooth
from model_export.regression.form import regressors
from model_export.regression.solver import Ridge, functions

DRAWS = 199
LEVEL = 0.99
PLACES = 40  # temperatures, at equal shares of the windows
INNER = (0.025, 0.975)  # there are too few windows beyond them for any curve
LIMITING = 0.1  # share of the windows; below it a curve is rough at the edge of the temperatures
LENGTH_SCALE, RIDGE, TREND = 0.5, 1.0, 10.0  # less smooth than usual tuning results


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The fitted weights over temperature, standardised, and their null band."""

    temperatures: Array  # (p,), °C
    weights: Array  # (p, d + 1)
    band: Array  # (p, d + 1); a share LEVEL of null curves is inside it at every temperature
    carrier: int  # the channel with the largest weight, which should respond to the gas

    @property
    def roughness(self) -> Array:
        """The null band divided by the carrier's weight; infinite where the weight changes sign, (p,)."""
        weight = self.weights[:, self.carrier]
        upright = weight * np.sign(np.median(weight))
        return np.where(
            upright > 0.0, self.band[:, self.carrier] / np.where(upright > 0.0, upright, 1.0), np.inf
        )


def curves(smooth: Smooth) -> Curves:
    """Weights fitted with little smoothing, and the null band of such a fit."""
    data = smooth.data
    u = regressors(data.x)
    ridge = Ridge(functions("matern32", LENGTH_SCALE, data.z, u), data.z, u, RIDGE, TREND)
    at = np.quantile(data.z, np.linspace(*INNER, PLACES))
    weights = ridge.weights(smooth.fitted + smooth.tamed).at(at)
    null = np.array([ridge.weights(error).at(at) for error in _moved(smooth.tamed)])
    spread = np.maximum(null.std(axis=0), 1e-12)
    widest = np.quantile(np.max(np.abs(null) / spread, axis=1), LEVEL, axis=0)
    scale = data.auxiliary_scale
    carrier = int(np.argmax(np.abs(np.median(weights[:, :-1], axis=0))))
    return Curves(scale.centre + scale.spread * at, weights, widest * spread, carrier)


def check(cases: Sequence[Case]) -> Iterator[Finding]:
    """A main weight that is noise at some temperatures.

    Statistic: the roughness of the largest weight at PLACES temperatures.
    Null: the weight is 0; the band holds a share LEVEL of curves fitted to shifted residuals.
    Threshold: a roughness of 1 at any temperature. It is a warning if LIMITING of the windows are there.
    """
    for case in cases:
        if case.law is not None:
            found = curves(case.law)
            if (found.roughness >= 1.0).any():
                yield finding(case, found)


def finding(case: Case, found: Curves) -> Finding:
    """The finding of curves that are noise at some temperature."""
    rough = found.roughness >= 1.0
    channel = case.windows.channels[found.carrier]
    worst = float(found.temperatures[np.argmax(found.roughness)])
    evidence = {
        "channel": channel,
        "share": float(rough.mean()),
        "roughness": float(np.median(found.roughness)),
        "threshold": 1.0,
        "level": LEVEL,
        "temperatures": [float(at) for at in found.temperatures[rough]],
        "worst_temperature": worst,
    }
    return case.finding(
        "erratic_weights",
        "warning" if rough.mean() >= LIMITING else "info",
        evidence,
        f"the weight of {channel} is not above noise for {rough.mean():.0%} of the windows, worst at "
        f"{worst:.1f} °C",
        "Do not trust a calibration from this recording at these temperatures. Check for swapped channels "
        "or sensors and a wrong clock first. If there are none, the gas hardly varied there: record for "
        "longer.",
    )


def _moved(error: Array) -> list[Array]:
    """The residuals rotated in time, half of them with the sign changed: same autocorrelation, no signal."""
    rng, n = np.random.default_rng(0), len(error)
    places = rng.integers(n // 20, n - n // 20, DRAWS)
    return [
        np.roll(error, place) * sign
        for place, sign in zip(places, rng.choice((-1.0, 1.0), DRAWS), strict=True)
    ]
