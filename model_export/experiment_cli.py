"""`model-export experiment`: the paper's evaluation on a network of one's own."""

import os
from pathlib import Path
from typing import Annotated

import typer

from model_export.console import long_bar, tell

Source = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of SENSOR_SITE-SEASON.csv files, or a manifest.")
]
Out = Annotated[Path, typer.Option(help="Folder for fits, results and report; a run goes on where it ended.")]
Methods = Annotated[
    str, typer.Option(metavar="NAME,…", help="Some of DT,GBDT,KNN,KRR,MLP,RR,RESPIRE-paper,RESPIRE.")
]
Jobs = Annotated[int, typer.Option(min=0, help="Fits at a time; 0: as many as there are cores.")]
Quick = Annotated[bool, typer.Option("--quick", help="Two sensors; RR, KRR and RESPIRE; fewer trials.")]
Corrected = Annotated[
    Path | None,
    typer.Option(help="The same recordings with a fault put right; DIR/corrected is found by itself."),
]
Trials = Annotated[int | None, typer.Option(min=1, help="Trials of RESPIRE's search; 60, quick 20.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same results.")]


def experiment(
    source: Source,
    *,
    out: Out,
    methods: Methods = "",
    jobs: Jobs = 0,
    quick: Quick = False,
    corrected: Corrected = None,
    trials: Trials = None,
    seed: Seed = 0,
) -> None:
    """Compare RESPIRE with the paper's baselines over every site, season and sensor.

    \b
    model-export experiment colocation --out results
    model-export experiment colocation --out quick --quick
    model-export experiment manifest.csv --out other --methods RR,KRR,RESPIRE --jobs 2
    """
    from model_export import experiment_command  # noqa: PLC0415 - scikit-learn: --help need not wait

    names = tuple(name.strip() for name in methods.split(",") if name.strip())
    request = experiment_command.Request(
        source, out, names, jobs or os.cpu_count() or 1, quick, corrected, trials, seed
    )
    with long_bar("fitting") as progress:
        done = experiment_command.experiment(request, progress)
    tell(done)
