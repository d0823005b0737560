"""A van on your desk: simulate, fit, export and serve with public commands, on loopback, leaving no files.

make demo              until Ctrl-C
make demo SECONDS=60   for 60 seconds
make demo BUNDLES=DIR  with the bundles of an earlier demo or your own, without fitting
"""

import argparse
import contextlib
import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deploy.demo.brokers import amqtt_command, mosquitto, mosquitto_command
from deploy.demo.page import building, dashboard
from deploy.demo.parts import ROOT, Failure, child, say, script, tail
from deploy.demo.processes import HOST, Process, free_port, listening, uninterrupted

SENSORS = ("1FEA", "5092", "5A2D", "5CB6", "B5FF", "D3EB")
DATASETS = ("T-W", "B-W")  # 1FEA has only a fifth of T-W, which is too little by itself
SPEED_UP = 900  # a window a second
SEED = 1
FITS_AT_ONCE = 2


def main() -> int:
    """Run the demo; return 1 if a part of it fails, else 0."""
    parser = argparse.ArgumentParser(
        prog="demo", description="A van on your desk.", epilog="example: make demo SECONDS=60"
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="how long to drive, default: until Ctrl-C"
    )
    parser.add_argument("--bundles", type=Path, help="serve these bundles instead of fitting new ones")
    options = parser.parse_args()
    if not options.seconds > 0.0:
        parser.error(f"--seconds: expected more than 0, got {options.seconds:g}")
    if options.bundles and not any(options.bundles.glob("*.bundle")):
        parser.error(f"--bundles: expected a folder with .bundle files, got {options.bundles}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.ExitStack() as stack:
            demonstrate(stack, options.seconds, options.bundles)
    except KeyboardInterrupt:
        say.print("stopped")
    except Failure as failure:
        say.print(f"demo: {failure}", markup=False)
        return 1
    return 0


def demonstrate(stack: contextlib.ExitStack, seconds: float, bundles: Path | None) -> None:
    """All steps, in the order in which a user would run them."""
    place = stack.enter_context(workplace())
    with building(place) as built:
        if bundles:
            shutil.copytree(bundles, place / "bundles")
        else:
            simulate(place)
            fit(place)
        has_page = built()
    mqtt, ws, brokering = stack.enter_context(broker(place))
    page = stack.enter_context(dashboard(ws)) if has_page else ""
    serving = stack.enter_context(agent(place, mqtt))
    truth = place / "truth.csv"
    with van(place, mqtt, seconds, truth) as driving:
        if not sys.stdout.isatty():  # for programs; people read the same below
            told = {"dashboard": page, "mqtt": f"{HOST}:{mqtt}", "truth": str(truth)}
            print(json.dumps(told), flush=True)
        welcome(page, mqtt, place / "agent.log", seconds)
        watch(driving, serving, brokering, place)
        if driving.returncode:
            raise Failure(tail(place / "van.log"))
    time.sleep(1.0 if seconds < float("inf") else 0.0)  # for the last windows
    if serving.poll() is not None:
        raise Failure(f"the agent had ended with {serving.returncode}; {tail(place / 'agent.log')}")


def watch(driving: Process, serving: Process, brokering: Process, place: Path) -> None:
    """Wait until the van ends. If the agent ends before, say so; the page shows its sensors as offline."""
    told = False
    while driving.poll() is None:
        if brokering.poll() is not None:
            driving.kill()  # it would wait for acknowledgements that cannot come
            raise Failure(f"the broker ended with {brokering.returncode}; {tail(place / 'broker.log')}")
        if serving.poll() is not None and not told:
            say.print(f"the agent ended with {serving.returncode}; its sensors are offline now")
            told = True
        time.sleep(0.1)


def welcome(page: str, port: int, log: Path, seconds: float) -> None:
    """Print where to look; addresses are not wrapped."""
    if page:
        say.print(f"[bold]open {page}[/bold]", soft_wrap=True)
    say.print(f"the agent's log: tail -f {log.relative_to(ROOT)}", soft_wrap=True)
    say.print(f"MQTT: {HOST}:{port}, topic respire/+/calibrated/+/co")
    say.print("5092 and D3EB have their CO and NOx cells swapped, as in the paper;\ntheir intervals are wide")
    until = "until event time reaches the present" if seconds == float("inf") else f"for {seconds:g} s"
    say.print(f"one window a second, {until}; Ctrl-C ends it")


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A new folder under the project's tmp, removed afterwards."""
    parent = ROOT / "tmp"
    parent.mkdir(exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="demo-", dir=parent))
    try:
        yield place
    finally:
        with uninterrupted():
            shutil.rmtree(place, ignore_errors=True)
            with contextlib.suppress(OSError):
                parent.rmdir()


def simulate(place: Path) -> None:
    """A co-location of six packages with a reference, to fit the models to."""
    say.print("simulating a winter of six sensors beside a reference, at two sites in Lucknow")
    log, options = place / "model-export.log", ("--seed", SEED, "--datasets", ",".join(DATASETS))
    with child(log, script("model-export"), "simulate", place / "colocation", *options) as process:
        if process.wait():
            raise Failure(tail(log))


def fit(place: Path) -> None:
    """Make one bundle a sensor, two at a time, with a progress bar."""
    (place / "bundles").mkdir()
    waiting, running = list(SENSORS), dict[str, Process]()
    columns = (TextColumn("fitting"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=say) as progress, contextlib.ExitStack() as stack:
        task = progress.add_task("fitting", total=len(SENSORS))
        while waiting or running:
            while waiting and len(running) < FITS_AT_ONCE:
                sensor = waiting.pop(0)
                running[sensor] = stack.enter_context(fitting(place, sensor))
            for sensor in [name for name, process in running.items() if process.poll() is not None]:
                if running.pop(sensor).returncode:
                    raise Failure(tail(place / f"fit-{sensor}.log"))
                progress.advance(task)
            time.sleep(0.05)


def fitting(place: Path, sensor: str) -> contextlib.AbstractContextManager[Process]:
    """Tune, fit, compress and export one sensor."""
    data = [place / "colocation" / f"{sensor}_{dataset}.csv" for dataset in DATASETS]
    options = ["--sensor", sensor, "--out", place / "bundles" / f"{sensor}.bundle"]
    options += ["--valid-for", "none"]  # the co-location is simulated in 2023
    return child(place / f"fit-{sensor}.log", script("model-export"), "fit", *data, *options)


@contextlib.contextmanager
def broker(place: Path) -> Iterator[tuple[int, int, Process]]:
    """A broker with MQTT and WebSockets on free ports."""
    mqtt, ws = free_port(), free_port()
    if mosquitto():
        web = (f"listener {ws} {HOST}", "protocol websockets")
        command = mosquitto_command(place, mqtt, "allow_anonymous true", "max_queued_messages 100000", *web)
    else:
        command = amqtt_command(place, mqtt, ws)
    say.print(f"starting {'mosquitto' if mosquitto() else 'amqtt, because mosquitto is not installed'}")
    with child(place / "broker.log", *command) as process:
        wait_for(lambda: listening(mqtt) and listening(ws), process, place / "broker.log")
        yield mqtt, ws, process


@contextlib.contextmanager
def agent(place: Path, port: int) -> Iterator[Process]:
    """The agent, as systemd runs it."""
    config = place / "edge-agent.toml"
    config.write_text(
        f'agent = "van-1"\nclock = "trusted"\nbundles = "{place}/bundles"\nstate = "{place}/state"\n'
        f"[broker]\nhost = '{HOST}'\nport = {port}\nkeepalive_s = 5\n[health]\ninterval_s = 5\n[consensus]\n"
    )
    say.print("starting the agent")
    log = place / "agent.log"
    with child(log, script("edge-agent"), "run", "--config", config) as process:
        wait_for(lambda: "broker.connected" in log.read_text(), process, log)
        yield process


@contextlib.contextmanager
def van(place: Path, port: int, seconds: float, truth: Path) -> Iterator[Process]:
    """The simulated van."""
    options = ["--broker", f"{HOST}:{port}", "--speed-up", SPEED_UP, "--seed", SEED, "--truth", truth]
    limit = ["--seconds", seconds] if seconds < float("inf") else []
    with child(place / "van.log", script("model-export"), "simulate", "--live", *options, *limit) as process:
        yield process


def wait_for(condition: Callable[[], bool], process: Process, log: Path) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            raise Failure(tail(log))
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
