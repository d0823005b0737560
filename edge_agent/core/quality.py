"""How far an estimate can be trusted: a QARTOD flag and the reasons for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from edge_agent.core.model import Model
from edge_agent.core.windows import Window

STUCK_READINGS = 10  # fewer equal readings in a row happen by chance at an ADC's resolution

PAST_NEEDED = 0.5  # of what warming compares with: less is more guess than knowledge


class Flag(IntEnum):
    """QARTOD's flags; 2 (not evaluated) never leaves an agent, because every window is evaluated."""

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
    model: Model | None,
    synchronised: bool,
    coverage: float = 0.75,
    warming: Mapping[str, float] | None = None,
    past_known: float = 1.0,
) -> Verdict:
    """Judge a window: missing without a model or enough minutes, otherwise by what is odd about it.

    `warming` are the inputs of the model that are not measured, `past_known` the share of the past that they
    rest on.
    """
    if missing := _missing(window, model, coverage):
        return Verdict(Flag.MISSING, missing)
    assert model is not None  # noqa: S101 - _missing says no_model otherwise
    means = {name: channel.mean for name, channel in window.channels.items()}
    departures = model.departures({**means, **(warming or {})})
    reasons = [f"{name}_outside_training" for name, distance in departures.items() if distance > 0.0]
    if any(_is_stuck(window, name) for name in model.measured):
        reasons.append("stuck_value")
    if past_known < PAST_NEEDED:
        reasons.append("past_unknown")
    if not synchronised:
        reasons.append("clock_unsynchronised")
    # A range's own width outside it is no longer weather: an electrode is loose or the units are wrong.
    if any(distance > 1.0 for distance in departures.values()):
        return Verdict(Flag.FAIL, tuple(reasons))
    return Verdict(Flag.SUSPECT if reasons else Flag.PASS, tuple(reasons))


def _missing(window: Window, model: Model | None, coverage: float) -> tuple[str, ...]:
    needed = tuple(window.channels) if model is None else (*model.measured, model.auxiliary)
    minutes = (window.channels[name].minutes if name in window.channels else 0 for name in needed)
    reasons = ["no_model"] if model is None else []
    if min(minutes) < enough_minutes(window.expected_minutes, coverage):
        reasons.append("insufficient_coverage")
    return tuple(reasons)


def enough_minutes(expected: int, coverage: float) -> float:
    """How many minutes make a mean that can be used."""
    return max(1.0, coverage * expected)


def _is_stuck(window: Window, name: str) -> bool:
    """A living electrode is never the same to the last digit; a thermometer may well be."""
    channel = window.channels[name]
    return channel.readings >= STUCK_READINGS and channel.low == channel.high
