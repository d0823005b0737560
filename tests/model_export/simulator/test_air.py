"""The gases of the city: two peaks a day, clean afternoons, dirty winters, short spikes."""

from dataclasses import replace

import numpy as np
import pytest

from model_export.simulator.air import SITES, Air, draw_air
from model_export.simulator.campaign import DEPLOYMENTS
from model_export.simulator.rng import stream
from model_export.simulator.weather import IST_MS

STARTS = {deployment.dataset: deployment.start_ms for deployment in DEPLOYMENTS}
FORTNIGHT = 14 * 1_440


def air(dataset: str, site: str = "", seed: int = 5) -> Air:
    """Two weeks from the beginning of a deployment, at its site or another."""
    return draw_air(stream(seed, "air"), SITES[site or dataset[0]], STARTS[dataset], FORTNIGHT)


def by_hour(gas: Air) -> np.ndarray:
    """The mean CO of each hour of the Indian day."""
    hour = (gas.at_ms + IST_MS) // 3_600_000 % 24
    return np.array([gas.co[hour == h].mean() for h in range(24)])


@pytest.mark.parametrize("dataset", STARTS)
def test_co_peaks_in_the_morning_and_the_evening(dataset: str) -> None:
    """Peaks at 7-10 and 19-23 o'clock; the afternoon is the cleanest, nights are between."""
    day = by_hour(air(dataset))
    morning, evening, afternoon, night = day[7:11].max(), day[19:23].max(), day[13:17].mean(), day[3:5].mean()
    assert 7 <= np.argmax(day[:14]) <= 10
    assert 19 <= 14 + np.argmax(day[14:]) <= 23
    assert min(morning, evening) > 1.5 * night
    assert night > 1.2 * afternoon


def test_the_magnitudes_are_those_of_an_indian_city() -> None:
    """Means from 0.3 to 2 ppm, more in winter, more among lorries than on a campus, never negative."""
    means = {dataset: air(dataset).co.mean() for dataset in STARTS}
    assert 0.3 < min(means.values()) < max(means.values()) < 2.0
    for site in SITES:
        assert means[f"{site}-W"] > means[f"{site}-S"]
    assert air("T-W", "T").co.mean() > 1.3 * air("T-W", "B").co.mean()
    assert min(air(dataset).co.min() for dataset in STARTS) > 0.05


def test_spikes_come_from_plumes_and_last_minutes() -> None:
    """Without plumes the same air has no jump; with them it jumps and is back within half an hour."""
    busy = replace(SITES["T"], plumes_a_day=30.0)
    plain = draw_air(stream(5, "air"), replace(busy, plumes_a_day=0.0), STARTS["T-W"], FORTNIGHT)
    spiky = draw_air(stream(5, "air"), busy, STARTS["T-W"], FORTNIGHT)
    extra = spiky.co - plain.co
    assert np.diff(plain.co).max() < 0.5
    assert np.diff(spiky.co).max() > 2.0
    loudest = int(np.argmax(extra))
    assert extra[loudest + 30] < 0.2 * extra[loudest]
    assert np.mean(extra < 0.01) > 0.5


@pytest.mark.parametrize("dataset", STARTS)
def test_nox_goes_with_co_only_in_part(dataset: str) -> None:
    """Petrol makes both, lorries and fires one each: related, far from the same."""
    gases = air(dataset)
    windows = [gas.reshape(-1, 15).mean(axis=1) for gas in (gases.co, gases.nox)]
    assert 0.4 < np.corrcoef(windows)[0, 1] < 0.93
    assert 0.01 < gases.nox.mean() < 0.2


def test_co_remembers_the_hour_before_and_not_the_week_before() -> None:
    """The air of a city is correlated over time."""
    co = air("T-W").co.reshape(-1, 15).mean(axis=1)
    assert np.corrcoef(co[:-4], co[4:])[0, 1] > 0.7
    assert np.corrcoef(co[:-24], co[24:])[0, 1] < 0.3
