"""A model for people and dashboards: its identity, its training range, its weights over temperature."""

from dataclasses import asdict
from typing import Any

import numpy as np

from edge_agent.core.messages import format_time
from edge_agent.core.model import Model

POINTS = 41


def card(model: Model) -> dict[str, Any]:
    """The model as a JSON map, with w1, w2, … and the bias sampled over its training temperatures."""
    return {
        "v": 1,
        "sensor": model.sensor,
        "id": model.id,
        "gas": model.gas,
        "unit": model.unit,
        "channels": list(model.channels),
        "auxiliary": model.auxiliary,
        "window": model.window_ms // 1000,
        "warming": {name: memory_ms / 1000 for name, memory_ms in model.warming.items()},
        "kernel": model.kernel,
        "support": len(model.support),
        "domain": {name: list(between) for name, between in model.domain.items()},
        "sensor_type": model.sensor_type,
        "power": model.power,
        "interval": model.interval and asdict(model.interval),
        "calibrated": None if model.calibrated_ms is None else format_time(model.calibrated_ms),
        "valid_until": valid_until(model),
        "provenance": dict(model.provenance),
        "curves": curves(model),
    }


def valid_until(model: Model | None) -> str | None:
    """When the calibration is too old; None if it never is."""
    return None if model is None or model.valid_until_ms is None else format_time(model.valid_until_ms)


def inspection(model: Model, size_bytes: int) -> dict[str, Any]:
    """The card and what else a bundle holds, as both `inspect` commands print it."""
    scales = (*model.channel_scales, model.auxiliary_scale, model.target_scale)
    names = (*model.channels, model.auxiliary, model.gas)
    return {
        **card(model),
        "bytes": size_bytes,
        "length_scale": model.length_scale,
        "scales": {name: [each.centre, each.spread] for name, each in zip(names, scales, strict=True)},
        "adapter": list(model.adapter),
        "transfer": None if model.transfer is None else model.transfer.tolist(),
        "support_vectors": model.support.tolist(),
    }


def description(model: Model, size_bytes: int) -> list[tuple[str, str]]:
    """What a person asks a bundle, as names and texts: for whom, until when, how good, for which inputs."""
    told = card(model)
    gain, offset = model.adapter
    dataset, r2 = (model.provenance.get(name) for name in ("dataset", "r2_test"))
    interval = model.interval
    more = ", more at high values" if interval and interval.slope else ""
    days = [told[name] and told[name][:10] for name in ("calibrated", "valid_until")]
    rows = [
        ("sensor", f"{model.sensor}, {model.gas} in {model.unit}, {model.sensor_type}"),
        ("model", f"{model.id}, {size_bytes} bytes"),
        ("windows", f"{model.window_ms // 60_000} min"),
        ("trained on", f"{dataset or 'unknown'}" + (f", R² {r2:.2f} there" if isinstance(r2, float) else "")),
        ("calibrated", f"{days[0] or 'unknown'}, valid {f'until {days[1]}' if days[1] else 'for ever'}"),
        (
            "interval",
            f"{interval.level:.0%}, ± {interval.half_width:.3g} {model.unit}{more}" if interval else "none",
        ),
        ("adapter", f"gain {gain:.3g}, offset {offset:+.3g} {model.unit}" if gain != 1 or offset else "none"),
        ("transfer", "none" if model.transfer is None else "from another sensor"),
        *((name, f"trained from {low:.4g} to {high:.4g}") for name, (low, high) in model.domain.items()),
    ]
    return [(name, text if text.isprintable() else ascii(text)) for name, text in rows]


def curves(model: Model) -> dict[str, list[float]]:
    """Each weight at evenly spaced temperatures over the training domain (or ± 2 spreads without one)."""
    scale = model.auxiliary_scale
    fallback = (scale.centre - 2 * scale.spread, scale.centre + 2 * scale.spread)
    temperatures = np.linspace(*model.domain.get(model.auxiliary, fallback), POINTS)
    sampled = zip((*model.channels, "bias"), model.weights(temperatures).T, strict=True)
    return {
        model.auxiliary: [float(f"{t:.6g}") for t in temperatures],
        **{name: [float(f"{weight:.6g}") for weight in column] for name, column in sampled},
    }
