"""A whole run of the evaluation: read the data, fit, write the report, sum up."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from edge_agent.core.errors import RespireError
from edge_agent.core.windows import WINDOW_MS
from model_export.experiment import leaderboard
from model_export.experiment.evaluation import Experiment, Inputs, Settings, evaluate
from model_export.experiment.methods import QUICK, chosen
from model_export.experiment.pool import Progress, Say
from model_export.experiment.report import sections
from model_export.figures.webpage import Section, page
from model_export.files import write_atomically
from model_export.recordings.catalogue import Collection, collect
from model_export.recordings.dataset import SensorType
from model_export.recordings.manifest import Skipped

CORRECTED = "corrected"  # a folder of this name inside the data holds the same recordings without a fault
QUICK_SENSORS, QUICK_TRIALS = 2, 20


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a run."""

    source: Path
    out: Path
    methods: tuple[str, ...] = ()
    jobs: int = 1
    quick: bool = False
    corrected: Path | None = None
    trials: int | None = None
    seed: int = 0
    window_ms: int = WINDOW_MS
    sensor_type: SensorType = "electrochemical"
    inputs: Inputs = "paper"
    power: bool = False

    @property
    def settings(self) -> Settings:
        """The settings of the run; --quick has its own defaults."""
        usual = QUICK_TRIALS if self.quick else Settings().trials
        return Settings(self.trials or usual, self.seed, inputs=self.inputs, power=self.power)

    @property
    def names(self) -> tuple[str, ...]:
        """The methods of the run."""
        return chosen(self.methods or (QUICK if self.quick else ()))


def run(request: Request, say: Say, progress: Progress | None = None) -> dict[str, Any]:
    """Fit, write the table and the report, and return the figures; an interrupted run is resumed."""
    collection = _collected(request, request.source)
    mended, unusable = _collect_corrected(request)
    if request.quick:
        chosen_gas, sensors, left = _few(collection)
        say(f"--quick: {', '.join(sensors)} ({chosen_gas}){left}")
        collection = collection.of_gas(chosen_gas).of(sensors)
        mended = mended and mended.of_gas(chosen_gas).of(sensors)

    def evaluated(data: Collection, out: Path) -> Experiment:
        return evaluate(
            data, out, request.names, request.settings, jobs=request.jobs, progress=progress, say=say
        )

    found, corrected = evaluated(collection, request.out), None
    if mended and mended.members:
        corrected = evaluated(mended, request.out / CORRECTED)
        unusable += corrected.failed
    skipped = (*found.skipped, *(Skipped(f"{CORRECTED}: {one.name}", one.reason) for one in unusable))
    figures = _summary(found) | {"skipped": [asdict(one) for one in skipped], "corrected": bool(corrected)}
    return figures | {"report": str(_write_report(found, corrected, figures))}


def _collected(request: Request, source: Path) -> Collection:
    return collect(source, request.settings.test_share, request.window_ms, request.sensor_type)


def _few(collection: Collection) -> tuple[str, tuple[str, ...], str]:
    """The gas with the most recordings, its busiest sensors, and what is left out, in words."""
    gases = Counter(member.gas for member in collection.members)
    gas = min(gases, key=lambda name: (-gases[name], name))
    same = collection.of_gas(gas)
    sensors = same.busiest(QUICK_SENSORS)
    others = [f"{count} recordings of {name}" for name, count in sorted(gases.items()) if name != gas]
    if rest := len(same.sensors) - len(sensors):
        others.append(f"{rest} more sensors of {gas}")
    return gas, sensors, f"; left out: {', '.join(others)}" if others else ""


def _collect_corrected(request: Request) -> tuple[Collection | None, tuple[Skipped, ...]]:
    """The corrected data, if there are any, and the recordings in them that cannot be used."""
    there = request.corrected or request.source / CORRECTED
    if request.corrected is None and not there.is_dir():
        return None, ()
    try:
        found = _collected(request, there)
    except RespireError as error:
        if request.corrected:
            raise
        return None, (Skipped("all recordings", str(error)),)
    return found, found.skipped


def _write_report(found: Experiment, corrected: Experiment | None, figures: Mapping[str, Any]) -> Path:
    """Write the page, and each picture as a file beside it."""
    parts = sections(found, corrected)
    folder, path = found.ledger.folder / "figures", found.ledger.folder / "report.html"
    for picture in (picture for part in parts for picture in part.pictures):
        write_atomically(folder / f"{picture.name}.png", picture.png)
    tiles = [(name, str(figures[name])) for name in ("recordings", "fitted", "reused")]
    tiles += [("sensors", str(len(figures["sensors"]))), ("methods", str(len(figures["methods"])))]
    tiles += [("cases", str(len(found.table))), ("skipped", str(len(figures["skipped"])))]
    parts += [Section("Skipped", tables=[_skipped(figures)])] if figures["skipped"] else []
    write_atomically(path, page("RESPIRE against the baselines", tiles, parts).encode())
    return path


def _skipped(figures: Mapping[str, Any]) -> list[list[str]]:
    return [["recording or fit", "reason"], *([one["name"], one["reason"]] for one in figures["skipped"])]


def _summary(found: Experiment) -> dict[str, Any]:
    """What was fitted, the wins and the median R²."""
    return {
        "out": str(found.ledger.folder),
        "recordings": len(found.collection.members),
        "sensors": list(found.collection.sensors),
        "methods": list(found.methods),
        "fitted": found.fitted,
        "reused": found.reused,
        "wins": {name: _boards(found, name) for name in leaderboard.variants(found.methods)},
        "median_r2": {
            gas: leaderboard.medians(cases, found.methods).to_dict("index")
            for gas, cases in leaderboard.by_gas(found.table).items()
        },
        "intervals": intervals(found.table),
    }


def intervals(table: pd.DataFrame) -> dict[str, Any]:
    """Means over cases of coverage, share of windows with an interval, and score, by kind and scenario."""
    promised = table[table["coverage"].notna()]
    names = promised["kind"] + " " + promised["scenario"]
    means = promised.groupby(names)[["coverage", "promised", "interval_score"]].mean()
    return {str(name): row for name, row in means.to_dict("index").items()}


def _boards(found: Experiment, respire: str) -> dict[str, Any]:
    """The wins and t-tests of one RESPIRE against the baselines."""
    names = leaderboard.rivals(found.methods, respire)
    return {
        "without_adapter": leaderboard.board(found.table, names, adapter=False).to_dict("index"),
        "with_adapter": leaderboard.board(found.table, names, adapter=True).to_dict("index"),
        "other_sensor": leaderboard.sensor_board(found.table, names).to_dict("index"),
        "t_test": {
            "without_adapter": _tests(found.table, names, respire, adapter=False),
            "with_adapter": _tests(found.table, names, respire, adapter=True),
        },
    }


def _tests(table: pd.DataFrame, names: list[str], respire: str, adapter: bool) -> Mapping[str, Any]:
    return {name: asdict(test) for name, test in leaderboard.against(table, names, respire, adapter).items()}
