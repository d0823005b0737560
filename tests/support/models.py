"""Small models with known weights, for tests of code that uses a model."""

import numpy as np

from edge_agent.core.kernel import Array
from edge_agent.core.model import Interval, Model, Scale
from model_export.recordings.dataset import Dataset


def linear(sensor: str = "5A2D", half_width: float | None = None) -> Model:
    """y = 0.02·op1 - 0.01·op2 + 0.001·T + 0.3, roughly: with a bump over temperature."""
    return Model(
        sensor=sensor,
        gas="CO",
        unit="ppm",
        channels=("op1", "op2"),
        kernel="matern32",
        length_scale=0.8,
        channel_scales=(Scale(230.0, 20.0), Scale(200.0, 10.0)),
        auxiliary_scale=Scale(20.0, 5.0),
        target_scale=Scale(1.0, 0.5),
        support=np.array([-1.0, 0.5]),
        coefficients=np.array([[0.1, -0.05], [0.02, 0.03], [0.05, 0.0]]),
        trend=np.array([[0.8, 0.05], [-0.2, 0.0], [0.1, 0.01]]),
        interval=None if half_width is None else Interval(half_width, 0.9),
        domain={"op1": (190.0, 270.0), "op2": (180.0, 220.0), "temperature": (10.0, 30.0)},
        provenance={"dataset": "made up"},
    )


def drawn(n: int, seed: int = 0, noise: float = 0.0) -> Dataset:
    """n windows of independent inputs whose reference is the model's estimate plus noise."""
    random = np.random.default_rng(seed)
    inputs: Array = random.normal([230.0, 200.0], [20.0, 10.0], size=(n, 2))
    auxiliary = random.normal(20.0, 5.0, n)
    return Dataset(
        name="drawn.csv",
        sensor="5A2D",
        channels=("op1", "op2"),
        unit="ppm",
        start_ms=1_706_745_600_000 + 900_000 * np.arange(n, dtype=np.int64),
        inputs=inputs,
        auxiliary=auxiliary,
        target=linear().predict(inputs, auxiliary) + random.normal(0.0, noise, n),
    )
