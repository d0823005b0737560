"""Tables over seven families of real recordings: mean R², wins, and what intervals cover.

R² is cut off at -1, so that no hopeless pair decides. It is averaged over pairs, then over the columns none,
adapter, map (transfer) and both, then over families.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from model_export.experiment.cases import RESPIRE, RESPIRE_PAPER
from model_export.experiment.leaderboard import scores, wins
from tests.bench.earlier import NAME as EARLIER

LOWEST = -1.0
OTHER_PLACE = {"S1": "none", "S2": "adapter"}
OTHER_SENSOR = {"S3": "none", "S3a": "adapter", "S4": "map", "S5": "both"}
ADDED = ("none", "adapter", "map", "both")
WITH_ADAPTER = ("adapter", "both")
COVERED = 0.8  # of the windows, at least, where 0.9 are promised


@dataclass(frozen=True, slots=True)
class Family:
    """Cases that are averaged first: recordings of one make, the same sensor elsewhere or another one."""

    title: str
    make: str
    same_sensor: bool

    def of(self, table: pd.DataFrame) -> pd.DataFrame:
        """Its cases, and what was added to the model in each."""
        elsewhere = table["kind"].isin(["SX", "XS", "XX"])
        box, target = (table[name].str.partition("~")[0] for name in ("sensor", "target_sensor"))
        names = OTHER_PLACE if self.same_sensor else OTHER_SENSOR
        mine = (box == target) & box.str.startswith(self.make) & (elsewhere == self.same_sensor)
        rows = table.assign(added=table["scenario"].map(names))[mine]
        return rows[rows["added"].notna()]


FAMILIES = (
    Family("CAPTOR same sensor", "captor", True),
    Family("CAPTOR other sensor", "captor", False),
    Family("UCI", "uci", True),
    Family("AirSensEUR CO", "airsenseur.co", False),
    Family("AirSensEUR O3", "airsenseur.o3", False),
    Family("MetaSense CO", "metasense.co", False),
    Family("SATVAM O3", "satvam.o3", True),
)


def methods_of(table: pd.DataFrame) -> list[str]:
    """All methods, in the order of the table."""
    return [str(name) for name in table["method"].unique()]


def means(table: pd.DataFrame, added: Sequence[str] = ADDED) -> pd.DataFrame:
    """Mean R² of each method in each family, and over the families."""
    found = {}
    for family in FAMILIES:
        cases = family.of(table)
        cases = cases[cases["added"].isin(added)].assign(r2=cases["r2"].clip(lower=LOWEST))
        columns = cases.groupby(["method", "added"])["r2"].mean()
        found[family.title] = columns.groupby("method").mean()
    shown = pd.DataFrame(found).reindex(methods_of(table))
    return shown.assign(mean=shown.mean(axis=1))


def medians(table: pd.DataFrame) -> pd.DataFrame:
    """Median R² of each method: on the same recording, elsewhere, and elsewhere with adapter."""
    found = {}
    home = table[(table["kind"] == "SS") & (table["scenario"] == "S1")]
    for family in FAMILIES:
        cases = family.of(table)
        parts = {"same": home[home["sensor"].str.startswith(family.make)]}
        parts |= {added: cases[cases["added"] == added] for added in ("none", "adapter")}
        for name, part in parts.items():
            found[f"{family.title}, {name}"] = part.groupby("method")["r2"].median()
    return pd.DataFrame(found).reindex(methods_of(table))


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """Wins of RESPIRE and the baselines in each family, without and with adapter, and in all."""
    methods = [name for name in methods_of(table) if name not in (RESPIRE_PAPER, EARLIER)]
    found = {}
    for adapter in (False, True):
        for family in FAMILIES:
            cases = family.of(table)
            wide = scores(cases[cases["adapter"] == adapter], methods)
            found[f"{family.title}{' + adapter' * adapter} ({len(wide)})"] = wins(wide)
    shown = pd.DataFrame(found)
    plain, adapted = shown.filter(regex=r"^[^+]*$"), shown.filter(like="+")
    return shown.assign(**{"all": plain.sum(axis=1), "all + adapter": adapted.sum(axis=1)})


def own(table: pd.DataFrame, method: str = RESPIRE) -> pd.DataFrame:
    """One row a recording: the intervals on its last 20 %, of the model of its first 80 %."""
    mine = table[(table["method"] == method) & (table["kind"] == "SS") & (table["scenario"] == "S1")]
    names = mine["sensor"] + "_" + mine["dataset"]
    return mine.assign(recording=names).set_index("recording")[["coverage", "promised", "interval_score"]]


def moved(table: pd.DataFrame) -> pd.DataFrame:
    """The cases of RESPIRE elsewhere, with adapter."""
    cases = pd.concat([family.of(table) for family in FAMILIES])
    return cases[(cases["method"] == RESPIRE) & cases["added"].isin(WITH_ADAPTER)]


def intervals(table: pd.DataFrame, sound: Sequence[str]) -> pd.DataFrame:
    """Coverage of 90 % intervals on test parts, on the same recording and elsewhere."""
    mine, before, there = own(table), own(table, EARLIER), moved(table)
    site = there[there["kind"].isin(["XS", "XX"])]
    parts = {
        "same recording, all": mine,
        "same recording, sound": mine[mine.index.isin(sound)],
        "same recording, all, earlier default": before,
        "same recording, sound, earlier default": before[before.index.isin(sound)],
        "elsewhere, with adapter": there,
        "another site, with adapter": site,
    }
    return pd.DataFrame({name: _summed(part) for name, part in parts.items()}).T


def score_ratio(table: pd.DataFrame, recordings: Sequence[str]) -> float:
    """The interval score over the earlier default's: the geometric mean over recordings."""
    ratio = own(table)["interval_score"] / own(table, EARLIER)["interval_score"]
    return float(np.exp(np.log(ratio[ratio.index.isin(recordings)]).mean()))


def _summed(part: pd.DataFrame) -> dict[str, float]:
    judged = part[part["coverage"].notna()]
    return {
        "cases": len(judged),
        "coverage": judged["coverage"].mean(),
        f"share with {COVERED} or more": (judged["coverage"] >= COVERED).mean(),
        "promised": judged["promised"].mean(),
    }


Bound = tuple[str, float, float | None, float | None]  # name, figure, at most, at least


def bounds(table: pd.DataFrame, sound: Sequence[str]) -> Iterator[Bound]:
    """The figures that must hold."""
    every, adapted = means(table).T, means(table, WITH_ADAPTER).T
    yield "mean R² over the families", float(every[RESPIRE]["mean"]), None, 0.65
    worst = (every[RESPIRE] - every[EARLIER]).drop("mean").min()
    yield "the family that lost most against the earlier default", float(worst), None, -0.01
    yield "mean R² with adapter", float(adapted[RESPIRE]["mean"]), None, 0.79
    mine = own(table)["coverage"].dropna()
    yield "coverage, mean over all recordings", float(mine.mean()), 0.93, 0.87
    good = mine[mine.index.isin(sound)] >= COVERED
    yield f"share of sound recordings with a coverage of {COVERED} or more", float(good.mean()), None, 0.95
    yield "interval score over that of the earlier default", score_ratio(table, list(mine.index)), 0.92, None
    site = moved(table)
    there = site.loc[site["kind"].isin(["XS", "XX"]), "coverage"]
    yield "coverage at another site with adapter", float(there.mean()), None, 0.85
