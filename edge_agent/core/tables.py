"""The checksum of every row in the journal, for all that read it.

SQLite detects damage to the structure of its pages, not inside a row. The checksums detect the rest.
"""

from zlib import crc32

import msgpack  # type: ignore[import-untyped]

# A name is checked as bytes: damaged ones are not UTF-8.
CHECKSUMS = {
    "batch": "crc(id, arrived_ms, readings)",
    "sensor": "crc(CAST(name AS BLOB), closed_until_ms, seq)",
    # `waiting` is the last bit, so that a delivery need not read the payload again.
    "estimate": "crc(id, CAST(sensor AS BLOB), start_ms, closed_ms, payload) * 2 + waiting",
    "held": "crc(CAST(boot AS BLOB), readings)",
    "fact": "crc(CAST(name AS BLOB), typeof(value), CAST(value AS BLOB))",
    "fix": "crc(id, arrived_ms, at_ms, lat, lon, speed_kmh)",
    "closed": """crc(CAST(sensor AS BLOB), start_ms, estimate, revision, closed_ms,
        first_batch, last_batch, final, channels)""",
    "late": "crc(CAST(sensor AS BLOB), start_ms, arrived_ms, readings) * 2 + waiting",
}


def checksum(*values: bytes | str | float | None) -> int:
    """SQL's `crc`: of the values and their types."""
    return crc32(msgpack.packb(values))


def sound(table: str) -> str:
    """The condition that a row is as it was written."""
    return f"checksum IS {CHECKSUMS[table]}"
