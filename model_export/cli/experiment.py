"""`model-export experiment` and `breakdown`: the paper's evaluation and its theorem, to be seen."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from model_export.cli.console import long_bar, print_result

FEWEST = 50  # windows: log log N must be well above 0

Source = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of SENSOR_SITE-SEASON.csv files, or a manifest.")
]
Out = Annotated[Path, typer.Option(help="Folder for fits, results and report; a run goes on where it ended.")]
Methods = Annotated[
    str, typer.Option(metavar="NAME,…", help="Some of DT,GBDT,KNN,KRR,MLP,RR,RESPIRE-paper,RESPIRE.")
]
Jobs = Annotated[int, typer.Option(min=0, help="Fits at a time; 0: as many as there are cores.")]
Quick = Annotated[
    bool, typer.Option("--quick", help="The two longest sensors; RR, KRR and RESPIRE; fewer trials.")
]
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
    from model_export.cli import experiment_command  # noqa: PLC0415 - scikit-learn: --help need not wait

    names = tuple(name.strip() for name in methods.split(",") if name.strip())
    request = experiment_command.Request(
        source, out, names, jobs or os.cpu_count() or 1, quick, corrected, trials, seed
    )
    with long_bar("fitting") as progress:
        done = experiment_command.experiment(request, progress)
    print_result(done)


def _counts(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.strip().isdecimal() and int(word) >= FEWEST for word in words):
        raise typer.BadParameter(f"expected numbers from {FEWEST} such as 100,1000, got {text!r}")
    return tuple(sorted({int(word) for word in words}))


def breakdown(
    *,
    sizes: Annotated[
        Any, typer.Option(parser=_counts, metavar="N,…", help="Numbers of windows.")
    ] = "100,200,500,1000,2000,5000",
    seeds: Annotated[int, typer.Option(min=1, help="Worlds of each size.")] = 5,
    plot: Annotated[Path | None, typer.Option(help="Write a PNG.")] = None,
) -> None:
    """Show by simulation how many adversarial outliers the fit survives.

    \b
    model-export breakdown --sizes 100,200,500 --seeds 1 --plot breakdown.png
    """
    from model_export.cli import experiment_command  # noqa: PLC0415 - as above

    with long_bar("simulating") as progress:
        done = experiment_command.breakdown(sizes, seeds, plot, progress)
    print_result(done)
