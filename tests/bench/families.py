"""Seven families of real recordings: python -m tests.bench.families DIRECTORY OUT [METHOD,…]

Fits on the first 80 % of every recording and judges on the last 20 % of others: the same sensor at another
site or in another season, and another sensor of the same box or site on the same days. Every baseline has
two rows: with the paper's inputs, and with ours (warming, or the power of a metal-oxide signal). Prints mean
R², wins, coverage, and the figures that must hold. An interrupted run is resumed. It uses the cores that
`taskset` allows.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from model_export.experiment.cases import RESPIRE, RESPIRE_PAPER
from model_export.experiment.evaluation import Settings, evaluate
from model_export.experiment.methods import chosen
from model_export.recordings.catalogue import Collection, collect
from model_export.recordings.recording import CELL
from tests.bench import earlier, family_tables, sound
from tests.bench.table import markdown, row

OURS = " with our inputs"


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
                yield f"{path},metasense.co~{board},{site},sep17,ppb,CO,,"
            case ["metasense", site, board, "o3"]:
                yield f"{path},metasense.o3~{board},{site},sep17,ppb,O3,,"
            case ["metasense", site, board, "as", "delivered"]:
                yield f"{path},metasense.faulty~{board},{site},sep17,ppb (faulty),CO,,"
            case ["satvam", sensor, month, gas]:
                yield f"{path},satvam.{gas}~{sensor},{sensor},{month}19,ppb,{gas.upper()},,"


def tables(found: Collection, out: Path, methods: Sequence[str]) -> pd.DataFrame:
    """The cases of all methods; those of the baselines once more, with our inputs."""
    jobs = len(os.sched_getaffinity(0))
    plain = evaluate(found, out / "plain", methods, Settings(), jobs=jobs, say=print).table
    before = earlier.table(found, out / "earlier", jobs)
    baselines = [name for name in methods if name not in (RESPIRE, RESPIRE_PAPER)]
    equal = Settings(inputs="warmed", power=True)
    ours = evaluate(found, out / "equal", baselines, equal, jobs=jobs, say=print).table
    return pd.concat([plain, before, ours.assign(method=ours["method"] + OURS)], ignore_index=True)


def examined(manifest: Path, out: Path) -> sound.Found:
    """What the doctor finds in each recording of the manifest."""
    listed = pd.read_csv(manifest)
    names = listed["sensor"] + "_" + listed["site"] + "-" + listed["season"].astype(str)
    lengths = listed["window"].map({"1h": 3_600_000}).fillna(900_000).astype(int)
    paths, types = map(Path, listed["path"]), listed["sensor_type"].fillna(CELL)
    return sound.examined(zip(names, paths, lengths, types, strict=True), out)


def tell(table: pd.DataFrame, findings: sound.Found) -> None:
    """Print all tables."""
    without = [name for name, codes in findings.items() if not codes]
    plain = table[~table["method"].str.endswith(OURS)]
    equal = table[table["method"].str.endswith(OURS) | (table["method"] == RESPIRE)]
    with_adapter = family_tables.means(table, family_tables.WITH_ADAPTER)
    show("Mean R²", markdown(family_tables.means(table), 3))
    show("Mean R², with adapter", markdown(with_adapter, 3))
    show(
        "Median R²: same recording; elsewhere without and with adapter",
        markdown(family_tables.medians(table), 2),
    )
    show("Wins, baselines with the paper's inputs", markdown(family_tables.counted(plain), 0))
    show("Wins, baselines with our inputs", markdown(family_tables.counted(equal), 0))
    show("90 % intervals", markdown(family_tables.intervals(table, without), 3))
    listed = family_tables.own(table).sort_values("coverage")
    listed["doctor"] = [", ".join(findings[name]) for name in map(str, listed.index)]
    show("Coverage of each recording", listed.to_string(float_format="%.3g"))
    show("Bounds", "")
    for what, value, at_most, at_least in family_tables.bounds(table, without):
        row(what, value, "", at_most, at_least)


def show(title: str, text: str) -> None:
    """Print one table."""
    print(f"\n### {title}\n\n{text}")


def main(folder: Path, out: Path, methods: str) -> None:
    """Run and print."""
    out.mkdir(parents=True, exist_ok=True)
    manifest = out / "manifest.csv"
    manifest.write_text("\n".join(places(folder)) + "\n")
    table = tables(collect(manifest), out, chosen(methods.split(",") if methods else ()))
    tell(table, examined(manifest, out / "doctor.json"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), next(iter(sys.argv[3:]), ""))
