"""The weather has the normals of Lucknow and realistic deviations."""

from datetime import UTC, datetime

import numpy as np
import pytest

from model_export.simulator.rng import stream
from model_export.simulator.weather import DAY_MS, IST_MS, MAXIMUM, MINIMUM, draw_weather

MINUTES = 1_440


def midnight_ms(month: int, day: int) -> int:
    """Midnight in India."""
    return int(datetime(2024, month, day, tzinfo=UTC).timestamp()) * 1000 - IST_MS


@pytest.mark.parametrize("month", [2, 3, 4, 10, 11, 12])
def test_a_usual_day_reaches_the_normals_of_its_month(month: int) -> None:
    """With nothing unusual the middle of the month has the month's mean maximum and minimum."""
    day = draw_weather(stream(1, "usual"), midnight_ms(month, 15), MINUTES, liveliness=0.0)
    assert day.temperature.max() == pytest.approx(MAXIMUM[month - 1], abs=0.8)
    assert day.temperature.min() == pytest.approx(MINIMUM[month - 1], abs=0.8)


def test_the_day_is_coldest_at_dawn_and_warmest_after_noon_in_india() -> None:
    """Stamps are UTC; the sun is not."""
    day = draw_weather(stream(1, "usual"), midnight_ms(11, 1), MINUTES, liveliness=0.0)
    assert 5.0 < day.hour[np.argmin(day.temperature)] < 7.5
    assert 13.0 < day.hour[np.argmax(day.temperature)] < 16.0
    assert day.sun[day.hour < 5.5].max() == 0.0
    assert day.hour[np.argmax(day.height)] > 12.0


def test_days_differ_by_degrees_but_not_wildly() -> None:
    """The spread of daily means about the season's trend is that of a continental autumn: 1 to 3 °C."""
    weather = draw_weather(stream(3, "month"), midnight_ms(10, 1), 90 * MINUTES)
    means = weather.temperature.reshape(90, MINUTES).mean(axis=1)
    trend = np.polyval(np.polyfit(np.arange(90), means, 2), np.arange(90))
    assert 1.0 < np.std(means - trend) < 3.0
    assert weather.wind.min() > 0.0
    assert weather.height.min() > 0.0


def test_the_weather_does_not_jump() -> None:
    """Within a minute the air changes by tenths of a degree, over the seam of a day too."""
    weather = draw_weather(stream(4, "smooth"), midnight_ms(12, 30), 4 * MINUTES)
    assert np.abs(np.diff(weather.temperature)).max() < 0.5
    assert np.diff(weather.at_ms).tolist() == [60_000] * (4 * MINUTES - 1)
    assert weather.at_ms[-1] - weather.at_ms[0] == 4 * DAY_MS - 60_000
