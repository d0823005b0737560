"""The command line: data on stdout, messages on stderr, one line for a failure."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version as installed
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from edge_agent.core.errors import RespireError
from model_export.cli import archive as archive_cli
from model_export.cli import experiment as experiment_cli
from model_export.cli import fleet as fleet_cli
from model_export.cli import moving
from model_export.cli import simulate as simulate_cli
from model_export.cli.console import bar, in_words, print_result, say
from model_export.cli.options import (
    Bundle,
    Data,
    Kernel,
    Out,
    Plain,
    Plot,
    Report,
    Sensor,
    SensorType,
    Size,
    Sizes,
    Strict,
    ValidFor,
    reading,
)

if TYPE_CHECKING:
    from model_export.calibration.fit import Source

DONE, FAILED = 0, 1

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Make bundles for edge-agent from recordings of sensors beside a reference. Commands print results "
    "in words on a terminal, and as JSON in a pipe or with --json. With --debug they show the traceback of a "
    "failure.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and turn a failure into one line and an exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    in_words.set(sys.stdout.isatty() and "--json" not in given)
    try:
        app([word for word in given if word not in ("--debug", "--json")], prog_name="model-export")
    except SystemExit as finished:
        return int(finished.code or DONE)
    except RespireError as error:
        if debug:
            raise
        say(f"model-export: {error}")
        return FAILED
    return DONE


def _version(asked: bool) -> None:
    if asked:
        print(f"model-export {installed('respire-edge')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options before the command."""


@app.command(cls=Plain)
@reading()
def fit(
    data: Data,
    *,
    sensor: Sensor,
    out: Out,
    unit: Annotated[str, typer.Option(help="Unit of the reference.")] = "ppm",
    gas: Annotated[str, typer.Option(help="Gas that the reference measures.")] = "CO",
    sensor_type: SensorType = "electrochemical",
    size: Size = "auto",
    kernel: Annotated[Kernel, typer.Option(help="Shape of the weights over temperature.")] = "matern32",
    paper: Annotated[
        bool, typer.Option("--paper", help="Use the paper's inputs, tuning, kernel and compression.")
    ] = False,
    warming: Annotated[
        bool | None,
        typer.Option(
            help="Add two inputs: the change of temperature over 1 and 4 hours. [default: warming, but not "
            "for metal-oxide]"
        ),
    ] = None,
    report: Report = None,
    trials: Annotated[int, typer.Option(min=1, help="Number of trials in tuning with --paper.")] = 60,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of --paper; the same seed gives the same bundle.")
    ] = 0,
    level: Annotated[
        float, typer.Option(min=0.5, max=0.99, help="Share of true values that the interval should contain.")
    ] = 0.9,
    reference_noise: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="Noise of the reference in a window (standard deviation); the interval leaves it out.",
        ),
    ] = 0.0,
    valid_for: ValidFor = "180d",
    source: "Source",
    strict: Strict = False,
) -> None:
    """Fit a sensor's calibration and write its bundle.

    \b
    model-export fit january.csv february.csv --sensor 5A2D --unit ppm --out 5A2D.bundle
    model-export fit van.parquet --sensor 5A2D --columns op1=co_we,op2=co_ae --timezone Asia/Kolkata \\
        --out 5A2D.bundle --report 5A2D.html
    model-export fit january.csv february.csv --sensor 5A2D --sensor-type metal-oxide --window 1h \\
        --out 5A2D.bundle
    """
    started = perf_counter()
    from model_export.calibration.fit import WARMING, Recipe, for_sensor  # noqa: PLC0415 - --help need not wait
    from model_export.calibration.fit import paper as as_in_the_paper  # noqa: PLC0415 - as above
    from model_export.cli import commands  # noqa: PLC0415 - as above

    recipe = Recipe(kernel=kernel, size=size or None, trials=trials, seed=seed, level=level, gas=gas)
    recipe = replace(recipe, valid_days=valid_for or None, reference_noise=reference_noise)
    recipe = for_sensor(recipe, sensor_type)
    recipe = recipe if warming is None else replace(recipe, warming=WARMING if warming else {})
    recipe = as_in_the_paper(recipe) if paper else recipe
    with bar("tuning") as progress:
        done = commands.fit(
            data,
            sensor,
            unit,
            out,
            source=source,
            recipe=recipe,
            report=report,
            strict=strict,
            progress=progress,
        )
    print_result(replace(done, data={**done.data, "seconds": perf_counter() - started}))


@app.command(cls=Plain)
@reading("window", "test_share")
def evaluate(
    bundle: Bundle,
    data: Data,
    *,
    unit: Annotated[
        str | None, typer.Option(help="Unit of the reference, if it is not the bundle's; it is converted.")
    ] = None,
    report: Report = None,
    table: Annotated[Path | None, typer.Option("--windows", help="Write every window (CSV).")] = None,
    source: "Source",
) -> None:
    """Compare the estimates of a bundle with a reference.

    \b
    model-export evaluate 5A2D.bundle march.csv
    model-export evaluate 5A2D.bundle march.csv --report march.html --windows march-windows.csv
    """
    from model_export.cli import commands  # noqa: PLC0415 - as above

    print_result(commands.evaluate(bundle, data, source=source, unit=unit, report=report, table=table))


@app.command(cls=Plain)
@reading("window")
def compress(
    bundle: Bundle,
    data: Data,
    *,
    sizes: Sizes = "1,2,4,8,16,32,64,128",
    plot: Plot = None,
    source: "Source",
) -> None:
    """Show how accurate a bundle is with fewer support vectors.

    DATA is the recording that the bundle was fitted to. To write a smaller bundle, use fit --size.

    \b
    model-export compress 5A2D.bundle january.csv february.csv --plot sizes.png
    """
    from model_export.cli import commands  # noqa: PLC0415 - as above

    print_result(commands.compress(bundle, data, source=source, sizes=sizes, plot=plot))


@app.command()
def inspect(bundle: Bundle, plot: Plot = None) -> None:
    """Print the content of a bundle.

    \b
    model-export inspect 5A2D.bundle --plot 5A2D.png
    """
    from model_export.cli import commands  # noqa: PLC0415 - as above

    print_result(commands.inspect(bundle, plot))


@app.command(cls=Plain)
@reading("window", "test_share")
def convert(
    data: Data,
    *,
    sensor: Sensor,
    out: Annotated[Path, typer.Option(help="The CSV to write.")],
    source: "Source",
) -> None:
    """Write a recording as plain CSV, for edge-agent replay.

    The columns have our names, and the times are in UTC.

    \b
    model-export convert van.parquet --sensor 5A2D --columns op1=co_we,op2=co_ae --out 5A2D.csv
    """
    from model_export.cli import commands  # noqa: PLC0415 - as above

    print_result(commands.convert(data, sensor, out, source=source))


@app.command(cls=Plain)
@reading("test_share")
def diagnose(
    data: Annotated[
        list[Path], typer.Argument(help="Recordings, best named SENSOR_SITE-SEASON.", metavar="DATA")
    ],
    *,
    sensor: Annotated[str | None, typer.Option(help="The sensor's id, if file names do not have it.")] = None,
    plot: Plot = None,
    source: "Source",
    sensor_type: SensorType = "electrochemical",
    mend: Annotated[
        Path | None, typer.Option(help="Write the recording with its faults corrected (CSV).")
    ] = None,
) -> None:
    """Look for faults in recordings.

    Finds wrong clocks, swapped channels, drift and more. Compares sensors that were in the same air, and the
    deployments of each sensor.

    \b
    model-export diagnose january.csv
    model-export diagnose january.csv february.csv --sensor 5A2D --plot worst.png
    model-export diagnose january.csv --mend mended.csv
    """
    from model_export.cli import diagnosis  # noqa: PLC0415 - as above

    with bar("examining") as progress:
        done = diagnosis.diagnose(
            data,
            sensor,
            source=source,
            sensor_type=sensor_type,
            plot=plot,
            mend=mend,
            progress=progress,
        )
    print_result(done)


# --help lists the commands in this order.
app.command(cls=Plain)(moving.adapt)
app.command()(moving.transfer)
app.command("simulate")(simulate_cli.command)
app.command()(archive_cli.recalibrate)
app.command()(experiment_cli.experiment)
app.command()(experiment_cli.breakdown)
app.add_typer(fleet_cli.app, name="fleet")
