"""The commands `fleet MANIFEST` and `fleet status`: all sensors at once, and which van has which bundle."""

import os
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from model_export.cli.console import CommandResult, long_bar, print_result, say

Manifest = Annotated[
    Path, typer.Argument(help="Manifest or folder of recordings, as for experiment.", metavar="MANIFEST")
]
Out = Annotated[Path, typer.Option(help="Folder for bundles, results.parquet and index.html.")]
Current = Annotated[Path | None, typer.Option(help="Folder of the bundles in use, to compare with.")]
Jobs = Annotated[int, typer.Option(min=0, help="Sensors at a time; 0: as many as there are cores.")]
Scheduler = Annotated[
    str, typer.Option(metavar="tls://HOST:PORT", help="Use a Dask cluster instead of this machine.")
]
Ca = Annotated[Path | None, typer.Option("--tls-ca", help="Dask: certificate of the authority (PEM).")]
Cert = Annotated[Path | None, typer.Option("--tls-cert", help="Dask: our certificate (PEM).")]
Key = Annotated[Path | None, typer.Option("--tls-key", help="Dask: our key (PEM).")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")]
Trials = Annotated[int, typer.Option(min=1, help="Number of trials in tuning.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same bundles.")]
RUN = "run"


class WithDefault(TyperGroup):
    """`fleet MANIFEST` is `fleet run MANIFEST`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before anything that is none."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [RUN, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=WithDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Fit all sensors of a manifest (fleet MANIFEST --out DIR), or see which van has which bundle.",
)


@app.command(RUN)
def run(
    manifest: Manifest,
    *,
    out: Out,
    current: Current = None,
    jobs: Jobs = 0,
    scheduler: Scheduler = "",
    tls_ca: Ca = None,
    tls_cert: Cert = None,
    tls_key: Key = None,
    resume: Resume = False,
    trials: Trials = 60,
    seed: Seed = 0,
) -> None:
    """Diagnose, fit, adapt or transfer every sensor of a manifest.

    The word run may be left out.

    \b
    model-export fleet manifest.csv --out fleet
    model-export fleet manifest.csv --out fleet --resume --jobs 2
    """
    from model_export.fleet.run import Request  # noqa: PLC0415 - as above
    from model_export.fleet.run import run as run_fleet  # noqa: PLC0415 - as above
    from model_export.fleet.task import Settings  # noqa: PLC0415 - --help need not wait for pandas

    request = Request(manifest, out, current, resume, Settings(trials, seed))
    engine = executor(jobs, scheduler, tls_ca, tls_cert, tls_key)
    with long_bar("calibrating") as progress:
        figures = run_fleet(request, engine, say, progress)
    lines = [f"skipped {one['name']}: {one['reason']}" for one in figures["skipped"]]
    lines += [f"refused {one['sensor']}: {one['reason']}" for one in figures["refusals"]]
    print_result(CommandResult(figures, tuple(lines), _sentence(figures)))
    if figures["refused"] == figures["sensors"]:
        raise typer.Exit(1)


def executor(
    jobs: int, scheduler: str, ca: Path | None = None, cert: Path | None = None, key: Path | None = None
) -> Callable[[], AbstractContextManager[Executor]]:
    """How to open the processes of this machine, or a cluster."""
    if not scheduler:
        from model_export.engine.processes import process_pool  # noqa: PLC0415 - as above

        return lambda: process_pool(jobs or os.cpu_count() or 1)
    from model_export.engine import dask  # noqa: PLC0415 - as above

    place = dask.Scheduler(scheduler, ca, cert, key)
    place.require_safe()
    return lambda: dask.cluster(place)


def _sentence(figures: dict[str, Any]) -> str:
    counts = ", ".join(f"{figures[name]} {name}" for name in ("new", "improved", "unchanged", "refused"))
    return f"{figures['sensors']} sensors: {counts}; read {figures['page']}"
