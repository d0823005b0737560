"""The tables of docs/methods.md on real recordings: python -m tests.bench.real DIRECTORY OUT [warmed]

Lists the recordings of DIRECTORY in a manifest, runs every method on them, and prints wins and medians. An
interrupted run is resumed. Recordings as delivered, with their faults, are left out. With `warmed` the six
baselines get the warming channels too.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

from model_export.calibration.fit import WARMING
from model_export.cli.main import main as model_export
from model_export.experiment.cases import RESPIRE, RESPIRE_PAPER
from model_export.experiment.evaluation import Settings, evaluate
from model_export.experiment.leaderboard import rivals, scores, variants, wins
from model_export.experiment.methods import METHODS
from model_export.recordings.catalogue import Collection, collect

# kind and scenario; one sensor was recorded in two seasons, the others side by side at one time
COLUMNS = {
    "same sensor": [("SS", "S1")],
    "+ adapter": [("SS", "S2")],
    "other season": [("SX", "S1")],
    "season + adapter": [("SX", "S2")],
    "other sensor": [("SS", "S3")],
    "sensor + adapter": [("SS", "S3a")],
    "sensor + map": [("SS", "S4")],
    "map + adapter": [("SS", "S5")],
    "all transfers": [("SX", "S1"), ("SS", "S3"), ("SS", "S4")],
    "all + adapter": [("SX", "S2"), ("SS", "S3a"), ("SS", "S5")],
}
FAMILIES = {
    "MetaSense CO, 2 boards": ("11", "12"),
    "AirSensEUR CO, 7 units": ("40458D", "406414", "40641B", "40642E", "4065D0", "4065E0", "4065ED"),
    "SATVAM O3, 2 seasons": ("dd1-o3",),
    "SATVAM NO2, 2 seasons": ("dd1-no2",),
}


def places(folder: Path) -> Iterator[str]:
    """The rows of the manifest, from the names of the files."""
    yield "path,sensor,site,season,unit,gas"
    for path in sorted(folder.resolve().glob("*.csv.gz")):
        match path.name.removesuffix(".csv.gz").split("-"):
            case ["metasense", site, board]:
                yield f"{path},{board},{site},sep17,ppb,CO"
            case ["airsenseur", site, unit]:
                yield f"{path},{unit},{site},jan20,ppm,CO"
            case ["satvam", sensor, month, gas]:
                yield f"{path},{sensor}-{gas},{sensor},{month}19,ppb,{gas.upper()}"


def board(table: pd.DataFrame) -> pd.DataFrame:
    """Wins of the baselines beside our RESPIRE, and of the paper's against the same baselines."""
    there = _there(table)
    found = {name: _wins(table, rivals(there, name)) for name in variants(there)}
    papers = [each.loc[[name]] for name, each in found.items() if name == RESPIRE_PAPER]
    return pd.concat([found[RESPIRE], *papers])


def _there(table: pd.DataFrame) -> list[str]:
    return [name for name in METHODS if name in set(table["method"])]


def _wins(table: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    wide = scores(table, methods)
    cases = pd.MultiIndex.from_arrays([wide.index.get_level_values(name) for name in ("kind", "scenario")])
    return pd.DataFrame({name: wins(wide[cases.isin(which)]) for name, which in COLUMNS.items()})


def medians(table: pd.DataFrame) -> pd.DataFrame:
    """Median R² of each method in each column that the recordings have."""
    kinds = pd.MultiIndex.from_frame(table[["kind", "scenario"]])
    found = {
        name: table[kinds.isin(which)].groupby("method")["r2"].median()
        for name, which in COLUMNS.items()
        if len(which) == 1
    }
    return pd.DataFrame(found).reindex([*_there(table)]).dropna(axis=1, how="all")


def markdown(table: pd.DataFrame, digits: int) -> str:
    lines = [f"| method | {' | '.join(table.columns)} |", "|---|" + "--:|" * table.shape[1]]
    lines += [
        f"| {name} | {' | '.join(f'{cell:.{digits}f}' for cell in row)} |" for name, row in table.iterrows()
    ]
    return "\n".join(lines)


def by_family(table: pd.DataFrame) -> pd.DataFrame:
    """Wins over all transfers of each family, without and with adapter, and how many cases that were."""
    found = {}
    for title, sensors in FAMILIES.items():
        own = board(table[table["sensor"].isin(sensors)])
        name, cases = title.split(",")[0], table[table["sensor"].isin(sensors) & (table["method"] == RESPIRE)]
        kinds = pd.MultiIndex.from_frame(cases[["kind", "scenario"]])
        for column, short in (("all transfers", ""), ("all + adapter", " + adapter")):
            found[f"{name}{short} (of {kinds.isin(COLUMNS[column]).sum()})"] = own[column]
    return pd.DataFrame(found)


def manifest(folder: Path, out: Path) -> Path:
    """The recordings in the form of the experiment."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "manifest.csv"
    path.write_text("\n".join(places(folder)) + "\n")
    return path


def tell(table: pd.DataFrame) -> None:
    """Print wins and medians."""
    print("\n### Wins\n", markdown(board(table), 0), sep="\n")
    print("\n### Wins by family, all transfers\n", markdown(by_family(table), 0), sep="\n")
    for title, sensors in FAMILIES.items():
        own = medians(table[table["sensor"].isin(sensors)])
        print(f"\n### {title}: median R²\n", markdown(own, 2), sep="\n")


def warmed(found: Collection) -> Collection:
    """The recordings with the inputs of our default, for every method."""
    return replace(found, members=tuple(member.warmed(WARMING) for member in found.members))


def fair(folder: Path, out: Path) -> None:
    """Run and print with the same inputs for all; the paper's RESPIRE has the paper's and is left out."""
    found, methods = warmed(collect(manifest(folder, out))), rivals(list(METHODS), RESPIRE)
    tell(evaluate(found, out / "warmed", methods, Settings(), jobs=os.cpu_count() or 1, say=print).table)


def main(folder: Path, out: Path) -> int:
    """Run and print."""
    arguments = ["experiment", str(manifest(folder, out)), "--out", str(out / "results")]
    if code := model_export(arguments):
        return code
    tell(pd.read_parquet(out / "results" / "results.parquet"))
    return 0


if __name__ == "__main__":
    run = fair if sys.argv[3:] == ["warmed"] else main
    sys.exit(run(Path(sys.argv[1]), Path(sys.argv[2])))
