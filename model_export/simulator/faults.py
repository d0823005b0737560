"""Faults of a package on a journey: drift, lost sensitivity, a swap, a stuck electrode, a time outside.

    5A2D=zero:0.1@10d..40d          its zero drifts by 0.1 ppm from day 10 to day 40 and stays there
    5A2D=sensitivity:0.2@10d..40d   it loses 20 % of its sensitivity in this time
    5A2D=swap@10d                   from day 10 on CO and NOx are exchanged
    5A2D=stuck@10d..11d             op1 shows the zero of the board, as after a broken contact
    5A2D=out@10d..12d               it is taken out, sends nothing, and settles after it is put back

Without an end `zero` and `sensitivity` change at once, and the others last for ever.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial, reduce
from typing import Literal, cast

import numpy as np

from edge_agent.core.errors import BadSettings
from edge_agent.core.kernel import Array
from model_export.simulator.air import Air
from model_export.simulator.outages import Mask
from model_export.simulator.package import Package, Signals, sense
from model_export.simulator.rng import Stream
from model_export.simulator.weather import DAY_MS, MINUTE_MS, Times

Kind = Literal["zero", "sensitivity", "swap", "stuck", "out"]
SIZED = ("zero", "sensitivity")
UNITS_MS = {"d": DAY_MS, "h": 60 * MINUTE_MS, "min": MINUTE_MS}
SETTLING = 0.2  # ppm, the shift of a cell just put back; our choice
SETTLING_MS = 2 * UNITS_MS["h"]  # its time constant; our choice
_TIME = r"(\d+(?:\.\d+)?)(d|h|min)"
_FAULT = re.compile(rf"([^=]+)=(zero|sensitivity|swap|stuck|out)(?::(-?\d*\.?\d+))?@{_TIME}(?:\.\.{_TIME})?")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one package; its times count from the start of the journey."""

    sensor: str
    kind: Kind
    from_ms: int
    to_ms: int | None = None
    size: float = 0.0  # zero: ppm; sensitivity: the share lost

    def share(self, elapsed_ms: Times) -> Array:
        """How much of a drift has happened (n,): 0 before, 1 after, a straight line between."""
        if self.to_ms is None:
            return (elapsed_ms >= self.from_ms).astype(float)
        return np.clip((elapsed_ms - self.from_ms) / (self.to_ms - self.from_ms), 0.0, 1.0)

    def during(self, elapsed_ms: Times) -> Mask:
        """In which minutes it is there (n,)."""
        begun = elapsed_ms >= self.from_ms
        return begun if self.to_ms is None else begun & (elapsed_ms < self.to_ms)

    def settling(self, elapsed_ms: Times) -> Array:
        """The shift in ppm after a package is put back (n,)."""
        since_ms = elapsed_ms - (np.inf if self.to_ms is None else self.to_ms)
        return np.where(since_ms >= 0, SETTLING * np.exp(-np.maximum(since_ms, 0) / SETTLING_MS), 0.0)


def parse_fault(text: str) -> Fault:
    """The fault in a text.

    >>> parse_fault("5A2D=zero:-0.1@10d..40d")
    Fault(sensor='5A2D', kind='zero', from_ms=864000000, to_ms=3456000000, size=-0.1)
    """
    found = _FAULT.fullmatch(text)
    if found is None:
        raise BadSettings(f"fault: expected for example 5A2D=zero:0.1@10d..40d, got {text!r}")
    sensor, kind, size, *times = found.groups()
    from_ms, to_ms = _ms(*times[:2]), _ms(*times[2:]) if times[2] else None
    if (size is not None) != (kind in SIZED):
        raise BadSettings(f"fault: expected a size for {' and '.join(SIZED)} only, got {text!r}")
    if to_ms is not None and to_ms <= from_ms:
        raise BadSettings(f"fault: expected an end after the start, got {text!r}")
    return Fault(sensor, cast("Kind", kind), from_ms, to_ms, float(size or 0.0))


def _ms(number: str, unit: str) -> int:
    return round(float(number) * UNITS_MS[unit])


def sense_faulty(
    again: Callable[[], Stream],
    package: Package,
    air: Air,
    elapsed_ms: Times,
    faults: Collection[Fault],
    *,
    new_ms: int,
    swapped: bool,
    liveliness: float = 1.0,
) -> Signals:
    """The readings of a package with faults, NaN while it is out; `again` gives the same stream each time."""
    mine = [fault for fault in faults if fault.sensor == package.sensor]
    zero = sum((fault.size * fault.share(elapsed_ms) for fault in mine if fault.kind == "zero"), 0.0)
    zero += sum((fault.settling(elapsed_ms) for fault in mine if fault.kind == "out"), 0.0)
    lost = sum((fault.size * fault.share(elapsed_ms) for fault in mine if fault.kind == "sensitivity"), 0.0)
    read = partial(sense, package=package, air=air, new_ms=new_ms, liveliness=liveliness)
    read = partial(read, zero=zero, sensitivity=1.0 - lost)
    signals = read(again(), swapped=swapped)
    for fault in mine:
        there = fault.during(elapsed_ms)
        if fault.kind == "swap" and there.any():
            signals = _where(there, read(again(), swapped=not swapped), signals)
    offset = package.co.offsets[0]
    op1 = np.where(_any(mine, "stuck", elapsed_ms), offset, signals.op1)
    gone = np.where(_any(mine, "out", elapsed_ms), np.nan, 0.0)
    return Signals(op1 + gone, signals.op2 + gone, signals.temperature + gone)


def _any(faults: Collection[Fault], kind: Kind, elapsed_ms: Times) -> Mask:
    """In which minutes a fault of this kind is there (n,)."""
    there = [fault.during(elapsed_ms) for fault in faults if fault.kind == kind]
    return reduce(np.logical_or, there, np.zeros(len(elapsed_ms), dtype=bool))


def _where(there: Mask, one: Signals, other: Signals) -> Signals:
    """The electrodes of one where it is there, of the other elsewhere; both have the same temperature."""
    return Signals(
        np.where(there, one.op1, other.op1), np.where(there, one.op2, other.op2), other.temperature
    )
