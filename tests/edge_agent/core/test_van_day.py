"""A day of a van: which windows of which sensors are compared."""

from collections.abc import Mapping

import numpy as np
import pytest

from edge_agent.core.comparison import Day, Windows, compare
from edge_agent.core.examination import Examination, threshold
from edge_agent.core.messages import Estimate
from edge_agent.core.suspicions import DAY_MS, HOUR_MS
from edge_agent.core.van_day import VanDay, updated

KINDS = {"CO": ("ppm", 1.0), "NO2": ("ppb", 20.0)}


def van(day: int, gases: Mapping[str, str], scale: float = 1.0, unit: str | None = None) -> VanDay:
    """24 windows of each sensor; the first one is off by a number that it always is."""
    made = VanDay(day, HOUR_MS)
    rng = np.random.default_rng(day)
    truth = 0.8 + 0.4 * np.sin(np.arange(24) / 24 * 2 * np.pi) + 0.1 * rng.standard_normal()
    for n, (sensor, gas) in enumerate(gases.items()):
        usual, factor = KINDS[gas]
        values = (truth + 0.01 * rng.standard_normal(24) + (0.07 if n == 0 else 0.0)) * factor * scale
        half = 0.1 * factor * scale
        starts = [day * DAY_MS + place * HOUR_MS for place in range(24)]
        made.add(
            sensor,
            [
                Estimate(
                    sensor, at, at + HOUR_MS, 1, (), {"temperature": 20.0}, {}, gas=gas, unit=unit or usual,
                    value=float(x), low=float(x - half), high=float(x + half), level=0.9, model="m",
                )
                for at, x in zip(starts, values, strict=True)
            ],
        )  # fmt: skip
    return made


def examined(vans: list[VanDay]) -> dict[str, Examination]:
    known: dict[str, Examination] = {}
    for each in vans:
        known |= updated(each, dict(each.compare(known)), known, threshold(1.0))
    return known


def test_each_gas_is_compared_on_its_own() -> None:
    gases = {"A": "CO", "B": "CO", "C": "NO2", "D": "NO2"}
    known = examined([van(100, gases), van(101, {name: gases[name] for name in "ACD"}), van(102, gases)])
    assert {name: each.examined for name, each in known.items()} == {"A": 2, "B": 2, "C": 3, "D": 3}


def test_another_unit_is_no_drift() -> None:
    """The examination begins anew: nothing of what was usual is true in the new unit."""
    gases = dict.fromkeys("ABCD", "CO")
    before = [van(day, gases) for day in range(100, 120)]
    known = examined([*before, *(van(day, gases, scale=1000.0, unit="ppb") for day in range(120, 140))])
    assert {name: (each.examined, each.unit, dict(each.since)) for name, each in known.items()} == {
        name: (20, "ppb", {}) for name in gases
    }


@pytest.mark.parametrize(("minutes", "fewest"), [(1, 360), (5, 72), (15, 24), (60, 6), (120, 6)], ids=str)
def test_a_day_needs_six_hours_and_six_windows(minutes: int, fewest: int) -> None:
    def shown(windows: int) -> Day | None:
        values = 0.8 + 0.3 * np.sin(np.linspace(0.0, 6.0, 1440 // minutes))[:, None] + np.zeros((1, 3))
        values[windows:, 0] = np.nan
        there = Windows(values, np.full_like(values, 0.1), np.full_like(values, 20.0))
        return compare(1, 0, there, np.ones(3, dtype=bool), minutes * 60_000)

    enough = shown(fewest)
    assert enough
    assert (enough.windows, sum(count for _, count in enough.bins.values())) == (fewest, fewest)
    assert shown(fewest - 1) is None
