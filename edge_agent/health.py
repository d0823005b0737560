"""The health record: readings by outcome, the outbox, and which channels are silent or stuck."""

import json
import os
from collections.abc import Container, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edge_agent.core.messages import format_time

MAX_REASONS, MAX_REASON = 4, 300  # refused bundles in the record, and characters of each
MAX_OTHERS = 64  # sensors without a bundle in the record: anybody may invent some


def resources() -> dict[str, int]:
    """The memory and the disk writes of this process, as the kernel counts them."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    written = [
        int(line.split()[1])
        for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines()
        if line.startswith("write_bytes")
    ]
    return {"rss_bytes": pages * os.sysconf("SC_PAGE_SIZE"), "written_bytes": written[0]}


def refusals(reasons: Iterable[str]) -> dict[str, Any]:
    """How many bundles are refused, and why the first few are."""
    known = list(reasons)
    # The name of a file may be no text.
    first = [reason[:MAX_REASON].encode(errors="replace").decode() for reason in known[:MAX_REASONS]]
    return {"refused": len(known), "reasons": first}


def listed(sensors: Iterable[str], models: Container[str]) -> tuple[list[str], int]:
    """The sensors of the record, sorted: all with a bundle, MAX_OTHERS of the rest; and how many are not."""
    names = [*dict.fromkeys(sensors)]
    others = [name for name in names if name not in models]
    unlisted = {*others[MAX_OTHERS:]}
    return sorted(name for name in names if name not in unlisted), len(unlisted)


def encode(health: Mapping[str, Any]) -> str:
    """As JSON; names are not escaped, which would take three times the bytes."""
    return json.dumps(health, separators=(",", ":"), ensure_ascii=False)


def free_bytes(directory: Path) -> int:
    """The space that the agent can still use on the disk of a directory; 0 if the disk does not answer."""
    try:
        disk = os.statvfs(directory)
    except OSError:
        return 0
    return disk.f_bavail * disk.f_frsize


def record(
    *,
    agent: str,
    now_ms: int,
    interval_s: float,
    uptime_s: int,
    clock: str,
    readings: Mapping[str, int],
    outbox: Mapping[str, int | None],
    bundles: Mapping[str, Any],
    sensors: Mapping[str, Any],
    sensors_unlisted: int,
    position: Mapping[str, Any] | None,
    reference: Mapping[str, Any] | None,
    certificates: Mapping[str, str],
    journal_bytes: int,
) -> dict[str, Any]:
    """The health message of the wire contract."""
    return {
        "v": 1,
        "agent": agent,
        "version": version("respire-edge"),
        "at": format_time(now_ms),
        "interval_s": interval_s,
        "uptime_s": uptime_s,
        "clock": clock,
        "readings": dict(readings),
        "outbox": dict(outbox),
        "bundles": dict(bundles),
        "sensors": dict(sensors),
        "sensors_unlisted": sensors_unlisted,
        "position": position,
        "reference": reference,
        "certificates": dict(certificates),
        "journal_bytes": journal_bytes,
        **resources(),
    }
