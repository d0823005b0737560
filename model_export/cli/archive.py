"""The command `recalibrate`: an archive of readings or estimates in, new estimates and a page out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from model_export.cli.console import CommandResult, long_bar, print_result, say
from model_export.cli.engine import Ca, Cert, Key, Scheduler, executor

Archive = Annotated[
    Path, typer.Argument(help="Folder of Parquet files: sensor=…/month=… or month=….", metavar="ARCHIVE")
]
Bundles = Annotated[Path, typer.Option(help="Folder of the new bundles, one for each sensor.")]
Out = Annotated[Path, typer.Option(help="Folder of the new estimates; what is there stays as it is.")]
Jobs = Annotated[int, typer.Option(min=0, help="Processes at a time; 0: as many as there are cores.")]
Revision = Annotated[
    int, typer.Option(min=1, help="Revision of the new estimates, where the archive has no old ones.")
]


def recalibrate(
    archive: Archive,
    *,
    bundles: Bundles,
    out: Out,
    jobs: Jobs = 0,
    scheduler: Scheduler = "",
    tls_ca: Ca = None,
    tls_cert: Cert = None,
    tls_key: Key = None,
    revision: Revision = 1,
) -> None:
    """Compute the estimates of an archive with other bundles.

    The archive has raw readings or published estimates. If it was stopped, run the same command again: it
    continues. Nothing is overwritten.

    \b
    model-export recalibrate archive --bundles bundles --out recalibrated
    """
    from model_export.archive.run import Request, run  # noqa: PLC0415 - --help need not wait for pyarrow

    request = Request(archive, bundles, out, revision)
    engine = executor(jobs, scheduler, tls_ca, tls_cert, tls_key)
    with long_bar("recalibrating") as progress:
        figures = run(request, engine, say, progress)
    skipped = tuple(
        f"skipped {one['name']}: {one['reason'].removeprefix(one['name'] + ': ')}"
        for one in figures["skipped"]
    )
    print_result(CommandResult(figures, skipped, _sentence(figures)))
    if not figures["parts"]:
        raise typer.Exit(1)


def _sentence(figures: dict[str, Any]) -> str:
    return (
        f"{figures['windows']} windows of {figures['sensors']} sensors recalibrated, {figures['changed']} "
        f"values changed, {len(figures['skipped'])} skipped; read {figures['changes']}"
    )
