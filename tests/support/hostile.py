"""Hostile bundles: whatever a person with a msgpack library can put in a file with a right checksum."""

import hashlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import msgpack  # type: ignore[import-untyped]
import numpy as np
import pytest

from edge_agent.core import bundle
from tests.conftest import make_model

Body = dict[str, Any]


def sealed(body: Body, **outer: object) -> bytes:
    """A bundle whose checksum is right, whatever its body says."""
    packed = msgpack.packb(body)
    digest = hashlib.sha256(packed).digest()
    return bytes(msgpack.packb({"format": 1, "sha256": digest, "body": packed, **outer}))


def sound_body(sensor: str) -> Body:
    """The body of a bundle that is accepted."""
    return dict(msgpack.unpackb(msgpack.unpackb(bundle.encode(make_model(sensor)))["body"]))


needs_fast_msgpack = pytest.mark.skipif(
    msgpack.Packer.__module__ == "msgpack.fallback",
    reason="needs msgpack's C extension: without it a thousand bundles take minutes",
)


def nested(chance: random.Random) -> Any:
    """Lists or maps in each other, as deep as msgpack goes."""
    value: Any = None
    for _ in range(chance.choice((4, 400, 1_000))):
        value = [value] if chance.random() < 0.5 else {"a": value}
    return value


def many_channels(body: Body, chance: random.Random) -> Body:
    """A whole and consistent model of far too many channels."""
    d = chance.choice((33, 300, 8_000))
    return body | {
        "channels": [f"c{n}" for n in range(d)],
        "scales": [[0, 1]] * (d + 2),
        "coefficients": b"",
        "support": b"",
        "trend": bytes(8 * (d + 1)),
        "golden": bytes(16 * (d + 2)),
        "provenance": {},
        "domain": {},
    }


def much_support(body: Body, chance: random.Random) -> Body:
    """A consistent model of so many support vectors that a card takes 100 MB."""
    m = chance.choice((8_193, 60_000))
    support = np.linspace(-2, 2, m).astype("<f4").tobytes()
    return body | {"support": support, "coefficients": bytes(12 * m)}


def odd_name(chance: random.Random) -> Any:
    """What is no name of a sensor or a channel."""
    return chance.choice(
        (
            "a+b",
            "a#",
            "a/b",
            "",
            "\0",
            "a\0b",
            "a\nb",
            "\u202e",
            "x" * 65,
            7,
            None,
            [],
            {},
            b"a",
            nested(chance),
        )
    )


def odd_number(chance: random.Random) -> Any:
    """What is no number that an estimate can be computed with."""
    huge = (1e308, -1e308, 1e16, 2**63, 1e-300, -1.0, 0)
    return chance.choice((*huge, float("nan"), float("inf"), "1", None, True, [1.0], nested(chance)))


def facts(chance: random.Random) -> Body:
    """Provenance of 900 kB, with numbers that JSON does not have, or with names that no log takes."""
    return chance.choice(
        (
            {"said": "x" * 900_000},
            {f"{n}": n for n in range(100_000)},
            {"r2": float("nan"), "rmse": float("inf")},
            {"a\0": 1},
            {"x" * 65: 1},
            {"deep": nested(chance)},
        )
    )


KINDS: tuple[Callable[[Body, random.Random], Body], ...] = (
    many_channels,
    much_support,
    lambda body, chance: body | {chance.choice(sorted(body)): nested(chance)},
    lambda body, chance: body | {chance.choice(("sensor", "auxiliary", "gas", "kernel")): odd_name(chance)},
    lambda body, chance: body | {"channels": ["op1", chance.choice(("op1", odd_name(chance)))]},
    lambda body, chance: body | {"interval": [odd_number(chance), chance.choice((0.9, odd_number(chance)))]},
    lambda body, chance: body | {"adapter": [odd_number(chance), odd_number(chance)]},
    lambda body, chance: body | {"scales": [[odd_number(chance), odd_number(chance)]] * 4},
    lambda body, chance: body | {"domain": {"temperature": [odd_number(chance), odd_number(chance)]}},
    lambda body, chance: body | {"hold": [odd_number(chance), odd_number(chance)]},
    lambda body, chance: body | {"cadence": {"op1": odd_number(chance)}},
    lambda body, chance: body | {"warming": {"warming_1h": odd_number(chance)}},
    lambda body, chance: body | {"length_scale": odd_number(chance)},
    lambda body, chance: body | {"provenance": facts(chance)},
    lambda body, chance: body | {"golden": chance.randbytes(64)},
    lambda body, chance: body | {f"key{n}": n for n in range(chance.choice((60, 50_000)))},
    lambda body, chance: body | {"channels": [[]] * chance.choice((9, 900_000))},
    lambda body, chance: body | {"added_later": "x" * 900_000},
)


def hostile_bundles(number: int, seed: int) -> Iterator[bytes]:
    """So many sealed bundles, each of a sensor of its own; a few of them are odd but harmless."""
    chance = random.Random(seed)
    for n in range(number):
        body = chance.choice(KINDS)(sound_body(f"H{n}"), chance)
        yield sealed(body, format=chance.choice((1, 1, 1, 1, 2, nested(chance))))
