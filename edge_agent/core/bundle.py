"""The bundle: one sensor's model as a small msgpack file that proves itself on load (docs/bundle.md)."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgpack  # type: ignore[import-untyped]
import numpy as np

from edge_agent.core import checked, packed
from edge_agent.core.errors import BadBundle
from edge_agent.core.kernel import KERNELS, Array
from edge_agent.core.model import Interval, Model
from edge_agent.core.warming import PREFIX, TEMPERATURE

FORMATS = (1, 2, 3)  # 2: no sensor sends some of the channels (`warming`); 3: `power`, or a growing interval
MAX_BYTES = 1_048_576
GOLDEN_PAIRS = 4
GOLDEN_TOLERANCE = 1e-5  # of the target's spread: pairs are float32, and exp() differs in its last bits
SLOWEST_MINUTES = 1440  # cadence: a reading a day, as the longest window is a day
USUAL_S = 900  # of a window
MAX_VALUE_BYTES = 16_384  # of a key that is not an array, packed; provenance is the largest
ARRAYS = ("support", "coefficients", "trend", "golden", "transfer")
OTHERS = (
    *("sensor", "gas", "unit", "channels", "auxiliary", "kernel", "length_scale", "scales", "adapter"),
    *("domain", "provenance", "hold", "warming", "cadence", "window", "interval", "sensor_type", "power"),
    *("calibrated", "valid_until"),
)
OUTER_ROOM = {"format": 16, "sha256": 64, "body": MAX_BYTES}
BODY_ROOM = dict.fromkeys(ARRAYS, MAX_BYTES) | dict.fromkeys(OTHERS, MAX_VALUE_BYTES)


def encode(model: Model) -> bytes:
    """A model as bytes: an outer msgpack map of format, checksum and body; the body is msgpack too."""
    body = msgpack.packb(_body(model))
    return bytes(
        msgpack.packb({"format": _format(model), "sha256": hashlib.sha256(body).digest(), "body": body})
    )


def _format(model: Model) -> int:
    """The lowest format whose readers compute the same."""
    grows = model.interval is not None and model.interval.slope > 0.0
    return 3 if grows or model.power != 1.0 else 2 if model.warming else 1


def decode(data: bytes, name: str = "bundle") -> Model:
    """The model in a bundle, after checks of its checksum, its shapes and its golden pairs."""
    if len(data) > MAX_BYTES:
        raise BadBundle(f"{name}: not a bundle: larger than {MAX_BYTES} bytes")
    outer = packed.unpack(data, name, OUTER_ROOM)
    if (found := outer.get("format")) not in FORMATS:
        advice = "export again with a matching model-export"
        raise BadBundle(
            f"{name}: format {found!r:.20}, this version reads {FORMATS[0]}-{FORMATS[-1]}; {advice}"
        )
    body = outer.get("body")
    if not isinstance(body, bytes) or hashlib.sha256(body).digest() != outer.get("sha256"):
        raise BadBundle(f"{name}: checksum differs, the file was cut or altered; copy or export it again")
    model, golden = _parse(packed.unpack(body, name, BODY_ROOM), name, hashlib.sha256(body).hexdigest())
    if found != _format(model):
        raise BadBundle(f"{name}: format {found} and its content do not go together; export it again")
    _verify(model, golden, name)
    return model


def golden_inputs(model: Model) -> Array:
    """Four inputs (4, d + 1) spread over the training domain, one of them outside it."""
    names = (*model.channels, model.auxiliary)
    scales = (*model.channel_scales, model.auxiliary_scale)
    fallback = [(scale.centre - 2 * scale.spread, scale.centre + 2 * scale.spread) for scale in scales]
    ranges = [model.domain.get(name, between) for name, between in zip(names, fallback, strict=True)]
    low, high = np.array(ranges).T
    places = np.linspace(0.0, 1.2, GOLDEN_PAIRS)[:, None]
    # The offsets differ, so that the channels are not all low or all high together.
    turned = (places + np.arange(len(names)) * 0.37) % 1.3
    return np.asarray((low + turned * (high - low)).astype(np.float32).astype(np.float64))


def _body(model: Model) -> dict[str, Any]:
    inputs = golden_inputs(model)
    outputs = model.predict(inputs[:, :-1], inputs[:, -1])
    body: dict[str, Any] = {
        "sensor": model.sensor,
        "gas": model.gas,
        "unit": model.unit,
        "channels": list(model.channels),
        "auxiliary": model.auxiliary,
        "kernel": model.kernel,
        "length_scale": model.length_scale,
        "scales": [
            [scale.centre, scale.spread]
            for scale in (*model.channel_scales, model.auxiliary_scale, model.target_scale)
        ],
        "support": _bin(model.support),
        "coefficients": _bin(model.coefficients),
        "trend": _bin(model.trend),
        "adapter": list(model.adapter),
        "domain": {name: list(between) for name, between in model.domain.items()},
        "provenance": dict(model.provenance),
        "golden": _bin(np.column_stack([inputs, outputs])),
    }
    if model.transfer is not None:
        body["transfer"] = _bin(model.transfer)
    if model.hold != Model.hold:
        body["hold"] = list(model.hold)
    if model.warming:
        body["warming"] = {channel: memory_ms / 1000 for channel, memory_ms in model.warming.items()}
    if slow := {name: minutes for name, minutes in model.cadence_minutes.items() if minutes > 1}:
        body["cadence"] = slow
    if model.window_ms != USUAL_S * 1000:
        body["window"] = model.window_ms // 1000
    if model.interval is not None:
        body["interval"] = _packed(model.interval)
    if model.sensor_type != Model.sensor_type:
        body["sensor_type"] = model.sensor_type
    if model.power != Model.power:
        body["power"] = model.power
    if model.calibrated_ms is not None:
        body["calibrated"] = model.calibrated_ms // 1000
    if model.valid_until_ms is not None:
        body["valid_until"] = model.valid_until_ms // 1000
    return body


def _packed(interval: Interval) -> list[float]:
    pair = [interval.half_width, interval.level]
    return [*pair, interval.slope, interval.origin] if interval.slope else pair


def _bin(array: Array) -> bytes:
    return array.astype("<f4").tobytes()


def _parse(body: Mapping[str, Any], name: str, digest: str) -> tuple[Model, Array]:
    try:
        return _model(body, f"sha256:{digest[:16]}"), checked.array(body["golden"], GOLDEN_PAIRS)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        # As text: a name for the error itself makes a cycle that keeps the whole bundle in memory.
        detail = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise BadBundle(f"{name}: expected a complete model, got {detail}; export it again") from error


def _model(body: Mapping[str, Any], model_id: str) -> Model:
    channels = checked.channels(body["channels"])
    rows = len(channels) + 1
    *channel_scales, auxiliary_scale, target_scale = (checked.scale(pair) for pair in body["scales"])
    model = Model(
        sensor=checked.name(body["sensor"]),
        gas=checked.text(body["gas"]),
        unit=checked.text(body["unit"]),
        channels=channels,
        auxiliary=checked.name(body["auxiliary"]),
        kernel=checked.text(body["kernel"]),
        length_scale=checked.positive(body["length_scale"]),
        channel_scales=tuple(channel_scales),
        auxiliary_scale=auxiliary_scale,
        target_scale=target_scale,
        support=checked.support(body["support"]),
        coefficients=checked.array(body["coefficients"], rows),
        trend=checked.array(body["trend"], rows),
        hold=checked.ordered_pair(body["hold"]) if "hold" in body else Model.hold,
        transfer=checked.array(body["transfer"], rows - 1) if "transfer" in body else None,
        adapter=checked.pair(body["adapter"]),
        interval=checked.interval(body["interval"]) if "interval" in body else None,
        sensor_type=checked.text(body.get("sensor_type", Model.sensor_type)),
        power=checked.power(body.get("power", Model.power)),
        warming=_warming(body),
        cadence_minutes=_cadence_minutes(body),
        window_ms=checked.window_ms(body.get("window", USUAL_S)),
        calibrated_ms=checked.moment_ms(body["calibrated"]) if "calibrated" in body else None,
        valid_until_ms=checked.moment_ms(body["valid_until"]) if "valid_until" in body else None,
        domain={checked.text(channel): checked.pair(between) for channel, between in body["domain"].items()},
        provenance={
            checked.text(key): value for key, value in body["provenance"].items() if checked.is_fact(value)
        },
        id=model_id,
    )
    if model.kernel not in KERNELS:
        raise ValueError(f"kernel {model.kernel!r:.20}")
    return model


def _warming(body: Mapping[str, Any]) -> dict[str, int]:
    warming = {
        checked.text(channel): checked.memory_ms(seconds)
        for channel, seconds in body.get("warming", {}).items()
    }
    if {*warming} != {channel for channel in body["channels"] if channel.startswith(PREFIX)}:
        raise ValueError(
            f"a memory of {', '.join(warming) or 'nothing'}: expected those of {PREFIX}… channels"
        )
    if warming and body["auxiliary"] != TEMPERATURE:
        raise ValueError(f"warming of {body['auxiliary']!r:.40}")
    return warming


def _cadence_minutes(body: Mapping[str, Any]) -> dict[str, int]:
    cadence = {checked.text(channel): minutes for channel, minutes in body.get("cadence", {}).items()}
    for channel, minutes in cadence.items():
        if channel not in (*body["channels"], body["auxiliary"]) or channel.startswith(PREFIX):
            raise ValueError(f"a cadence of {channel!r:.40}, which no sensor sends")
        if type(minutes) is not int or not 1 <= minutes <= SLOWEST_MINUTES:
            raise ValueError(f"a cadence of {minutes!r:.40} where 1 to {SLOWEST_MINUTES} minutes belong")
    return cadence


def _verify(model: Model, golden: Array, name: str) -> None:
    """Golden pairs catch what a checksum cannot: an agent that computes something else."""
    inputs, expected = golden[:, :-1], golden[:, -1]
    if inputs.shape[1] != len(model.channels) + 1:
        raise BadBundle(f"{name}: golden pairs do not fit the channels; export it again")
    with np.errstate(all="ignore"):
        difference = np.abs(model.predict(inputs[:, :-1], inputs[:, -1]) - expected)
    tolerance = GOLDEN_TOLERANCE * (model.target_scale.spread * abs(model.adapter[0]) + np.abs(expected))
    if not (difference <= tolerance).all():
        raise BadBundle(f"{name}: golden outputs differ, this agent computes something else; export it again")
