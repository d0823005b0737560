"""The live van: the packages of the co-location, in air within the range of their data."""

from itertools import islice

import numpy as np
import pytest

from edge_agent.core.errors import BadSettings
from model_export.simulator.campaign import SENSORS
from model_export.simulator.network import Recording, simulate
from model_export.simulator.van import STRETCH_DAYS, Minute, drive
from model_export.simulator.weather import IST_MS

START_MS = 1_763_258_437_000  # 16 November 2025, 02:00:37 UTC
CHANNELS = ("op1", "op2", "temperature")


def minutes(count: int, seed: int = 1, first: int = 0) -> list[Minute]:
    return [*islice(drive(seed, START_MS), first, first + count)]


def test_minutes_follow_each_other_on_whole_minutes() -> None:
    """From the first minute on, also between two stretches."""
    seam = STRETCH_DAYS * 1_440
    stamps = [minute.at_ms for minute in minutes(seam + 3)]
    assert stamps == [START_MS - 37_000 + 60_000 * n for n in range(seam + 3)]


def test_the_hours_are_those_of_the_clock() -> None:
    """It is always coldest before six and warmest after noon in India."""
    week = minutes(7 * 1_440)
    hour = np.array([(minute.at_ms + IST_MS) // 3_600_000 % 24 for minute in week])
    warmth = np.array([minute.readings["5A2D"]["temperature"] for minute in week])
    by_hour = [warmth[hour == h].mean() for h in range(24)]
    assert np.argmin(by_hour) in (4, 5, 6)
    assert np.argmax(by_hour) in (12, 13, 14, 15)


def test_every_package_reports_every_channel() -> None:
    for minute in minutes(30):
        assert [*minute.readings] == [*SENSORS]
        assert all(tuple(channels) == CHANNELS for channels in minute.readings.values())


@pytest.mark.parametrize(("seed", "hour"), [(1, 0), (1, 5), (1, 15), (2, 0), (3, 20), (9, 10)])
def test_the_van_stays_inside_what_the_co_location_saw(seed: int, hour: int) -> None:
    """A fortnight, window for window: inside the range of the first four fifths of G-W, T-W and B-W.

    T-W alone is not enough for 1FEA, which recorded a fifth of it and may have missed the warmest day.
    """
    network = simulate(seed, outliers=0.0, datasets=["G-W", "T-W", "B-W"])
    fortnight = [*islice(drive(seed, START_MS + hour * 3_600_000), STRETCH_DAYS * 1_440)]
    for sensor in SENSORS:
        seen = np.vstack(
            [_windows(recording) for recording in network.recordings if recording.sensor == sensor]
        )
        known = seen[: int(0.8 * len(seen))]
        live = np.array([[*minute.readings[sensor].values()] for minute in fortnight])
        means = live.reshape(-1, 15, len(CHANNELS)).mean(axis=1)
        assert not np.any((means < known.min(axis=0)) | (means > known.max(axis=0))), sensor


def _windows(recording: Recording) -> np.ndarray:
    """The windows that count, in the order of CHANNELS."""
    kept = _full(recording.op1) & _full(recording.temperature) & ~np.isnan(recording.reference[::15])
    return np.column_stack(
        [np.nanmean(getattr(recording, name).reshape(-1, 15)[kept], axis=1) for name in CHANNELS]
    )


def _full(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.sum(~np.isnan(values.reshape(-1, 15)), axis=1) >= 12)


def test_the_packages_are_those_of_the_co_location() -> None:
    """Least squares fitted to T-W has R² above 0.95 against the true CO on the van."""
    network = simulate(1, outliers=0.0, datasets=["T-W"])
    week = minutes(7 * 1_440)
    truth = np.array([minute.co for minute in week]).reshape(-1, 15).mean(axis=1)
    for recording in network.recordings:
        if recording.sensor in network.swapped or recording.sensor == "1FEA":
            continue
        kept = _full(recording.op1) & _full(recording.temperature) & ~np.isnan(recording.reference[::15])
        known = _design(*(getattr(recording, name).reshape(-1, 15)[kept] for name in CHANNELS))
        live = _design(
            *(
                np.array([m.readings[recording.sensor][name] for m in week]).reshape(-1, 15)
                for name in CHANNELS
            )
        )
        weights = np.linalg.lstsq(known, recording.reference[::15][kept], rcond=None)[0]
        residual = truth - live @ weights
        assert 1.0 - np.var(residual) / np.var(truth) > 0.95, recording.sensor


def _design(*channels: np.ndarray) -> np.ndarray:
    means = [np.nanmean(minutes, axis=1) for minutes in channels]
    return np.column_stack([*means, np.ones(len(means[0]))])


def test_a_seed_drives_the_same_way_twice() -> None:
    """Bit for bit, and another seed another way; the co-location's own air is not driven again."""
    assert minutes(200) == minutes(200)
    assert minutes(200)[7].readings != minutes(200, seed=2)[7].readings


def test_the_van_does_not_meet_the_gas_it_was_calibrated_with() -> None:
    """Beyond the hour of the day the CO on the road says nothing about that of the co-location."""
    recorded = simulate(1, datasets=["T-W"], sensors=["5A2D"]).colocations["T-W"].air
    fortnight = minutes(STRETCH_DAYS * 1_440)
    first = int(np.flatnonzero(recorded.at_ms % 86_400_000 == fortnight[0].at_ms % 86_400_000)[0])
    days = [
        np.reshape(co[: 13 * 1_440], (13, 1_440)) for co in ([m.co for m in fortnight], recorded.co[first:])
    ]
    unusual = [(day - day.mean(axis=0)).ravel() for day in days]
    assert abs(np.corrcoef(unusual)[0, 1]) < 0.25


def test_a_package_that_does_not_exist_cannot_be_swapped() -> None:
    with pytest.raises(BadSettings, match=r"swapped: expected some of .*, got nobody"):
        next(drive(1, START_MS, ["nobody"]))
