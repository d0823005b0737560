"""A journal on a real file, and small things to put in."""

import resource
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from edge_agent.core.messages import Estimate, Reading, decode_estimate
from edge_agent.journal import Journal

WINDOW_MS = 900_000
DAY_MS = 86_400_000


def opened(directory: Path) -> Journal:
    return Journal(directory / "journal.db", WINDOW_MS, "process-crash")


@contextmanager
def journal_in(directory: Path) -> Iterator[Journal]:
    with closing(opened(directory)) as journal:
        yield journal


def estimate(sensor: str = "5A2D", window: int = 0) -> Estimate:
    start_ms = window * WINDOW_MS
    return Estimate(sensor, start_ms, start_ms + WINDOW_MS, 1, (), {"op1": 231.4}, {"op1": 15}, value=0.8)


def reading(at_ms: int, sensor: str = "5A2D", value: float = 231.4) -> Reading:
    return Reading(sensor, "op1", at_ms, value)


def sequence(payload: bytes) -> tuple[str, int]:
    decoded = decode_estimate(payload)
    return decoded.sensor, decoded.seq


@contextmanager
def disk_without_room(most_bytes: int = 1_024) -> Iterator[None]:
    """No file may grow beyond this, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def open_readings(journal: Journal) -> list[Reading]:
    closed = journal.closed_until()
    rebuilt = [reading for readings, _ in journal.rebuild() for reading in readings]
    return [r for r in rebuilt if r.at_ms >= closed.get(r.sensor, 0)]
