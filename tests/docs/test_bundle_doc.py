"""docs/bundle.md is enough to read a bundle: an independent reader, written from that page alone."""

import hashlib
import json
import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]
import numpy as np
import pytest

from tests.conftest import make_model, make_warming_model

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "bundle.md").read_text()
ON_ONE_LINE = " ".join(TEXT.split())
GOLDEN = sorted((ROOT / "tests/edge_agent/core/golden").glob("*.bundle"))

SHAPES: dict[str, Callable[[float], float]] = {
    "matern12": lambda r: math.exp(-r),
    "matern32": lambda r: (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r),
    "matern52": lambda r: (1 + math.sqrt(5) * r + 5 * r**2 / 3) * math.exp(-math.sqrt(5) * r),
    "rbf": lambda r: math.exp(-(r**2) / 2),
}


@dataclass
class Reader:
    """The page in Python, with MessagePack and the standard library; nothing of ours."""

    body: dict[str, Any]
    id: str

    @classmethod
    def read(cls, data: bytes) -> "Reader":
        outer = msgpack.unpackb(data)
        assert next(iter(outer)) == "format"
        assert outer["format"] in (1, 2, 3)
        assert hashlib.sha256(outer["body"]).digest() == outer["sha256"]
        reader = cls(msgpack.unpackb(outer["body"]), "sha256:" + outer["sha256"].hex()[:16])
        reader.prove()
        return reader

    def rows(self, key: str, count: int) -> list[list[float]]:
        data = self.body[key]
        numbers = struct.unpack(f"<{len(data) // 4}f", data)
        width = len(numbers) // count
        return [list(numbers[row * width : (row + 1) * width]) for row in range(count)]

    def weights(self, t: float) -> list[float]:
        d = len(self.body["channels"])
        centre, spread = self.body["scales"][d]
        low, high = self.body.get("hold", (t, t))
        z = (min(max(t, low), high) - centre) / spread
        [support] = self.rows("support", 1)
        shape = SHAPES[self.body["kernel"]]
        k = [shape(abs(z - s) / self.body["length_scale"]) for s in support]
        trend, coefficients = self.rows("trend", d + 1), self.rows("coefficients", d + 1)
        return [
            trend[i][0] + trend[i][1] * z + sum(c * kj for c, kj in zip(coefficients[i], k, strict=True))
            for i in range(d + 1)
        ]

    def estimate(self, u: list[float], t: float) -> float:
        d = len(u)
        v = u
        if "transfer" in self.body:
            v = [
                sum(m * ui for m, ui in zip(row, [*u, 1.0], strict=True)) for row in self.rows("transfer", d)
            ]
        power, derived = self.body.get("power", 1.0), self.body.get("warming", {})
        v = [
            vi if name in derived else math.copysign(abs(vi) ** power, vi)
            for name, vi in zip(self.body["channels"], v, strict=True)
        ]
        x = [(vi - centre) / spread for vi, (centre, spread) in zip(v, self.body["scales"], strict=False)]
        *w, bias = self.weights(t)
        y = bias + sum(wi * xi for wi, xi in zip(w, x, strict=True))
        (centre, spread), (gain, offset) = self.body["scales"][d + 1], self.body["adapter"]
        return float(gain * (centre + spread * y) + offset)

    def prove(self) -> None:
        """The golden rows."""
        d = len(self.body["channels"])
        (_, spread), (gain, _) = self.body["scales"][d + 1], self.body["adapter"]
        for *u, t, expected in self.rows("golden", 4):
            assert abs(self.estimate(u, t) - expected) <= 1e-5 * (spread * abs(gain) + abs(expected))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_reader_written_from_the_page_reproduces_the_estimates(path: Path) -> None:
    reader = Reader.read(path.read_bytes())
    expected = json.loads(path.with_suffix(".json").read_text())
    assert reader.id == expected["id"]
    for u, t, estimate in zip(
        expected["inputs"], expected["temperatures"], expected["estimates"], strict=True
    ):
        assert reader.estimate(u, t) == pytest.approx(estimate, rel=1e-9)


@pytest.mark.parametrize("kernel", sorted(SHAPES))
def test_every_kernel_of_the_page_is_the_one_that_is_served(kernel: str) -> None:
    from edge_agent.core import bundle

    model = replace(make_model(kernel=kernel), adapter=(1.1, -0.2), hold=(8.0, 40.0))
    reader = Reader.read(bundle.encode(model))
    for t in (3.0, 24.3, 45.0):
        [expected] = model.predict([[231.4, 206.1]], [t])
        assert reader.estimate([231.4, 206.1], t) == pytest.approx(expected, rel=1e-9)


def test_the_page_names_every_key_in_order_and_every_kernel() -> None:
    from edge_agent.core import bundle
    from edge_agent.core.kernel import KERNELS

    model = replace(
        make_warming_model(sensor_type="metal-oxide", power=0.5),
        transfer=np.eye(4, 5),
        hold=(8.0, 40.0),
        cadence_minutes={"op1": 5},
        window_ms=3_600_000,
        calibrated_ms=1_706_745_600_000,
        valid_until_ms=1_722_297_600_000,
    )
    outer = msgpack.unpackb(bundle.encode(model))
    keys = [re.findall(r"^\| `(\w+)` ", part, re.MULTILINE) for part in TEXT.split("| key | type |")[1:]]
    keys[1] = [key for key in keys[1] if key not in KERNELS]
    assert keys == [list(outer), list(msgpack.unpackb(outer["body"]))]
    assert set(re.findall(r"^   \| `(\w+)` ", TEXT, re.MULTILINE)) == set(KERNELS) == set(SHAPES)


@pytest.mark.parametrize("coverage", [0.0, 0.5, 0.75, 1.0])
def test_the_page_tells_how_many_minutes_a_window_needs(coverage: float) -> None:
    from edge_agent.core.coverage import expected_minutes, needed_minutes

    for length, c in product((1, 15, 60), (1, 2, 4, 5, 7, 15, 20)):
        expected = max(1, length // c)
        share = math.ceil(coverage * expected)
        needed = max(1, share if c == 1 else min(share, (length - 1) // c))
        found = expected_minutes(60_000 * length, c), needed_minutes(60_000 * length, c, coverage)
        assert found == (expected, needed)


def test_the_numbers_are_those_of_the_code() -> None:
    from edge_agent.bundles import MAX_TOTAL_BYTES
    from edge_agent.core import bundle, checked, packed
    from edge_agent.core.windows import COVERAGE

    assert f"`coverage` ({COVERAGE} by default)" in ON_ONE_LINE
    assert f"minutes between readings (1 to {bundle.SLOWEST_MINUTES})" in ON_ONE_LINE
    assert f"at most {bundle.MAX_BYTES:,} bytes".replace(",", " ") in ON_ONE_LINE
    assert f"| at most {packed.MAX_KEYS} |" in ON_ONE_LINE
    assert f"| at most {packed.MAX_DEPTH} |" in ON_ONE_LINE
    assert f"at most {bundle.MAX_VALUE_BYTES:,} bytes; so".replace(",", " ") in ON_ONE_LINE
    assert f"| 1 to {checked.MAX_CHANNELS}, each once |" in ON_ONE_LINE
    assert f"| at most {checked.MAX_SUPPORT:,} |".replace(",", " ") in ON_ONE_LINE
    assert f"| at most {checked.MAX_TEXT} printable characters;" in ON_ONE_LINE
    assert f"together: {MAX_TOTAL_BYTES:,} bytes".replace(",", " ") in ON_ONE_LINE
    assert f"array ({bundle.GOLDEN_PAIRS}, d + 2)" in ON_ONE_LINE
    assert "1e-5·" in ON_ONE_LINE
    assert bundle.GOLDEN_TOLERANCE == 1e-5
    assert f"| `format` | integer | {bundle.FORMATS[0]} to {bundle.FORMATS[-1]}, see" in ON_ONE_LINE
