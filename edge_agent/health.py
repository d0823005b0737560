"""How the agent is: what it heard and refused, what waits, which channels are silent or stuck."""

import os
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edge_agent.core.messages import Reading, format_time
from edge_agent.core.model import Model
from edge_agent.core.windows import MINUTE_MS

STUCK_REPEATS = 15  # the same value to the last digit so often: no living electrode does that


class Heard:
    """When each channel of each sensor last said something, and how often it has said the same."""

    def __init__(self) -> None:
        self._channels: dict[str, dict[str, tuple[int, float, int]]] = {}  # when, value, repeats
        self._last_at_ms: dict[str, int] = {}

    def note(self, readings: Iterable[Reading], elapsed_ms: int, placed: bool = True) -> None:
        """Readings have come, now on the clock that never steps; `placed` if their own time is known."""
        for sensor, channel, at_ms, value in readings:
            channels = self._channels.setdefault(sensor, {})
            before = channels.get(channel)
            repeats = before[2] + 1 if before and before[1] == value else 1
            channels[channel] = elapsed_ms, value, repeats
            if placed:
                self._last_at_ms[sensor] = at_ms

    def sensors(self) -> list[str]:
        """Every sensor that ever said something."""
        return list(self._channels)

    def describe(self, sensor: str, model: Model | None, silent_since_ms: int) -> dict[str, Any]:
        """One sensor's part of the health record."""
        channels = self._channels.get(sensor, {})
        cadence_minutes = model.cadence_minutes if model else {}
        expected = {*channels, *((*model.measured, model.auxiliary) if model else ())}
        last_at_ms = self._last_at_ms.get(sensor)
        return {
            "model": model.id if model else None,
            "last_reading": None if last_at_ms is None else format_time(last_at_ms),
            "silent": sorted(
                name
                for name in expected
                if name not in channels
                or channels[name][0] < silent_since_ms - (cadence_minutes.get(name, 1) - 1) * MINUTE_MS
            ),
            "stuck": sorted(
                name
                for name, (_, _, repeats) in channels.items()
                if repeats >= STUCK_REPEATS and name != (model.auxiliary if model else "temperature")
            ),
        }


def resources() -> dict[str, int]:
    """What the process holds in memory and has written to disk, as the kernel counts it."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    written = [
        int(line.split()[1])
        for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines()
        if line.startswith("write_bytes")
    ]
    return {"rss_bytes": pages * os.sysconf("SC_PAGE_SIZE"), "written_bytes": written[0]}


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
