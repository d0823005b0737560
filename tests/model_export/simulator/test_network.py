"""The simulated co-location has the paper's counts, faults and difficulties."""

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest

from edge_agent.core.errors import BadSettings
from edge_agent.core.messages import Reading
from edge_agent.core.windows import Windows
from model_export.regression.form import Hyperparameters, standardise
from model_export.regression.respire import fit
from model_export.simulator.campaign import DEPLOYMENTS, SENSORS, SERVICED, SWAPPED
from model_export.simulator.network import Network, Recording, simulate

TABLE_1 = """
      5A2D 5CB6 1FEA 5092 B5FF D3EB
C-W   744  729  439  787  907  907
C-S   1102 564  283  714  1111 974
B-W   783  784  784  784  784  784
B-S   1068 1070 1069 1070 1070 1070
T-W   2430 2431 519  2431 2431 2431
T-S   1315 1318 783  1318 1318 1304
G-W   629  973  972  973  973  973
G-S   1122 1123 1025 1123 1123 1123
"""
SOUND = tuple(sensor for sensor in SENSORS if sensor not in SWAPPED)


@cache
def network(seed: int = 1, outliers: float = 0.0, corrected: bool = False) -> Network:
    return simulate(seed, outliers, () if corrected else SWAPPED)


def table_1() -> dict[tuple[str, str], int]:
    header, *rows = (line.split() for line in TABLE_1.strip().splitlines())
    return {
        (sensor, dataset): int(number)
        for dataset, *numbers in rows
        for sensor, number in zip(header, numbers, strict=True)
    }


def aligned(recording: Recording) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts (n,), means of op1, op2 and temperature (n, 3) and reference (n,) of the windows that count."""
    channels = [values.reshape(-1, 15) for values in (recording.op1, recording.op2, recording.temperature)]
    covered = np.all([np.sum(~np.isnan(minutes), axis=1) >= 12 for minutes in channels], axis=0)
    reference = recording.reference.reshape(-1, 15)[:, 0]
    counts = covered & ~np.isnan(reference)
    means = np.column_stack([np.nanmean(minutes[counts], axis=1) for minutes in channels])
    return recording.at_ms[::15][counts], means, reference[counts]


def of(found: Network, sensor: str, dataset: str) -> Recording:
    (recording,) = (r for r in found.recordings if (r.sensor, r.dataset) == (sensor, dataset))
    return recording


def r2(truth: np.ndarray, estimate: np.ndarray) -> float:
    return float(1.0 - np.sum((truth - estimate) ** 2) / np.sum((truth - truth.mean()) ** 2))


def least_squares(inputs: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The best linear fit on op1, op2 and temperature."""
    design = np.column_stack([inputs, np.ones(len(inputs))])
    return np.asarray(design @ np.linalg.lstsq(design, target, rcond=None)[0])


def bits(found: Network) -> dict[str, bytes]:
    return {
        r.name: b"".join(values.tobytes() for values in (r.op1, r.op2, r.temperature, r.reference))
        for r in found.recordings
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_the_windows_that_count_are_as_many_as_in_table_1(seed: int) -> None:
    """Every one of the 48 recordings, whatever the seed."""
    found = {(r.sensor, r.dataset): len(aligned(r)[0]) for r in network(seed).recordings}
    assert found == table_1()


def served(recording: Recording) -> dict[int, list[float]]:
    """Means of the windows that the agent accepts, by their start."""
    windows, names = Windows(), ("op1", "op2", "temperature")
    rows = zip(recording.at_ms.tolist(), *(getattr(recording, name).tolist() for name in names), strict=True)
    for at_ms, *values in rows:
        for name, value in zip(names, values, strict=True):
            if not math.isnan(value):
                windows.add(Reading(recording.sensor, name, at_ms, value), now_ms=at_ms)
    return {
        window.start_ms: [window.channels[name].mean for name in names]
        for window in windows.close_all()
        if all(name in window.channels and window.channels[name].minutes >= 12 for name in names)
    }


def test_the_agents_windows_count_the_same() -> None:
    """The alignment above equals the agent's: same starts, same means."""
    for recording in (r for r in network().recordings if r.sensor == "1FEA"):
        starts, means, _ = aligned(recording)
        by_start = served(recording)
        referenced = set(recording.at_ms[~np.isnan(recording.reference)].tolist())
        assert sorted(referenced & by_start.keys()) == starts.tolist()
        assert np.array([by_start[start] for start in starts]) == pytest.approx(means, rel=1e-12)


def test_a_seed_gives_the_same_bits_and_another_seed_other_bits() -> None:
    """Also if only a part is simulated."""
    whole, part = bits(simulate(3)), bits(simulate(3, sensors=["B5FF"], datasets=["C-S", "G-W"]))
    assert bits(simulate(3)) == whole
    assert part.keys() == {"B5FF_C-S", "B5FF_G-W"}
    assert part.items() <= whole.items()
    assert not whole.items() & bits(simulate(4)).items()


def test_correcting_the_swap_changes_the_swapped_sensors_electrodes_alone() -> None:
    """Before and after differ in op1 and op2 of 5092 and D3EB and in no other bit."""
    before, after = network(), network(corrected=True)
    for was, now in zip(before.recordings, after.recordings, strict=True):
        assert np.array_equal(was.temperature, now.temperature, equal_nan=True)
        assert np.array_equal(was.reference, now.reference, equal_nan=True)
        assert np.array_equal(was.op1, now.op1, equal_nan=True) == (was.sensor not in SWAPPED)


def test_the_reference_stands_at_the_start_of_its_window() -> None:
    """Only on whole quarters of an hour, and equal to the mean of the 15 true minutes that follow."""
    for dataset in (SERVICED, "C-S"):
        recording, place = of(network(), "B5FF", dataset), network().colocations[dataset]
        marks = np.flatnonzero(~np.isnan(recording.reference))
        assert set((recording.at_ms[marks] % 900_000).tolist()) == {0}
        true = place.air.co.reshape(-1, 15).mean(axis=1)[marks // 15]
        expected = place.analyser.gain * true + place.analyser.zero
        assert np.std(recording.reference[marks] - expected) == pytest.approx(0.02, rel=0.1)


def test_the_analyser_is_true_where_it_was_serviced_and_shifted_elsewhere() -> None:
    """Moves shift the zero, differently every time."""
    zeros = {dataset: place.analyser.zero for dataset, place in network().colocations.items()}
    assert zeros.pop(SERVICED) == 0.0
    assert len(set(zeros.values())) == len(zeros)


def test_an_outage_of_the_reference_is_common_to_all_sensors() -> None:
    """Its gaps are the same in every recording of a dataset, some of them hours long."""
    for dataset in network().colocations:
        references = [r.reference for r in network().recordings if r.dataset == dataset]
        assert all(np.array_equal(references[0], other, equal_nan=True) for other in references)
        missing = np.isnan(references[0][::15])
        runs = Counter(len(run) for run in "".join("x" if gone else " " for gone in missing).split())
        assert max(runs) > 4, dataset


@pytest.mark.parametrize("outliers", [0.0, 0.01, 0.05])
def test_outliers_come_at_the_chosen_rate(outliers: float) -> None:
    """The truth lists them all; other readings are the same without them."""
    place, plain = network(outliers=outliers).colocations["G-S"], network().colocations["G-S"]
    assert place.outliers.sum() == round(outliers * np.sum(~np.isnan(place.reference)))
    assert np.array_equal(place.reference[~place.outliers], plain.reference[~place.outliers], equal_nan=True)


@pytest.mark.parametrize("sensor", SENSORS)
def test_sound_sensors_explain_co_and_swapped_ones_little(sensor: str) -> None:
    """Least squares within a dataset: above 0.95 for a sound one, for a swapped one poor but above 0."""
    scores = []
    for deployment in DEPLOYMENTS:
        _, inputs, reference = aligned(of(network(), sensor, deployment.dataset))
        scores.append(r2(reference, least_squares(inputs, reference)))
    if sensor in SOUND:
        assert min(scores) > 0.95
    else:
        assert 0.1 < np.median(scores) < 0.8


@pytest.mark.parametrize("sensor", SWAPPED)
def test_correcting_the_swap_makes_a_sensor_sound(sensor: str) -> None:
    """Its CO cell exists and is not read."""
    for deployment in DEPLOYMENTS:
        _, inputs, reference = aligned(of(network(corrected=True), sensor, deployment.dataset))
        assert r2(reference, least_squares(inputs, reference)) > 0.95


def roughness(recording: Recording) -> float:
    """How much w1, w2 and b bend over the temperatures seen: the sum of their second differences."""
    _, inputs, reference = aligned(recording)
    fitted = fit(inputs[:, :2], inputs[:, 2], reference, Hyperparameters(length_scale=0.3, ridge=0.5))
    low, high = np.percentile(inputs[:, 2], [2, 98])
    temperatures = np.linspace(low, high, 200)
    curves = fitted.functions.at(standardise(temperatures, fitted.auxiliary_scale))
    return float(np.abs(np.diff(curves, 2, axis=0)).sum())


def test_weight_curves_are_smooth_for_sound_sensors_and_erratic_for_swapped_ones() -> None:
    """As in the paper's figure: the smoothest swapped one bends twice as much as the roughest sound one."""
    rough = {r.name: roughness(r) for r in network(outliers=0.01).recordings}
    sound = [value for name, value in rough.items() if name[:4] in SOUND]
    swapped = [value for name, value in rough.items() if name[:4] in SWAPPED]
    assert min(swapped) > 2.0 * max(sound)
    assert np.median(swapped) > 4.0 * np.median(sound)


def test_swapped_sensors_stand_apart_in_millivolts() -> None:
    """The paper saw it in the distributions: their op1 and op2 take values no sound sensor's do."""
    medians = {r.name: np.nanmedian(r.op2) for r in network().recordings}
    sound = [value for name, value in medians.items() if name[:4] in SOUND]
    swapped = [value for name, value in medians.items() if name[:4] in SWAPPED]
    assert min(swapped) > max(sound) + 30.0
    assert 150.0 < min(sound) < max(sound) < 250.0


def test_temperature_ranges_of_datasets_differ_and_overlap() -> None:
    """The temperatures of two datasets overlap."""
    ranges = {
        r.dataset: np.nanpercentile(r.temperature, [2, 98])
        for r in network().recordings
        if r.sensor == "B5FF"
    }
    assert max(low for low, _ in ranges.values()) < min(high for _, high in ranges.values()) - 5.0
    assert np.ptp([low for low, _ in ranges.values()]) > 5.0
    assert np.ptp([high for _, high in ranges.values()]) > 5.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"outliers": 1.5}, "outliers: expected a share from 0 to below 1, got 1.5"),
        ({"swapped": ["5A2E"]}, f"swapped: expected some of {', '.join(SENSORS)}, got 5A2E"),
        ({"sensors": ["5A2D", "X", "Y"]}, f"sensors: expected some of {', '.join(SENSORS)}, got X, Y"),
        (
            {"datasets": ["T"]},
            f"datasets: expected some of {', '.join(d.dataset for d in DEPLOYMENTS)}, got T",
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(BadSettings) as caught:
        simulate(1, **wrong)  # type: ignore[arg-type]
    assert str(caught.value) == message
