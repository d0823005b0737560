"""The rules that choose the cases to show, on small tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from model_export.experiment.evaluation import Experiment
from model_export.experiment.ledger import Ledger, Task
from model_export.experiment.showcase import (
    best_pair,
    gaps,
    scenarios,
    sensors_compared,
    shifted,
    spoilt,
    suspects,
)
from model_export.recordings.catalogue import Collection, Member
from model_export.recordings.dataset import Dataset
from model_export.recordings.names import Place

CASES = (("T-W", "T-W", "SS"), ("T-W", "C-S", "XX"), ("C-S", "T-W", "XX"))


def table(quality: dict[str, float]) -> pd.DataFrame:
    """The models of a sensor have its quality on itself, and 0.05 less on any other sensor."""
    rows = []
    for sensor, r2 in quality.items():
        for target in quality:
            away = {"S3": -9.0, "S4": r2 - 0.1, "S5": r2 - 0.05}
            given = {"S1": r2, "S2": r2} if target == sensor else away
            for dataset, target_dataset, kind in CASES:
                rows += [
                    {
                        "method": "RESPIRE",
                        "sensor": sensor,
                        "dataset": dataset,
                        "target_sensor": target,
                        "target_dataset": target_dataset,
                        "kind": kind,
                        "scenario": scenario,
                        "r2": value,
                    }
                    for scenario, value in given.items()
                ]
    return pd.DataFrame(rows)


def test_a_sensor_whose_models_serve_nobody_is_suspect() -> None:
    assert suspects(table({"A": 0.9, "B": 0.95, "C": 0.9, "D": 0.5}), "RESPIRE") == {"D"}


def test_sensors_that_are_alike_are_all_sound() -> None:
    assert suspects(table({"A": 0.5, "B": 0.45, "C": 0.55}), "RESPIRE") == set()


def test_two_sensors_cannot_outvote_one_another() -> None:
    assert suspects(table({"A": 0.9, "B": 0.1}), "RESPIRE") == set()


def test_a_gap_is_what_the_other_sensor_costs_on_the_same_dataset() -> None:
    found = gaps(table({"A": 0.9, "B": 0.8, "C": 0.1}), "RESPIRE", {"A", "B"}, {"A", "B"})
    np.testing.assert_allclose(found, [-0.05] * 6)


def test_the_pair_shown_serves_both_ways() -> None:
    assert best_pair(table({"A": 0.9, "B": 0.2, "C": 0.8}), "RESPIRE") == ("A", "C")
    assert best_pair(table({"A": 0.9}), "RESPIRE") is None


def test_bars_are_the_sources_own_and_then_the_others() -> None:
    found = scenarios(table({"A": 0.9, "B": 0.2}), "RESPIRE", "A", "B")
    assert found.index.tolist() == ["SS", "XX"]
    expected = {"S1": 0.9, "S2": 0.9, "S3": -9.0, "S4": 0.8, "S5": 0.85}
    assert found.loc["SS"].to_dict() == pytest.approx(expected)


def test_two_sensors_are_compared_on_the_transfers_that_both_made() -> None:
    results = table({"A": 0.9, "B": 0.2})
    results = results[~((results["sensor"] == "B") & (results["dataset"] == "C-S"))]
    found = sensors_compared(results, "RESPIRE", "A", "B")
    assert (found.cases, found.difference) == pytest.approx((1, 0.7))


def test_sensors_that_never_moved_are_compared_on_nothing() -> None:
    """As in a network where another sensor made every transfer."""
    results = table({"A": 0.9, "B": 0.2, "C": 0.5})
    stayed = results["sensor"].isin(["A", "B"]) & (results["kind"] != "SS")
    assert sensors_compared(results[~stayed], "RESPIRE", "A", "B").cases == 0


def experiment(folder: Path) -> Experiment:
    """The adapter lifts the sensors' transfers from 0.5, B's the most, and B's outliers cost the most."""
    results = table({"A": 0.8, "B": 0.9})
    results = results[results["sensor"] == results["target_sensor"]].copy()
    results.loc[results["scenario"] == "S1", "r2"] = 0.5
    results["r2_trimmed"] = np.where(results["sensor"] == "B", 0.99, 0.85)
    start_ms, values = np.arange(4), np.linspace(0.0, 1.0, 4)
    part = Dataset("part", "A", ("op1",), "ppm", start_ms, values[:, None], values, values)
    places = [Place(sensor, *dataset.split("-")) for sensor in "AB" for dataset in ("T-W", "C-S")]
    members = tuple(Member(place, "CO", part, part) for place in places)
    ledger = Ledger(folder)
    for place in places:
        kept = {"estimate": values.tolist(), "gain": 1.0, "offset": 0.0}
        ledger.save(Task("RESPIRE", place), {"own": {"T-W": kept, "C-S": kept}})
    return Experiment(Collection(members, ()), ("RESPIRE",), ledger, results, 0, 0)


def test_a_suspects_shift_is_not_the_references(tmp_path: Path) -> None:
    """B has the largest shifts, but they are left out if B is a suspect."""
    found = experiment(tmp_path)
    for away, expected in (((), "B"), ({"B"}, "A")):
        case = shifted(found, "RESPIRE", "XX", away)
        assert case is not None
        assert case.title.startswith(expected)
        assert spoilt(found, "RESPIRE", away)[0].title.startswith(expected)
    assert shifted(found, "RESPIRE", "XX", {"A", "B"}) is None
    assert spoilt(found, "RESPIRE", {"A", "B"}) == []
