"""Do the weight curves mean anything? The paper's sign of a swapped sensor: weights that jump about.

Around the smooth law the null draws what the same errors, moved in time so that they have nothing to do with
the temperature, would make of the curves. The roughness of a weight is that null band over the weight itself:
where it is above 1, the channel that should carry the gas cannot be told from noise.
"""

from dataclasses import dataclass

import numpy as np

from edge_agent.core.kernel import Array
from model_export.doctor.finding import Finding
from model_export.doctor.smooth import Smooth
from model_export.recordings.dataset import Dataset
from model_export.regression.solver import Ridge, functions, regressors

DRAWS = 199
LEVEL = 0.99
PLACES = 40  # temperatures, at equal shares of the windows
INNER = (0.025, 0.975)  # the ends hold too few windows for any curve
LENGTH_SCALE, RIDGE, TREND = 0.5, 1.0, 10.0  # rather free; tuning may go further


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The weights over temperature as fitted, all standardised, and the band that noise alone fills."""

    temperatures: Array  # (p,), °C
    weights: Array  # (p, d + 1)
    band: Array  # (p, d + 1): with LEVEL no null curve leaves it anywhere
    carrier: int  # the channel of the largest weight, which should carry the gas

    @property
    def roughness(self) -> Array:
        """The band over the carrier's weight, infinite where that has changed sign, (p,)."""
        weight = self.weights[:, self.carrier]
        upright = weight * np.sign(np.median(weight))
        return np.where(
            upright > 0.0, self.band[:, self.carrier] / np.where(upright > 0.0, upright, 1.0), np.inf
        )


def curves(smooth: Smooth, seed: int = 0) -> Curves:
    """Weights fitted with much freedom, and what as much freedom makes of errors alone."""
    data = smooth.data
    u = regressors(data.x)
    ridge = Ridge(functions("matern32", LENGTH_SCALE, data.z, u), data.z, u, RIDGE, TREND)
    at = np.quantile(data.z, np.linspace(*INNER, PLACES))
    weights = ridge.weights(smooth.fitted + smooth.tamed).at(at)
    null = np.array([ridge.weights(error).at(at) for error in _moved(smooth.tamed, seed)])
    spread = np.maximum(null.std(axis=0), 1e-12)
    widest = np.quantile(np.max(np.abs(null) / spread, axis=1), LEVEL, axis=0)
    scale = data.auxiliary_scale
    carrier = int(np.argmax(np.abs(np.median(weights[:, :-1], axis=0))))
    return Curves(scale.centre + scale.spread * at, weights, widest * spread, carrier)


def examine(dataset: Dataset, found: Curves, sensor: str, name: str) -> list[Finding]:
    """A finding where at some temperature the carrier's weight drowns in noise."""
    rough = found.roughness >= 1.0
    if not rough.any():
        return []
    channel, lost = dataset.channels[found.carrier], found.temperatures[rough]
    worst = float(found.temperatures[np.argmax(found.roughness)])
    evidence = {
        "channel": channel,
        "share": float(rough.mean()),
        "roughness": float(np.median(found.roughness)),
        "threshold": 1.0,
        "level": LEVEL,
        "temperatures": [float(at) for at in lost],
        "worst_temperature": worst,
    }
    return [
        Finding(
            "erratic_weights",
            "warning",
            sensor,
            name,
            evidence,
            f"the weight of {channel} cannot be told from noise for {rough.mean():.0%} of the windows, worst "
            f"at {worst:.1f} °C",
            "Do not trust a calibration of this recording at these temperatures. Check for swapped channels "
            "or sensors and a wrong clock first; if there are none, the gas hardly varied there: record for "
            "longer.",
        )
    ]


def _moved(error: Array, seed: int) -> list[Array]:
    """The errors begun at another moment, and half of them upside down: same memory, no meaning."""
    chance, n = np.random.default_rng(seed), len(error)
    places = chance.integers(n // 20, n - n // 20, DRAWS)
    return [
        np.roll(error, place) * sign
        for place, sign in zip(places, chance.choice((-1.0, 1.0), DRAWS), strict=True)
    ]
