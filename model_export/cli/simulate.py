"""`model-export simulate`: a co-location on disk, or a van over MQTT."""

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from edge_agent.core.errors import RespireError
from model_export.cli.console import long_bar, say
from model_export.cli.engine import executor
from model_export.cli.options import address
from model_export.simulator.campaign import OUTLIERS, SENSORS, SWAPPED

if TYPE_CHECKING:
    from model_export.simulator.network import Network
    from model_export.simulator.ride import Ride

Layout = Literal["combined", "channels"]
Format = Literal["csv", "parquet"]
DISK_ONLY = ("outliers", "sensors", "datasets", "format", "days", "jobs")
CITY_ONLY, PAPER_ONLY = ("days", "jobs"), ("swapped", "datasets")
MOST_DAYS = 3_660
LIVE_ONLY = ("fault", "broker", "speed_up", "seconds", "topics", "max_inflight", "truth", "reference")
FOR_EVER = float("inf")
ALL_SENSORS, SWAPPED_SENSORS = ",".join(SENSORS), ",".join(SWAPPED)

Directory = Annotated[Path | None, typer.Argument(help="Where the recordings go; not with --live.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same packages and air.")]
Share = Annotated[float, typer.Option(min=0.0, max=0.5, help="Share of outliers in the reference.")]
Swapped = Annotated[str, typer.Option(metavar="ID,…|none", help="Packages whose CO and NOx are swapped.")]
Sensors = Annotated[
    str, typer.Option(metavar="ID,…|N", help="Packages to record; with --format parquet their number.")
]
Kind = Annotated[Format, typer.Option(help="csv: the paper's deployment; parquet: a city, as an archive.")]
Days = Annotated[int, typer.Option(min=1, max=MOST_DAYS, help="Parquet: how many days.")]
Jobs = Annotated[int, typer.Option(min=0, help="Parquet: processes at a time; 0: as many as cores.")]
Datasets = Annotated[
    str, typer.Option(metavar="T-W,…", help="Datasets to record; all eight if none is named.")
]
Live = Annotated[bool, typer.Option("--live", help="Publish a van over MQTT instead.")]
Broker = Annotated[str, typer.Option(metavar="HOST:PORT", help="Live: where to publish.")]
SpeedUp = Annotated[float, typer.Option(min=0.001, max=1e6, help="Live: how fast event time runs.")]
Seconds = Annotated[float, typer.Option(min=0.0, help="Live: stop after this time; inf: on Ctrl-C.")]
Topics = Annotated[Layout, typer.Option(help="Live: one message a package, or one a channel.")]
Inflight = Annotated[int, typer.Option(min=1, help="Live: the most messages without acknowledgement.")]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ID=KIND:SIZE@FROM..TO", help="Live: zero:PPM, sensitivity:SHARE, swap, stuck, out."
    ),
]
Truth = Annotated[Path | None, typer.Option(help="Live: write the true CO of every minute here (CSV).")]
Beside = Annotated[bool, typer.Option("--reference", help="Live: also publish the true CO, at reference/co.")]


def command(
    context: typer.Context,
    directory: Directory = None,
    *,
    seed: Seed = 1,
    outliers: Share = OUTLIERS,
    swapped: Swapped = SWAPPED_SENSORS,
    sensors: Sensors = ALL_SENSORS,
    datasets: Datasets = "",
    format: Kind = "csv",
    days: Days = 30,
    jobs: Jobs = 0,
    live: Live = False,
    fault: Faults = None,
    broker: Broker = "127.0.0.1:1883",
    speed_up: SpeedUp = 60.0,
    seconds: Seconds = FOR_EVER,
    topics: Topics = "combined",
    max_inflight: Inflight = 20,
    truth: Truth = None,
    reference: Beside = False,
) -> None:
    """Simulate recordings, or a van that publishes over MQTT.

    By default this is the paper's deployment: six packages, four sites, two seasons in Lucknow. With --format
    parquet, simulate any number of packages at the four sites for any number of days.

    \b
    model-export simulate colocation --seed 1
    model-export simulate colocation --swapped none --datasets T-W,C-S
    model-export simulate city --sensors 10 --days 3 --format parquet
    model-export simulate --live --broker 127.0.0.1:1883 --speed-up 900 --seconds 5 --fault 5A2D=zero:0.1@1h
    """
    # Imported here, as scipy and pandas would slow down --help.
    from model_export.simulator.faults import parse_fault  # noqa: PLC0415
    from model_export.simulator.live import COMBINED, PER_CHANNEL  # noqa: PLC0415
    from model_export.simulator.network import simulate  # noqa: PLC0415
    from model_export.simulator.ride import Ride  # noqa: PLC0415

    if live == (directory is not None):
        raise typer.BadParameter("expected either a directory or --live")
    _refuse_idle(context, DISK_ONLY if live else LIVE_ONLY, "without --live" if live else "with --live")
    if format == "parquet" and directory is not None:
        _refuse_idle(context, PAPER_ONLY, "with --format csv")
        _save_city(directory, seed, _count(sensors), days, outliers, jobs)
        return
    _refuse_idle(context, CITY_ONLY, "with --format parquet")
    if not _names(sensors):
        raise typer.BadParameter("expected at least one", param_hint="--sensors")
    wrong = _names(swapped)
    if directory is not None:
        _save(simulate(seed, outliers, wrong, _names(sensors), _names(datasets) or None), directory)
        return
    host, port = address(broker)
    way = Ride(
        host,
        port,
        seed=seed,
        swapped=wrong,
        faults=tuple(parse_fault(text) for text in fault or ()),
        speed_up=speed_up,
        seconds=seconds,
        template=COMBINED if topics == "combined" else PER_CHANNEL,
        max_inflight=max_inflight,
        truth=truth,
        reference=reference,
    )
    _ride(way)


def _refuse_idle(context: typer.Context, options: tuple[str, ...], how: str) -> None:
    """Refuse an option that would have no effect."""
    for name in options:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"expected only {how}", param_hint=option)


def _save(network: "Network", directory: Path) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import track  # noqa: PLC0415

    from model_export.simulator.network_csv import write_network  # noqa: PLC0415

    files = len(network.recordings) + len(network.colocations) + 1
    paths = track(
        write_network(network, directory),
        "writing",
        files,
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    done = {"seed": network.seed, "swapped": sorted(network.swapped), "files": [str(path) for path in paths]}
    _tell(done)


def _save_city(directory: Path, seed: int, count: int, days: int, outliers: float, jobs: int) -> None:
    from model_export.engine.run import run_all  # noqa: PLC0415
    from model_export.files import write_atomically  # noqa: PLC0415
    from model_export.simulator.city import HEADER, City, names, record  # noqa: PLC0415

    city = City(directory, seed, days, outliers)
    tasks = {name: name for name in names(count)}
    with long_bar("simulating") as progress:
        lines = run_all(partial(record, city), tasks, executor(jobs), say, progress)
    if lines.failed:
        raise RespireError(next(iter(lines.failed.values())))
    manifest = [HEADER, *(line for name in tasks for line in lines[name]), ""]
    write_atomically(directory / "manifest.csv", "\n".join(manifest).encode())
    _tell({"seed": seed, "sensors": count, "days": days, "files": [str(directory / "manifest.csv")]})


def _count(text: str) -> int:
    if text == ALL_SENSORS:
        return len(SENSORS)
    if not text.isdecimal() or not 0 < int(text) < 1_000_000:
        raise typer.BadParameter(f"expected a number such as 1000, got {text!r}", param_hint="--sensors")
    return int(text)


def _ride(way: "Ride") -> None:
    from model_export.simulator.ride import ride  # noqa: PLC0415

    with _until_signalled() as stop:
        done = ride(way, stop)
    _tell({"sent": done.sent, "acknowledged": done.acknowledged})
    if done.acknowledged < done.sent:
        say("model-export: the broker did not acknowledge every reading")
        raise typer.Exit(1)


def _tell(data: dict[str, object]) -> None:
    print(json.dumps(data, indent=2))


def _names(text: str) -> tuple[str, ...]:
    """The names in A,B,…; none for the word none."""
    return () if text == "none" else tuple(name.strip() for name in text.split(",") if name.strip())


@contextmanager
def _until_signalled() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set; their handlers are restored afterwards."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
