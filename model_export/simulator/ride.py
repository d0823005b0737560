"""A ride of the simulated van, start to end: drawn, paced by the clock, published, its truth written down."""

import os
import threading
import time
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TextIO

from edge_agent.core.errors import RespireError
from edge_agent.core.messages import format_time
from model_export.simulator.campaign import SWAPPED
from model_export.simulator.journey import pace, plan
from model_export.simulator.live import COMBINED, Publisher, Sent, publish
from model_export.simulator.van import drive


@dataclass(frozen=True, slots=True)
class Ride:
    """A van's way: the broker it reports to, how fast, for how long, and where its truth is written down."""

    host: str
    port: int
    seed: int = 1
    swapped: tuple[str, ...] = SWAPPED
    speed_up: float = 60.0
    seconds: float = float("inf")
    template: str = COMBINED
    max_inflight: int = 20
    truth: Path | None = None


def ride(way: Ride, stop: threading.Event) -> Sent:
    """Publish a van until its time is over or `stop` is set; everything sent is waited for."""
    with open_truth(way.truth) as truth:
        publisher = Publisher(way.host, way.port, way.max_inflight)
        try:
            journey = plan(_now_ms(), way.speed_up, way.seconds * 1000)
            minutes = drive(way.seed, journey.start_ms, way.swapped)
            first = next(minutes)  # draws a fortnight; the ride's time begins when that is done
            late_ms = _now_ms() - journey.began_ms
            journey = replace(journey, began_ms=journey.began_ms + late_ms, ends_ms=journey.ends_ms + late_ms)
            paced = pace(chain([first], minutes), journey, _now_ms, stop.wait)

            def stopped() -> bool:
                return stop.is_set() or journey.over(_now_ms())

            for minute in publish(paced, publisher, way.template, stopped):
                truth.write(f"{format_time(minute.at_ms)},{minute.co:.4f}\n")
                truth.flush()
        finally:
            sent = publisher.close()
    return sent


def open_truth(path: Path | None) -> TextIO:
    """Where the true CO goes, one row a minute; without a path, nowhere."""
    try:
        truth = open(path or os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - the caller's `with` closes it
    except OSError as error:
        raise RespireError(f"{path}: expected a file to write, got {error.strerror}; name another") from error
    truth.write("timestamp,co\n")
    return truth


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
