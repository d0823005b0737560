"""A packed map from a file that nobody vouches for: each value is measured before it is built."""

from collections.abc import Mapping
from typing import Any

import msgpack  # type: ignore[import-untyped]

from edge_agent.core.errors import BadBundle

MAX_KEYS = 64
MAX_KEY_BYTES = 64
MAX_DEPTH = 2  # lists and maps in each other, below the map itself: a list of pairs, a map of pairs


def is_bundle(start: bytes) -> bool:
    """Whether a file that starts so is a bundle: a map whose first key is `format`."""
    return start[1:].startswith(b"\xa6format")


def unpack(data: bytes, name: str, room: Mapping[str, int]) -> dict[str, Any]:
    """The values of the keys in `room`, which gives the most bytes of each; other keys are skipped."""
    try:
        packed = _measured(data)
        for key in packed.keys() & room.keys():
            if (found := len(packed[key])) > room[key]:
                raise BadBundle(f"{name}: expected at most {room[key]} bytes of {key}, got {found}")
        values = {key: msgpack.unpackb(packed[key]) for key in room if key in packed}
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException):
        raise BadBundle(f"{name}: not a bundle, or an incomplete one; copy or export it again") from None
    for key, value in values.items():
        if not _is_shallow(value, MAX_DEPTH):
            raise BadBundle(f"{name}: expected at most {MAX_DEPTH} lists or maps in each other in {key}")
    return values


def _measured(data: bytes) -> dict[str, bytes]:
    """The values of a map by their keys, still packed."""
    unpacker = msgpack.Unpacker()
    unpacker.feed(data)
    count = unpacker.read_map_header()
    if count > MAX_KEYS:
        raise ValueError(f"{count} keys")
    packed = {}
    for _ in range(count):
        key, value = _next(data, unpacker), _next(data, unpacker)
        if len(key) <= MAX_KEY_BYTES and isinstance(known := msgpack.unpackb(key), str):
            packed[known] = value
    if unpacker.tell() != len(data):
        raise ValueError("more than one value")
    return packed


def _next(data: bytes, unpacker: Any) -> bytes:
    start = unpacker.tell()
    unpacker.skip()
    return data[start : unpacker.tell()]


def _is_shallow(value: Any, levels: int) -> bool:
    if not isinstance(value, list | dict):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inner)
