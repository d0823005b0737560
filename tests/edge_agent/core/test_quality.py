"""Quality: one flag, every reason, and nothing removed in silence."""

from dataclasses import replace

import pytest

from edge_agent.core.coverage import measure
from edge_agent.core.model import Model
from edge_agent.core.quality import Flag, Verdict, assess
from edge_agent.core.windows import COVERAGE, ChannelMean, Window

SOUND = {
    "op1": ChannelMean(231.4, 15, 15, 230.0, 233.0),
    "op2": ChannelMean(206.1, 15, 15, 205.0, 207.0),
    "temperature": ChannelMean(24.3, 12, 12, 24.3, 24.3),
}


def window(**channels: ChannelMean | None) -> Window:
    named = {name: channel for name, channel in {**SOUND, **channels}.items() if channel is not None}
    return Window("5A2D", 0, 900_000, named)


def op1(mean: float, minutes: int = 15, readings: int = 15, spread: float = 1.0) -> ChannelMean:
    return ChannelMean(mean, minutes, readings, mean - spread, mean + spread)


def judge(
    case: Window, model: Model | None, synchronised: bool = True, coverage: float = COVERAGE
) -> Verdict:
    return assess(case, model, synchronised, measure(case, model, coverage))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (window(), Verdict(Flag.PASS)),
        (window(op1=op1(231.4, minutes=12)), Verdict(Flag.PASS)),
        (window(op1=op1(231.4, minutes=11)), Verdict(Flag.MISSING, ("insufficient_coverage",))),
        (window(op2=None), Verdict(Flag.MISSING, ("insufficient_coverage",))),
        (window(op1=op1(301.0)), Verdict(Flag.SUSPECT, ("op1_outside_training",))),
        (window(op1=op1(421.0)), Verdict(Flag.FAIL, ("op1_outside_training",))),
        (window(op1=op1(231.4, spread=0.0)), Verdict(Flag.SUSPECT, ("stuck_value",))),
        (window(op1=op1(231.4, readings=9, spread=0.0)), Verdict(Flag.PASS)),
        (
            window(temperature=ChannelMean(41.0, 15, 15, 41.0, 41.0)),
            Verdict(Flag.SUSPECT, ("temperature_outside_training",)),
        ),
    ],
)
def test_a_window_is_judged_by_its_worst_and_told_every_reason(
    model: Model, case: Window, expected: Verdict
) -> None:
    assert judge(case, model, synchronised=True) == expected


def test_an_unsynchronised_clock_makes_an_estimate_suspect(model: Model) -> None:
    assert judge(window(), model, synchronised=False) == Verdict(Flag.SUSPECT, ("clock_unsynchronised",))


def test_a_calibration_is_old_from_its_date_on(model: Model) -> None:
    """By the end of the window, not by a clock: a replay says the same; the value and interval stay."""
    verdicts = [judge(window(), replace(model, valid_until_ms=at_ms)) for at_ms in (900_000, 899_999)]
    assert verdicts == [Verdict(Flag.PASS), Verdict(Flag.SUSPECT, ("calibration_old",))]


def test_moving_is_said_of_every_window(model: Model) -> None:
    """Also without a value: a revision that gives it one still knows."""
    sound, poor = window(), window(op1=op1(231.4, minutes=11))
    verdicts = [assess(case, model, True, measure(case, model), moving=True) for case in (sound, poor)]
    assert verdicts == [
        Verdict(Flag.SUSPECT, ("moving",)),
        Verdict(Flag.MISSING, ("insufficient_coverage", "moving")),
    ]


def test_without_a_model_a_window_is_missing_and_says_what_else_is(model: Model) -> None:
    assert judge(window(), None, synchronised=True) == Verdict(Flag.MISSING, ("no_model",))
    thin = window(op1=op1(231.4, minutes=3))
    assert judge(thin, None, True) == Verdict(Flag.MISSING, ("no_model", "insufficient_coverage"))


@pytest.mark.parametrize(
    ("minutes", "cadence", "flag"),
    [(3, 5, Flag.PASS), (2, 5, Flag.PASS), (1, 5, Flag.MISSING), (15, 5, Flag.PASS), (3, 1, Flag.MISSING)],
)
def test_coverage_is_counted_at_the_cadence_of_the_bundle(
    model: Model, minutes: int, cadence: int, flag: Flag
) -> None:
    """Jitter may take one of three readings; readings more often than the bundle says are no fault."""
    slow = replace(model, cadence_minutes=dict.fromkeys(("op1", "op2", "temperature"), cadence))
    channels = {
        name: ChannelMean(one.mean, minutes, minutes, one.low, one.high) for name, one in SOUND.items()
    }
    assert judge(window(**channels), slow, synchronised=True).flag is flag


def test_each_channel_has_a_cadence_of_its_own(model: Model) -> None:
    slow = replace(model, cadence_minutes={"temperature": 5})
    seldom = ChannelMean(24.3, 3, 3, 24.3, 24.3)
    assert judge(window(temperature=seldom), slow, synchronised=True) == Verdict(Flag.PASS)
    assert judge(window(op1=op1(231.4, minutes=3)), slow, synchronised=True).flag is Flag.MISSING


def test_a_channel_that_said_nothing_is_missing_whatever_coverage_is_asked_for(model: Model) -> None:
    """Even with coverage = 0 nothing can be computed from nothing."""
    for absent in ("op1", "temperature"):
        verdict = judge(window(**{absent: None}), model, synchronised=True, coverage=0.0)
        assert verdict == Verdict(Flag.MISSING, ("insufficient_coverage",))
