"""The commands `fleet MANIFEST` and `fleet status`: all sensors at once, and which van has which bundle."""

import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from edge_agent.core.errors import RespireError
from model_export.cli.console import CommandResult, long_bar, print_result, say
from model_export.cli.engine import Ca, Cert, Key, Scheduler, executor
from model_export.cli.options import address

Manifest = Annotated[
    Path, typer.Argument(help="Manifest or folder of recordings, as for experiment.", metavar="MANIFEST")
]
Out = Annotated[Path, typer.Option(help="Folder for bundles, results.parquet and index.html.")]
Current = Annotated[Path | None, typer.Option(help="Folder of the bundles in use, to compare with.")]
Jobs = Annotated[int, typer.Option(min=0, help="Sensors at a time; 0: as many as there are cores.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")]
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
    help="Fit all sensors of a manifest, or list the bundles of vans.\n\n"
    "fleet MANIFEST --out DIR is short for fleet run MANIFEST --out DIR.",
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


def _secret(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        got = str(getattr(error, "strerror", None) or "no text").lower()
        raise RespireError(f"{file}: expected a file with the password, got {got}") from error


Registry = Annotated[Path, typer.Option(help="Folder of the last run of fleet.")]
Address = Annotated[str, typer.Option("--broker", metavar="HOST:PORT", help="Where the vans publish.")]
User = Annotated[str | None, typer.Option(help="User name at the broker.")]
Password = Annotated[Path | None, typer.Option(help="File with the password.")]
BrokerCa = Annotated[
    Path | None, typer.Option("--tls-ca", help="Use TLS; certificate of the authority (PEM).")
]


@app.command()
def status(
    *,
    broker: Address,
    out: Registry,
    username: User = None,
    password_file: Password = None,
    tls_ca: BrokerCa = None,
) -> None:
    """List the bundles of the vans.

    Shows old models, overdue sensors and silent vans. Reads the retained health and model cards of all vans
    at a broker, and writes registry.parquet.

    \b
    model-export fleet status --broker broker.city.example:1883 --out fleet
    """
    from model_export.fleet.ledger import Ledger  # noqa: PLC0415 - as above
    from model_export.fleet.registry import ORDER, places, write  # noqa: PLC0415 - as above
    from model_export.fleet.vans import Broker, listen  # noqa: PLC0415 - as above

    host, port = address(broker)
    password = _secret(password_file) if password_file else None
    rows = Ledger(out).rows()
    heard = listen(Broker(host, port, username, password, tls_ca))
    found = places(heard, rows, time.time_ns() // 1_000_000)
    write(found, out / "registry.parquet")
    counts = Counter(place.state for place in found)
    figures = {
        "vans": len(heard.health),
        "silent": sorted({place.van for place in found if place.silent and place.van}),
        "states": {state: counts[state] for state in ORDER},
        "overdue": sum(place.overdue for place in found),
        "unreadable": heard.bad,
        "registry": str(out / "registry.parquet"),
        "sensors": [asdict(place) for place in found],
    }
    print_result(CommandResult(figures, (), _table(figures)))


def _table(figures: dict[str, Any]) -> str:
    """A line for each sensor, those to change first, and a sum."""
    lines = [
        f"{one['sensor']:<12} {one['van'] or '-':<12} {one['state']:<8} "
        f"{'overdue' if one['overdue'] else '':<8} {one['valid_until'] or '-':<21} {one['model'] or '-'}"
        for one in figures["sensors"]
    ]
    counts = ", ".join(f"{count} {state}" for state, count in figures["states"].items())
    return "\n".join([*lines, f"{figures['vans']} vans; sensors: {counts}; {figures['overdue']} overdue"])


def _sentence(figures: dict[str, Any]) -> str:
    counts = ", ".join(f"{figures[name]} {name}" for name in ("new", "improved", "unchanged", "refused"))
    return f"{figures['sensors']} sensors: {counts}; read {figures['page']}"
