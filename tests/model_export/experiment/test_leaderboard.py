"""Counting wins and testing differences, on tables small enough to count by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from model_export.experiment.board_plots import differences
from model_export.experiment.leaderboard import (
    Paired,
    against,
    board,
    by_gas,
    medians,
    paired,
    sensor_board,
)


def table(scores: dict[str, list[tuple[str, str, float]]]) -> pd.DataFrame:
    """{"RR": [(kind, scenario, r2), …]}; the n-th entry of every method is the same case."""
    rows = [
        {
            "method": method,
            "sensor": "A",
            "dataset": f"d{number}",
            "target_sensor": "A",
            "target_dataset": "T-W",
            "kind": kind,
            "scenario": scenario,
            "adapter": scenario == "S2",
            "r2": r2,
        }
        for method, cases in scores.items()
        for number, (kind, scenario, r2) in enumerate(cases)
    ]
    return pd.DataFrame(rows)


def test_a_tie_is_a_win_for_both_and_transfer_is_the_sum() -> None:
    """0.004 apart is a tie, 0.006 is not."""
    results = table(
        {
            "RR": [("train", "S1", 0.9), ("SS", "S1", 0.800), ("SX", "S1", 0.5), ("XX", "S1", 0.806)],
            "DT": [("train", "S1", 1.0), ("SS", "S1", 0.804), ("SX", "S1", 0.1), ("XX", "S1", 0.800)],
        }
    )
    counted = board(results, ["RR", "DT"], adapter=False)
    assert counted.loc["RR"].to_dict() == {
        "train": 0, "SS": 1, "SX": 1, "XS": 0, "XX": 1, "transfer": 2, "total": 3,
    }  # fmt: skip
    assert counted.loc["DT"].to_dict() == {
        "train": 1, "SS": 1, "SX": 0, "XS": 0, "XX": 0, "transfer": 0, "total": 1,
    }  # fmt: skip


def test_with_adapter_counts_the_adapted_rows_and_the_same_training() -> None:
    results = table(
        {
            "RR": [("train", "S1", 0.9), ("SX", "S1", 0.9), ("SX", "S2", 0.5)],
            "DT": [("train", "S1", 1.0), ("SX", "S1", 0.1), ("SX", "S2", 0.7)],
        }
    )
    assert board(results, ["RR", "DT"], adapter=True)[["train", "SX"]].to_numpy().tolist() == [[0, 0], [1, 1]]
    assert medians(results, ["RR"]).to_dict("index") == {
        "RR": {"train": 0.9, "SX": 0.9, "SX with adapter": 0.5}
    }


def test_each_gas_has_its_own_medians() -> None:
    """The mean of a good gas and a hopeless one would be the R² of neither."""
    good, poor = (
        table({"RR": [("SX", "S1", r2)]}).assign(gas=gas) for gas, r2 in (("CO", 0.9), ("NO2", 0.1))
    )
    found = {
        gas: medians(cases, ["RR"])["SX"]["RR"] for gas, cases in by_gas(pd.concat([good, poor])).items()
    }
    assert found == {"CO": 0.9, "NO2": 0.1}


def test_a_case_that_not_all_have_faced_counts_for_none() -> None:
    results = table({"RR": [("SX", "S1", 0.5), ("XX", "S1", 0.5)], "DT": [("SX", "S1", 0.4)]})
    assert board(results, ["RR", "DT"], adapter=False)["transfer"].to_dict() == {"RR": 1, "DT": 0}


def test_another_sensor_has_a_board_of_its_own() -> None:
    results = table(
        {"RR": [("SS", "S3", -9.0), ("SS", "S4", 0.5)], "DT": [("SS", "S3", 0.2), ("SS", "S4", 0.4)]}
    )
    counted = sensor_board(results, ["RR", "DT"])
    assert counted.loc["RR"].to_dict() == {"S3": 0, "S3a": 0, "S4": 1, "S5": 0}


def test_the_paired_test_is_scipys_on_r2_cut_off_at_minus_one() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.5, 0.1, 30), rng.normal(0.45, 0.1, 30)
    found = paired(first, second)
    assert (found.cases, found.difference) == pytest.approx((30, np.mean(first - second)))
    assert found.p == pytest.approx(ttest_rel(first, second).pvalue)
    second[0] = -1e6
    assert paired(first, second) == paired(first, np.maximum(second, -1.0))


def test_by_sensor_the_differences_are_averaged_first() -> None:
    """Ten copies of a case are no more evidence than one, so two sensors that differ prove nothing."""
    first = np.repeat([0.9, 0.3, 0.6], 10)
    second = np.repeat([0.5, 0.4, 0.5], 10)
    found = paired(first, second, ["A"] * 10 + ["B"] * 10 + ["C"] * 10)
    assert found.sensors == 3
    assert found.p < 0.01
    assert found.p_by_sensor == pytest.approx(ttest_rel([0.9, 0.3, 0.6], [0.5, 0.4, 0.5]).pvalue)
    assert np.isnan(paired(first, second).p_by_sensor)


def test_every_row_of_the_tests_lies_inside_the_picture() -> None:
    test = Paired(9, 0.1, 0.0, 0.2, 0.04, 3, 0.2)
    figure = differences({"without": {"RR": test, "DT": test}, "with": {"RR": test, "DT": test}}, "R", "t")
    (axes,) = figure.axes
    assert axes.get_ylim() == (-0.6, 1.6)
    figure.draw_without_rendering()
    right = axes.get_window_extent().x1
    assert all(text.get_window_extent().x1 <= right for text in axes.texts)


def test_one_case_or_no_difference_proves_nothing() -> None:
    assert np.isnan(paired(np.array([0.5]), np.array([0.4])).p)
    assert np.isnan(paired(np.array([0.5, 0.6]), np.array([0.4, 0.5])).p)


def test_respire_is_tested_against_each_other_method_over_transfers_only() -> None:
    results = table(
        {
            "RR": [("SS", "S1", 1.0), ("SX", "S1", 0.5), ("XX", "S1", 0.4)],
            "RESPIRE": [("SS", "S1", 0.0), ("SX", "S1", 0.7), ("XX", "S1", 0.7)],
        }
    )
    found = against(results, ["RR", "RESPIRE"], "RESPIRE", adapter=False)
    assert list(found) == ["RR"]
    assert (found["RR"].cases, found["RR"].difference) == pytest.approx((2, 0.25))
