"""The pure core: a reading from bytes to window, a prediction, a bundle's size."""

import io
import itertools
import json

import joblib  # type: ignore[import-untyped]
import numpy as np
from sklearn.kernel_ridge import KernelRidge  # type: ignore[import-untyped]

from edge_agent.core import bundle
from edge_agent.core.messages import Decoder, Reading
from edge_agent.core.model import Model
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Windows
from tests.bench.subscriber import bare_cpu_us
from tests.bench.table import cpu_us, row
from tests.conftest import make_model, make_warming_model

START_MS = 1_706_778_000_000


def main() -> None:
    """Print each figure beside its bound."""
    reading_us = one_reading_us()
    bare_us = bare_cpu_us(messages=30_000)
    row("decode + window of one JSON reading", reading_us, "us CPU", at_most=8)
    row("the same, of what a bare paho QoS 1 subscriber spends", 100 * reading_us / bare_us, "%", at_most=15)
    model, ridge = make_model(), trained_ridge()
    one_us, power_us = (one_estimate_us(make_model(power=power)) for power in (1.0, 0.5))
    point = np.array([[0.1, 0.2, 0.3]])
    ridge_us = cpu_us(lambda: ridge.predict(point), 500)
    row("one prediction, 32 support vectors", one_us, "us CPU", at_most=10)
    row("the same with a power of the signal", power_us, "us CPU", at_most=10)
    row(
        "a whole window with a power: coverage, quality, estimate", window_us(make_model(power=0.5)), "us CPU"
    )
    row("a whole window with warming", window_us(make_warming_model()), "us CPU")
    row("faster than scikit-learn's KernelRidge with as many", ridge_us / one_us, "x", at_least=15)
    stored = io.BytesIO()
    joblib.dump(ridge, stored)
    row("a bundle of 32 support vectors, all metadata", len(bundle.encode(model)), "bytes", at_most=1280)
    row("joblib of the same KernelRidge", len(stored.getvalue()), "bytes")


def one_reading_us() -> float:
    """CPU per reading over 600 topics, each a minute after the last, including closing windows."""
    decoder, windows = Decoder(), Windows()
    stream = itertools.cycle(
        (f"sensors/S{n % 200}/{('op1', 'op2', 'temperature')[n // 200]}", n) for n in range(600)
    )
    messages = []
    for minute in range(40):
        for _ in range(600):
            topic, n = next(stream)
            stamp = f"2024-02-01T10:{minute:02}:{n % 60:02}Z"
            messages.append((topic, json.dumps({"value": 231.4 + n / 100, "at": stamp}).encode()))
    feed = iter(itertools.cycle(messages))

    def once() -> None:
        topic, payload = next(feed)
        for reading in decoder.decode(topic, payload):
            windows.add(reading, START_MS)

    return cpu_us(once, len(messages), rounds=3)


def one_estimate_us(model: Model) -> float:
    """CPU of one estimate with its weights, as the agent makes it."""
    return cpu_us(lambda: model.explain([231.4, 206.1], 24.3), 5_000)


def window_us(model: Model) -> float:
    """CPU from a closed window to its estimate."""
    windows = Windows()
    for minute in range(17):
        at_ms = START_MS + 60_000 * minute
        for channel, value in (("op1", 231.4), ("op2", 206.1), ("temperature", 24.3)):
            windows.add(Reading(model.sensor, channel, at_ms, value + minute / 10), at_ms)
    [window] = windows.close(START_MS + 60_000 * 18)
    pipeline = Pipeline(windows, {model.sensor: model})
    return cpu_us(lambda: pipeline.estimate(window), 1_000)


def trained_ridge() -> KernelRidge:
    """scikit-learn's kernel ridge with 32 training points in three inputs."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(32, 3))
    return KernelRidge(kernel="laplacian").fit(inputs, inputs.sum(axis=1))
