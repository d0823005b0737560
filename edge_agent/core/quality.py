"""How far an estimate can be trusted: a QARTOD flag and the reasons for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from edge_agent.core.coverage import Coverage
from edge_agent.core.windows import Window

if TYPE_CHECKING:
    from edge_agent.core.model import Model  # numpy takes 0.1 s, and exports do not need it

STUCK_READINGS = 10  # fewer equal readings in a row are common at an ADC's resolution

OUTSIDE = "_outside_training"  # ending of the reason for an input beyond the training data
PAST_NEEDED = 0.5  # share of the temperature history; below it warming is mostly a guess


class Flag(IntEnum):
    """QARTOD's flags; 2 (not evaluated) does not occur, because the agent evaluates every window."""

    PASS = 1
    SUSPECT = 3
    FAIL = 4
    MISSING = 9


@dataclass(frozen=True, slots=True)
class Verdict:
    """One flag, the worst that applies, and every reason in a fixed order."""

    flag: Flag
    reasons: tuple[str, ...] = ()


def assess(
    window: Window,
    model: "Model | None",
    synchronised: bool,
    coverage: Coverage,
    warming: Mapping[str, float] | None = None,
    past_known: float = 1.0,
    moving: bool = False,
    suspected: tuple[str, ...] = (),
) -> Verdict:
    """The verdict on a window: missing without a model or enough minutes, otherwise the worst finding.

    `warming` are the inputs of the model that no sensor sends. `past_known` is the known share of the
    temperature history behind them. `moving` says that the agent was on the way. `suspected` is what the
    other sensors of the van say of this one.
    """
    if missing := _missing(model, coverage):
        return Verdict(Flag.MISSING, (*missing, "moving") if moving else missing)
    assert model is not None  # noqa: S101 - _missing says no_model otherwise
    means = {name: channel.mean for name, channel in window.channels.items()}
    departures = model.departures({**means, **(warming or {})})
    reasons = [f"{name}{OUTSIDE}" for name, distance in departures.items() if distance > 0.0]
    if any(_is_stuck(window, name) for name in model.measured):
        reasons.append("stuck_value")
    reasons += suspected
    if past_known < PAST_NEEDED:
        reasons.append("temperature_history_incomplete")
    if not synchronised:
        reasons.append("clock_unsynchronised")
    if model.valid_until_ms is not None and window.end_ms > model.valid_until_ms:
        reasons.append("calibration_old")
    if moving:
        reasons.append("moving")
    # Further outside than the range is wide: not weather, but a loose electrode or a wrong unit.
    if any(distance > 1.0 for distance in departures.values()):
        return Verdict(Flag.FAIL, tuple(reasons))
    return Verdict(Flag.SUSPECT if reasons else Flag.PASS, tuple(reasons))


def _missing(model: "Model | None", coverage: Coverage) -> tuple[str, ...]:
    reasons = ["no_model"] if model is None else []
    if not coverage.sufficient:
        reasons.append("insufficient_coverage")
    return tuple(reasons)


def _is_stuck(window: Window, name: str) -> bool:
    """Whether all readings are equal; only for electrodes, since a temperature may well be constant."""
    channel = window.channels[name]
    return channel.readings >= STUCK_READINGS and channel.low == channel.high
