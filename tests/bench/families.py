"""Seven families of real recordings: python -m tests.bench.families DIRECTORY OUT [METHOD,…] [equal]

Fits on the first 80 % of every recording and judges on the last 20 % of others: the same sensor at another
site or in another season, and another sensor of the same box or site on the same days. R² is cut off at -1,
so that no hopeless pair decides. It is averaged over pairs, then over the columns none, adapter, map
(transfer) and both, then over families. With `equal` the baselines get the inputs of RESPIRE: warming, and
the power that RESPIRE chose. An interrupted run is resumed.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from model_export.experiment.cases import RESPIRE
from model_export.experiment.evaluation import Settings, evaluate
from model_export.experiment.leaderboard import scores, wins
from model_export.experiment.methods import METHODS, chosen
from model_export.recordings.catalogue import collect
from tests.bench.real import markdown

LOWEST = -1.0
DEFAULT = "RR,MLP,RESPIRE-paper,RESPIRE"
OTHER_PLACE = {"S1": "none", "S2": "adapter"}
OTHER_SENSOR = {"S3": "none", "S3a": "adapter", "S4": "map", "S5": "both"}
WITH_ADAPTER = ("adapter", "both")


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
    Family("MetaSense CO", "metasense", False),
    Family("SATVAM O3", "satvam", True),
)


def places(folder: Path) -> Iterator[str]:
    """The rows of the manifest; sensors of one box are named alike, up to ~, and units keep makes apart."""
    yield "path,sensor,site,season,unit,gas,window,sensor_type"
    for path in sorted(folder.resolve().glob("*.csv.gz")):
        match path.name.removesuffix(".csv.gz").split("-"):
            case ["captor", box, sensor, site]:
                yield f"{path},captor.{box}~{sensor},{site},2017,ug/m3,O3,1h,metal-oxide"
            case ["uci", _, channels, season]:
                yield f"{path},uci.{channels},uci,{season},mg/m3,CO,1h,metal-oxide"
            case ["airsenseur", site, unit, *o3]:
                gas, unit_of = ("o3", "ppb (ispra)") if o3 else ("co", "ppm (ispra)")
                yield f"{path},airsenseur.{gas}~{unit},{site},jan20,{unit_of},{gas.upper()},,"
            case ["metasense", site, board]:
                yield f"{path},metasense~{board},{site},sep17,ppb,CO,,"
            case ["satvam", sensor, month, "o3"]:
                yield f"{path},satvam.{sensor},{sensor},{month}19,ppb,O3,,"


def means(table: pd.DataFrame, added: Sequence[str] = ("none", "adapter", "map", "both")) -> pd.DataFrame:
    """Mean R² of each method in each family, and over the families."""
    found = {}
    for family in FAMILIES:
        cases = family.of(table)
        cases = cases[cases["added"].isin(added)].assign(r2=cases["r2"].clip(lower=LOWEST))
        columns = cases.groupby(["method", "added"])["r2"].mean()
        found[family.title] = columns.groupby("method").mean()
    shown = pd.DataFrame(found).reindex([name for name in METHODS if name in set(table["method"])])
    return shown.assign(mean=shown.mean(axis=1))


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """Wins in each family without and with adapter, and how many cases that were; without the paper's."""
    methods = [name for name in METHODS if name in set(table["method"]) and name != "RESPIRE-paper"]
    found = {}
    for family in FAMILIES:
        cases = family.of(table)
        for suffix, adapter in (("", False), (" + adapter", True)):
            wide = scores(cases[cases["adapter"] == adapter], methods)
            found[f"{family.title}{suffix} (of {len(wide)})"] = wins(wide)
    shown = pd.DataFrame(found)
    return shown.assign(
        all=shown.filter(regex=r"^[^+]*$").sum(axis=1), all_with_adapter=shown.filter(like="+").sum(axis=1)
    )


def intervals(table: pd.DataFrame) -> pd.DataFrame:
    """Coverage of RESPIRE's 90 % intervals on test parts: the same recording, and with adapter elsewhere."""
    own = table[(table["method"] == RESPIRE) & (table["kind"] == "SS") & (table["scenario"] == "S1")]
    moved = pd.concat([family.of(table) for family in FAMILIES])
    moved = moved[(moved["method"] == RESPIRE) & moved["added"].isin(WITH_ADAPTER)]
    parts = {"same recording": own, "elsewhere, with adapter": moved}
    site = moved[moved["kind"].isin(["XS", "XX"]) & moved["sensor"].str.startswith("captor")]
    parts["another site, with adapter"] = site
    rows = {
        name: {
            "cases": len(part),
            "coverage": part["coverage"].mean(),
            "share of cases with 0.8 or more": (part["coverage"] >= 0.8).mean(),
            "promised": part["promised"].mean(),
        }
        for name, part in parts.items()
    }
    return pd.DataFrame(rows).T


def main(folder: Path, out: Path, methods: str, equal: bool) -> None:
    """Run and print."""
    out.mkdir(parents=True, exist_ok=True)
    manifest = out / "manifest.csv"
    manifest.write_text("\n".join(places(folder)) + "\n")
    settings = Settings(inputs="warmed", power=True) if equal else Settings()
    where, names = out / ("equal" if equal else "plain"), chosen(methods.split(","))
    found = evaluate(collect(manifest), where, names, settings, jobs=os.cpu_count() or 1, say=print)
    print("\n### Mean R²\n", markdown(means(found.table), 3), sep="\n")
    print("\n### Mean R², with adapter\n", markdown(means(found.table, WITH_ADAPTER), 3), sep="\n")
    print("\n### Wins\n", markdown(counted(found.table), 0), sep="\n")
    print("\n### Intervals of RESPIRE\n", markdown(intervals(found.table), 3), sep="\n")


if __name__ == "__main__":
    given = [word for word in sys.argv[3:] if word != "equal"]
    main(Path(sys.argv[1]), Path(sys.argv[2]), next(iter(given), DEFAULT), "equal" in sys.argv[3:])
