"""A ride of the simulated van: simulate, wait for the clock, publish, and write the true CO to a file."""

import threading
import time
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Literal

from edge_agent.core.errors import RespireError
from edge_agent.core.messages import format_time
from model_export.simulator.campaign import SWAPPED
from model_export.simulator.faults import Fault
from model_export.simulator.journey import pace, plan
from model_export.simulator.live import COMBINED, LAST_ANSWERS_S, Publisher, Sent, publish
from model_export.simulator.van import drive


@dataclass(frozen=True, slots=True)
class Ride:
    """What to publish: to which broker, how fast, for how long, and where the true CO is written."""

    host: str
    port: int
    seed: int = 1
    swapped: tuple[str, ...] = SWAPPED
    faults: tuple[Fault, ...] = ()
    speed_up: float = 60.0
    seconds: float = float("inf")
    template: str = COMBINED
    max_inflight: int = 20
    last_answers_s: float = LAST_ANSWERS_S
    truth: Path | None = None
    reference: bool = False  # whether a reference is beside the van


def ride(way: Ride, stop: threading.Event) -> Sent:
    """Publish a van until its time is over or `stop` is set, and wait for the last acknowledgements."""
    _write(way.truth, "timestamp,co\n", mode="w")
    publisher = Publisher(way.host, way.port, way.max_inflight, way.last_answers_s)
    try:
        journey = plan(_now_ms(), way.speed_up, way.seconds * 1000)
        minutes = drive(way.seed, journey.start_ms, way.swapped, way.faults)
        # The first minute needs two weeks of simulated weather. The ride begins when it is ready.
        first = next(minutes)
        late_ms = _now_ms() - journey.began_ms
        journey = replace(journey, began_ms=journey.began_ms + late_ms, ends_ms=journey.ends_ms + late_ms)
        paced = pace(chain([first], minutes), journey, _now_ms, stop.wait)

        def stopped() -> bool:
            return stop.is_set() or journey.over(_now_ms())

        for minute in publish(paced, publisher, way.template, stopped, way.reference):
            _write(way.truth, f"{format_time(minute.at_ms)},{minute.co:.4f}\n")
    finally:
        sent = publisher.close()
    return sent


def _write(path: Path | None, row: str, mode: Literal["w", "a"] = "a") -> None:
    """Add a row to the file of the true CO, if one is asked for."""
    try:
        if path:
            with path.open(mode, encoding="utf-8") as file:
                file.write(row)
    except OSError as error:
        raise RespireError(f"{path}: expected a file to write, got {error.strerror}; name another") from error


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
