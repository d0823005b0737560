"""The options of commands that run on processes of this machine or on a cluster."""

import os
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from model_export.cli.console import say

Scheduler = Annotated[
    str, typer.Option(metavar="tls://HOST:PORT", help="Use a Dask cluster instead of this machine.")
]
Ca = Annotated[Path | None, typer.Option("--tls-ca", help="Dask: certificate of the authority (PEM).")]
Cert = Annotated[Path | None, typer.Option("--tls-cert", help="Dask: our certificate (PEM).")]
Key = Annotated[Path | None, typer.Option("--tls-key", help="Dask: our key (PEM).")]


def executor(
    jobs: int, scheduler: str = "", ca: Path | None = None, cert: Path | None = None, key: Path | None = None
) -> Callable[[], AbstractContextManager[Executor]]:
    """How to open the processes of this machine, or a cluster."""
    if not scheduler:
        from model_export.engine.processes import process_pool  # noqa: PLC0415 - --help need not wait

        return lambda: process_pool(jobs or os.cpu_count() or 1)
    from model_export.engine import dask  # noqa: PLC0415 - as above

    place = dask.Scheduler(scheduler, ca, cert, key)
    place.require_safe()
    return lambda: dask.cluster(place, say)
