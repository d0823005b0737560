"""The cases that the report shows, chosen from the results table by rule and never by hand."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pandas as pd

from edge_agent.core.kernel import Array
from model_export.experiment.case_plots import Case
from model_export.experiment.cases import TRANSFERS
from model_export.experiment.evaluation import Experiment
from model_export.experiment.leaderboard import Paired, paired
from model_export.recordings.catalogue import Member

GOOD = 0.6  # R² that a case must reach to be shown
APART = 0.2  # R² by which the median of a suspect sensor is below the network's
JUDGED = ["dataset", "target_dataset"]


def shifted(found: Experiment, method: str, kind: str, suspects: Collection[str] = ()) -> Case | None:
    """The case of a kind that gains most from the adapter, of those that are good with it.

    Suspects are left out: their shifts need not come from the reference.
    """
    rows = _own(found, method, [kind], suspects)
    both = rows.pivot(index=["sensor", *JUDGED], columns="scenario", values="r2").reset_index()
    good = both[both["S2"] >= GOOD] if len(both) else both
    if good.empty:
        return None
    most = good.iloc[int(np.argmax(good["S2"] - good["S1"]))]
    return _case(found, method, (str(most["sensor"]), str(most["dataset"]), str(most["target_dataset"])))


def spoilt(found: Experiment, method: str, suspects: Collection[str] = ()) -> list[Case]:
    """The two cases where the worst 5 % of windows cost most R², with adapter, one a target dataset."""
    rows = _own(found, method, TRANSFERS, suspects)
    rows = rows[(rows["scenario"] == "S2") & (rows["r2_trimmed"] >= GOOD)]
    rows = rows.assign(cost=rows["r2_trimmed"] - rows["r2"]).sort_values("cost", ascending=False)
    first = rows.drop_duplicates("target_dataset")[:2]
    return [
        _case(found, method, key) for key in first[["sensor", *JUDGED]].itertuples(index=False, name=None)
    ]


def suspects(table: pd.DataFrame, method: str) -> set[str]:
    """Sensors whose models are poor on every other sensor, even with transfer and adapter (median S5)."""
    moved = table[(table["method"] == method) & (table["scenario"] == "S5")]
    medians = moved.groupby("sensor")["r2"].median()
    return set(medians.index[medians < medians.median() - APART].astype(str)) if len(medians) > 2 else set()


def gaps(table: pd.DataFrame, method: str, sources: set[str], targets: set[str]) -> Array:
    """S5 - S2 of every transfer from some sensors to others."""
    rows = table[(table["method"] == method) & table["sensor"].isin(sources)]
    home = rows[rows["scenario"] == "S2"].set_index(["sensor", *JUDGED])["r2"]
    away = rows[(rows["scenario"] == "S5") & rows["target_sensor"].isin(targets)]
    joined = away.join(home.rename("home"), on=["sensor", *JUDGED])
    return (joined["r2"] - joined["home"]).dropna().to_numpy(dtype=float)


def best_pair(table: pd.DataFrame, method: str) -> tuple[str, str] | None:
    """The two sensors whose models are best on each other."""
    moved = table[(table["method"] == method) & (table["scenario"] == "S5")]
    medians = moved.groupby(["sensor", "target_sensor"])["r2"].median()
    both = {
        (one, other): min(medians[one, other], medians[other, one])
        for one, other in medians.index
        if one < other and (other, one) in medians.index
    }
    return max(both, key=lambda pair: both[pair]) if both else None


def between_sensors(table: pd.DataFrame) -> pd.DataFrame:
    """Median S5 from each sensor (row) to each other (column)."""
    moved = table[table["scenario"] == "S5"]
    return moved.pivot_table(index="sensor", columns="target_sensor", values="r2", aggfunc="median")


def scenarios(table: pd.DataFrame, method: str, source: str, target: str) -> pd.DataFrame:
    """Median S1-S5 of a pair for each kind; S1 and S2 are on the source itself."""
    rows = table[(table["method"] == method) & (table["sensor"] == source) & (table["kind"] != "train")]
    rows = rows[rows["target_sensor"].isin([source, target])]
    wide = rows.pivot_table(index="kind", columns="scenario", values="r2", aggfunc="median")
    return wide.reindex(index=[kind for kind in ("SS", *TRANSFERS) if kind in wide.index])


def longest(members: Iterable[Member], sensor: str) -> Member:
    """The recording of a sensor with the most windows."""
    return max((one for one in members if one.place.sensor == sensor), key=lambda one: len(one.train))


def sensors_compared(table: pd.DataFrame, method: str, first: str, second: str) -> Paired:
    """Two sensors' models on the same transfers: the paper's paired two-sided t-test."""
    rows = table[(table["method"] == method) & (table["scenario"] == "S2") & table["kind"].isin(TRANSFERS)]
    wide = rows.pivot(index=JUDGED, columns="sensor", values="r2").reindex(columns=[first, second]).dropna()
    return paired(wide[first].to_numpy(), wide[second].to_numpy())


def losses(found: Experiment, method: str) -> pd.DataFrame:
    """R² lost to the full model: one row a fit, one column a number of support vectors."""
    fits = [found.fit(method, member)["details"]["sizes"] for member in found.fits(method)]
    return pd.DataFrame([{point["size"]: point["loss"] for point in points} for points in fits])


def _own(found: Experiment, method: str, kinds: Sequence[str], without: Collection[str]) -> pd.DataFrame:
    table = found.table[(found.table["method"] == method) & ~found.table["sensor"].isin(list(without))]
    return table[table["kind"].isin(kinds) & table["scenario"].isin(["S1", "S2"])]


def _case(found: Experiment, method: str, key: tuple[str, str, str]) -> Case:
    sensor, dataset, target_dataset = key
    members = {(one.place.sensor, one.place.dataset): one for one in found.collection.members}
    source, target = members[sensor, dataset], members[sensor, target_dataset]
    kept = found.fit(method, source)["own"][target_dataset]
    estimate = np.array(kept["estimate"])
    return Case(
        title=f"{sensor}: {dataset} → {target_dataset}",
        unit=f"{target.gas} ({target.test.unit})",
        start_ms=target.test.start_ms,
        reference=target.test.target,
        estimate=estimate,
        adapted=kept["gain"] * estimate + kept["offset"],
    )
