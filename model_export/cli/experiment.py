"""`model-export experiment` and `breakdown`: the paper's evaluation, and its theorem by simulation."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from model_export.cli.console import CommandResult, long_bar, print_result, say
from model_export.cli.options import SensorType, Window
from model_export.files import write_atomically

FEWEST = 50  # windows; log log N must be well above 0

Source = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of SENSOR_SITE-SEASON.csv files, or a manifest.")
]
Out = Annotated[
    Path, typer.Option(help="Folder for fits, results and report; an interrupted run is resumed.")
]
Methods = Annotated[
    str, typer.Option(metavar="NAME,…", help="Some of DT,GBDT,KNN,KRR,MLP,RR,RESPIRE-paper,RESPIRE.")
]
Jobs = Annotated[int, typer.Option(min=0, help="Fits at a time; 0: as many as there are cores.")]
Quick = Annotated[
    bool, typer.Option("--quick", help="The two longest sensors; RR, KRR and RESPIRE; fewer trials.")
]
Corrected = Annotated[
    Path | None,
    typer.Option(help="The same recordings without a fault; default: DIR/corrected if it exists."),
]
Trials = Annotated[int | None, typer.Option(min=1, help="Trials of RESPIRE's search; 60, quick 20.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same results.")]
Inputs = Annotated[
    Literal["paper", "warmed"],
    typer.Option(help="Inputs of the baselines: the paper's, or with the warming of RESPIRE."),
]
Power = Annotated[
    bool, typer.Option("--power", help="Give the baselines the power of a metal-oxide signal, too.")
]


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
    window: Window = "15min",
    sensor_type: SensorType = "electrochemical",
    inputs: Inputs = "paper",
    power: Power = False,
) -> None:
    """Compare RESPIRE with other methods, as in the paper.

    Fits and tests every method for every site, season and sensor.

    \b
    model-export experiment colocation --out results
    model-export experiment colocation --out quick --quick
    model-export experiment manifest.csv --out other --methods RR,KRR,RESPIRE --jobs 2
    model-export experiment colocation --out equal --quick --inputs warmed --power
    """
    # Imported here, as scikit-learn would slow down --help.
    from model_export.experiment.run import Request, run  # noqa: PLC0415

    names = tuple(name.strip() for name in methods.split(",") if name.strip())
    jobs = jobs or os.cpu_count() or 1
    request = Request(
        source, out, names, jobs, quick, corrected, trials, seed, window, sensor_type, inputs, power
    )
    with long_bar("fitting") as progress:
        figures = run(request, say, progress)
    skipped = tuple(f"skipped {one['name']}: {one['reason']}" for one in figures["skipped"])
    print_result(CommandResult(figures, skipped))


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
    seeds: Annotated[int, typer.Option(min=1, help="Simulated data sets of each size.")] = 5,
    plot: Annotated[Path | None, typer.Option(help="Write a plot (PNG).")] = None,
) -> None:
    """Simulate how many outliers a fit withstands.

    The outliers are placed where they do the most harm.

    \b
    model-export breakdown --sizes 100,200,500 --seeds 1 --plot breakdown.png
    """
    from model_export.experiment import breakdown as theorem  # noqa: PLC0415
    from model_export.experiment.breakdown_plot import breakdown_plot  # noqa: PLC0415
    from model_export.figures.axes import png  # noqa: PLC0415

    with long_bar("simulating") as progress:
        points = theorem.sweep(sizes, seeds, progress=progress)
    limits = theorem.limits(points)
    if plot:
        title = "How many outliers it takes to break the fit"
        write_atomically(plot, png(breakdown_plot(points, limits, title)))
    figures = {
        "bandwidth": theorem.BANDWIDTH,
        "tolerance": theorem.TOLERANCE,
        "seeds": seeds,
        "breakdown": [asdict(limit) for limit in limits],
        "exponents": theorem.slopes(limits),
        "points": [asdict(point) for point in points],
    }
    print_result(CommandResult(figures))
