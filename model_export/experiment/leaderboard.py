"""Wins, differences and their significance: pure functions of the results table."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from edge_agent.core.kernel import Array
from model_export.experiment.cases import KINDS, RESPIRE, RESPIRE_PAPER, TRANSFERS

TIE = 0.005  # R² closer than this are a tie, and all of them win
WORST = -1.0  # R² is cut off here, so that one very bad case does not decide a test

CASE = ["sensor", "dataset", "target_sensor", "target_dataset", "kind", "scenario"]


@dataclass(frozen=True, slots=True)
class Paired:
    """A paired two-sided t-test over the cases of both methods; `difference` is first - second.

    Cases of one sensor share models and references, so they are not independent. The second test therefore
    averages the differences by sensor first.
    """

    cases: int
    difference: float
    low: float  # of its 95 % confidence interval
    high: float
    p: float
    sensors: int = 0
    p_by_sensor: float = nan


def scores(table: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """R², one row a case, one column a method; only cases that all methods have."""
    wide = table[table["method"].isin(methods)].pivot(index=CASE, columns="method", values="r2")
    return wide.reindex(columns=list(methods)).dropna()


def wins(wide: pd.DataFrame) -> "pd.Series[int]":
    """How often each method was best, or as good as the best.

    >>> wins(pd.DataFrame({"RR": [0.9, 0.5], "DT": [0.899, 0.7]})).to_dict()
    {'RR': 1, 'DT': 2}
    """
    return wide.ge(wide.max(axis=1) - TIE, axis=0).sum()


def rivals(methods: Sequence[str], respire: str) -> list[str]:
    """One RESPIRE and the baselines, without the other RESPIRE.

    >>> rivals(["RR", "RESPIRE-paper", "RESPIRE"], "RESPIRE")
    ['RR', 'RESPIRE']
    """
    return [name for name in methods if name == respire or name not in (RESPIRE, RESPIRE_PAPER)]


def variants(methods: Sequence[str]) -> list[str]:
    """The RESPIRE methods among some methods."""
    return [name for name in (RESPIRE, RESPIRE_PAPER) if name in methods]


def board(table: pd.DataFrame, methods: Sequence[str], adapter: bool) -> pd.DataFrame:
    """Wins on the source's own sensor for train, SS, SX, XS, XX, all transfers and all tests together."""
    scenario = np.where(table["kind"] == "train", "S1", "S2" if adapter else "S1")
    wide = scores(table[table["scenario"] == scenario], methods)
    groups = {kind: (kind,) for kind in KINDS} | {"transfer": TRANSFERS, "total": KINDS[1:]}
    kinds = wide.index.get_level_values("kind")
    return pd.DataFrame({name: wins(wide[kinds.isin(group)]) for name, group in groups.items()})


def sensor_board(table: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Wins on another sensor: as it is, with adapter, with transfer, with transfer and adapter."""
    wide = scores(table, methods)
    scenario = wide.index.get_level_values("scenario")
    return pd.DataFrame({name: wins(wide[scenario == name]) for name in ("S3", "S3a", "S4", "S5")})


def by_gas(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The cases of each gas; R² of different gases has no common median."""
    return {str(gas): cases for gas, cases in table.groupby("gas", sort=True)}


def medians(table: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Median R² by method for every kind, without and with adapter; for the cases of one gas."""
    own = table[table["scenario"].isin(["S1", "S2"])]
    kind = own["kind"].where(~own["adapter"], own["kind"] + " with adapter")
    wide = own.pivot_table(index="method", columns=kind, values="r2", aggfunc="median")
    return wide.reindex(list(methods))


def paired(first: Array, second: Array, sensors: Sequence[str] = ()) -> Paired:
    """Whether the R² of two methods over the same cases, cut off at -1, differ significantly.

    With the sensor of each case, also whether they differ over sensors.
    """
    difference = np.maximum(first, WORST) - np.maximum(second, WORST)
    mean = float(difference.mean()) if len(difference) else nan
    means = pd.Series(difference).groupby(list(sensors)).mean().to_numpy() if len(sensors) else np.empty(0)
    _, _, p_by_sensor = _t_test(means)
    return Paired(len(difference), mean, *_t_test(difference), len(means), p_by_sensor)


def _t_test(difference: Array) -> tuple[float, float, float]:
    """The 95 % confidence interval of the mean, and p; nan where there are too few differences."""
    if len(difference) < 2 or np.ptp(difference) == 0.0:
        return nan, nan, nan
    test = ttest_1samp(difference, 0.0)
    between = test.confidence_interval(0.95)
    return float(between.low), float(between.high), float(test.pvalue)


def against(table: pd.DataFrame, methods: Sequence[str], best: str, adapter: bool) -> dict[str, Paired]:
    """One method against each of the others over all transfers of the source's own sensor."""
    moved = table["kind"].isin(TRANSFERS) & (table["scenario"] == ("S2" if adapter else "S1"))
    wide = scores(table[moved], methods)
    sensors = list(wide.index.get_level_values("sensor"))
    return {
        name: paired(wide[best].to_numpy(), wide[name].to_numpy(), sensors)
        for name in methods
        if name != best
    }
