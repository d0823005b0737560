"""The health record: readings by outcome, the outbox, and which channels are silent or stuck."""

import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edge_agent.core.messages import format_time


def resources() -> dict[str, int]:
    """The memory and the disk writes of this process, as the kernel counts them."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    written = [
        int(line.split()[1])
        for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines()
        if line.startswith("write_bytes")
    ]
    return {"rss_bytes": pages * os.sysconf("SC_PAGE_SIZE"), "written_bytes": written[0]}


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
    sensors: Mapping[str, Any],
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
        "sensors": dict(sensors),
        "journal_bytes": journal_bytes,
        **resources(),
    }
