"""The bundle: same bits after a round trip, small, and refused when anything about it is wrong."""

import hashlib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.core import bundle
from edge_agent.core.errors import BadBundle
from edge_agent.core.model import Interval, Model
from tests.conftest import make_model, make_warming_model
from tests.edge_agent.core.test_model import variants

GOLDEN = Path(__file__).parent / "golden"


def sealed(body: dict[str, object], **outer: object) -> bytes:
    """A bundle whose checksum is right, whatever its body says."""
    packed = msgpack.packb(body)
    digest = hashlib.sha256(packed).digest()
    return bytes(msgpack.packb({"format": 1, "sha256": digest, "body": packed, **outer}))


def body_of(model: Model) -> dict[str, object]:
    return dict(msgpack.unpackb(msgpack.unpackb(bundle.encode(model))["body"]))


@given(model=variants())
def test_a_round_trip_predicts_the_same_bits(model: Model) -> None:
    again = bundle.decode(bundle.encode(model))
    inputs, auxiliary = np.array([[231.4, 206.1], [250.0, 190.0]]), np.array([24.3, 9.0])
    np.testing.assert_array_equal(again.predict(inputs, auxiliary), model.predict(inputs, auxiliary))


def test_a_round_trip_keeps_every_field(model: Model) -> None:
    model = replace(
        model,
        transfer=np.array([[1.1, 0.0, 3.0], [0.0, 0.9, 1.0]]),
        adapter=(1.02, -0.1),
        hold=(8.0, 40.0),
        cadence_minutes={"op1": 5, "temperature": 15},
        window_ms=3_600_000,
        calibrated_ms=1_706_745_600_000,
        valid_until_ms=1_722_297_600_000,
    )
    again = bundle.decode(bundle.encode(model))
    for field in fields(Model):
        if field.name != "id":
            np.testing.assert_equal(getattr(again, field.name), getattr(model, field.name))
    assert again.id.startswith("sha256:")


def test_a_round_trip_keeps_channels_that_are_not_measured() -> None:
    """They are what format 2 is for; a reader of format 1 would wait for them for ever."""
    model = make_warming_model()
    data = bundle.encode(model)
    assert [msgpack.unpackb(each)["format"] for each in (data, bundle.encode(make_model()))] == [2, 1]
    again = bundle.decode(data)
    assert again.warming == {"warming_1h": 3_600_000, "warming_4h": 14_400_000}
    assert again.measured == ("op1", "op2")


@pytest.mark.parametrize(
    "changes",
    [{"power": 0.5, "sensor_type": "metal-oxide"}, {"interval": Interval(0.1, 0.9, slope=0.2, origin=1.0)}],
)
def test_a_power_and_a_growing_interval_are_what_format_3_is_for(changes: dict[str, Any]) -> None:
    """A reader of format 2 would compute another value, or another interval."""
    model = make_warming_model(**changes)
    data = bundle.encode(model)
    again = bundle.decode(data)
    assert msgpack.unpackb(data)["format"] == 3
    assert {name: getattr(again, name) for name in changes} == changes
    inputs = [[231.4, 206.1, -0.3, 0.2]]
    assert again.predict(inputs, [24.3]) == model.predict(inputs, [24.3])


def test_a_cadence_of_a_minute_changes_no_byte(model: Model) -> None:
    """It is the default, so that bundles of before keep their id."""
    plain = bundle.encode(model)
    assert bundle.encode(replace(model, cadence_minutes={"op1": 1, "temperature": 1})) == plain
    assert "cadence" not in body_of(model)


def test_an_agent_that_ignores_the_cadence_computes_the_same(model: Model) -> None:
    """Hence the format is still 1: such an agent withholds windows, but no value differs."""
    slow = replace(model, cadence_minutes={"op1": 5})
    assert msgpack.unpackb(bundle.encode(slow))["format"] == 1
    again = bundle.decode(sealed({k: v for k, v in body_of(slow).items() if k != "cadence"}))
    assert again.predict([[231.4, 206.1]], [24.3]) == slow.predict([[231.4, 206.1]], [24.3])


def test_an_agent_that_ignores_the_age_computes_the_same(model: Model) -> None:
    """Hence the format is still 1; a model that is good for ever has the bytes of before."""
    dated = replace(model, calibrated_ms=1_000_000, valid_until_ms=2_000_000)
    assert msgpack.unpackb(bundle.encode(dated))["format"] == 1
    assert {*body_of(dated)} - {*body_of(model)} == {"calibrated", "valid_until"}


def test_a_bundle_of_32_support_vectors_is_tiny(model: Model) -> None:
    assert len(bundle.encode(model)) <= 1_280


def test_the_same_model_gives_the_same_bytes(model: Model) -> None:
    assert bundle.encode(model) == bundle.encode(bundle.decode(bundle.encode(model)))


@given(data=st.binary(max_size=200))
def test_no_bytes_raise_anything_but_bad_bundle(data: bytes) -> None:
    with pytest.raises(BadBundle):
        bundle.decode(data)


@given(place=st.integers(0, 1100), change=st.integers(1, 255))
def test_any_altered_byte_is_noticed(place: int, change: int) -> None:
    """Every byte counts: a bundle with one of them changed is refused, or is the same model."""
    model = make_model()
    data = bytearray(bundle.encode(model))
    data[place % len(data)] ^= change
    with pytest.raises(BadBundle):
        bundle.decode(bytes(data))


@given(length=st.integers(0, 1100))
def test_a_cut_bundle_is_refused(length: int) -> None:
    data = bundle.encode(make_model())
    with pytest.raises(BadBundle):
        bundle.decode(data[: length % len(data)])


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(
    key=st.sampled_from(
        sorted({*body_of(make_model()), "hold", "warming", "cadence", "window", "valid_until"})
    ),
    value=junk,
)
def test_a_sealed_bundle_with_nonsense_inside_is_refused_or_harmless(key: str, value: object) -> None:
    """A right checksum proves nothing about the content: any field may hold anything."""
    body = {**body_of(make_model()), key: value}
    try:
        model = bundle.decode(sealed(body))
    except BadBundle:
        return
    assert np.isfinite(model.predict([[231.4, 206.1]], [24.3])).all()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "x.bundle: not a bundle, or an incomplete one; copy or export it again"),
        (b"PK\x03\x04", "x.bundle: not a bundle, or an incomplete one; copy or export it again"),
        (
            sealed(body_of(make_model()), format=4),
            "x.bundle: format 4, this version reads 1-3; export again with a matching model-export",
        ),
        (
            sealed(body_of(make_model()), sha256=b"0" * 32),
            "x.bundle: checksum differs, the file was cut or altered; copy or export it again",
        ),
        (
            sealed({k: v for k, v in body_of(make_model()).items() if k != "kernel"}),
            "x.bundle: expected a complete model, got no 'kernel'; export it again",
        ),
        (
            sealed({**body_of(make_model()), "kernel": "cubic"}),
            "x.bundle: expected a complete model, got kernel 'cubic'; export it again",
        ),
        (
            sealed({**body_of(make_model()), "length_scale": 0.71}),
            "x.bundle: golden outputs differ, this agent computes something else; export it again",
        ),
        (
            sealed({**body_of(make_model()), "hold": [40.0, 8.0]}),
            "x.bundle: expected a complete model, got a range from 40 to 8; export it again",
        ),
        (
            sealed({**body_of(make_warming_model()), "warming": {"warming_3h": 7200.0}}),
            "x.bundle: expected a complete model, got a memory of warming_3h: expected those of warming_… "
            "channels; export it again",
        ),
        (
            sealed({**body_of(make_warming_model()), "channels": ["op1", "warming_1h", "op2", "warming_4h"]}),
            "x.bundle: expected a complete model, got warming warming_1h, warming_4h: expected the last "
            "channels, in their order; export it again",
        ),
        (
            sealed(body_of(make_warming_model())),
            "x.bundle: format 1 and its content do not go together; export it again",
        ),
        (
            sealed({**body_of(make_model()), "power": 0.5}),
            "x.bundle: format 1 and its content do not go together; export it again",
        ),
        (
            sealed({**body_of(make_model()), "power": 11.0}, format=3),
            "x.bundle: expected a complete model, got a power of 11 where 0.1 to 10 belong; export it again",
        ),
        (
            sealed({**body_of(make_model()), "interval": [0.1, 0.9, -0.2, 0.0]}, format=3),
            "x.bundle: expected a complete model, got an interval of ±0.1 at level 0.9, -0.2 for each unit; "
            "export it again",
        ),
        (
            sealed({**body_of(make_model()), "warming": {"op2": 3600}}),
            "x.bundle: expected a complete model, got a memory of op2: expected those of warming_… "
            "channels; export it again",
        ),
        (
            sealed({**body_of(make_warming_model()), "warming": {"warming_1h": 1.0}}),
            "x.bundle: expected a complete model, got a memory of 1.0 where 60 to 86400 seconds belong; "
            "export it again",
        ),
        *(
            (
                sealed({**body_of(make_model()), "cadence": {"op1": minutes}}),
                f"x.bundle: expected a complete model, got a cadence of {minutes!r} where 1 to 1440 minutes "
                "belong; export it again",
            )
            for minutes in (0, 1441, 5.0, True, "5")
        ),
        *(
            (
                sealed({**body_of(make_model()), "window": seconds}),
                f"x.bundle: expected a complete model, got windows of {seconds!r} where whole minutes from "
                "60 to 86400 s belong; export it again",
            )
            for seconds in (0, 90, 172_800, 900.0, "1h", None)
        ),
        *(
            (
                sealed({**body_of(make_model()), "valid_until": seconds}),
                f"x.bundle: expected a complete model, got {seconds!r} where seconds since 1970 belong; "
                "export it again",
            )
            for seconds in (-1, 4_102_444_800, 0.5, True, "2024", None)
        ),
        (
            sealed({**body_of(make_model()), "cadence": {"op3": 5}}),
            "x.bundle: expected a complete model, got a cadence of 'op3', which no sensor sends; "
            "export it again",
        ),
        (b"\x00" * 2_000_000, "x.bundle: not a bundle: larger than 1048576 bytes"),
    ],
)
def test_a_bad_bundle_says_where_what_and_what_to_do(data: bytes, text: str) -> None:
    with pytest.raises(BadBundle) as caught:
        bundle.decode(data, "x.bundle")
    assert str(caught.value) == text


def test_unknown_keys_are_ignored(model: Model) -> None:
    assert bundle.decode(sealed({**body_of(model), "added_later": 1})).sensor == "5A2D"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.bundle")), ids=lambda path: path.name)
def test_a_bundle_ever_released_decodes_for_ever(path: Path) -> None:
    """The committed files were written by past versions; their predictions were written down then."""
    model = bundle.decode(path.read_bytes(), path.name)
    expected = json.loads(path.with_suffix(".json").read_text())
    assert model.id == expected["id"]
    np.testing.assert_allclose(
        model.predict(expected["inputs"], expected["temperatures"]), expected["estimates"], rtol=1e-9
    )
    assert model.cadence_minutes == expected.get("cadence_minutes", {})
    assert (model.calibrated_ms, model.valid_until_ms) == (
        expected.get("calibrated_ms"),
        expected.get("valid_until_ms"),
    )
