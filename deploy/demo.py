"""A van on your desk: simulate, fit, export, serve; only public commands, only loopback, nothing left behind.

make demo              until Ctrl-C
make demo SECONDS=60   for so many seconds
"""

import argparse
import contextlib
import ctypes
import fcntl
import functools
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

ROOT = Path(__file__).resolve().parent.parent
DASHBOARD = ROOT / "deploy" / "dashboard"
SENSORS = ("1FEA", "5092", "5A2D", "5CB6", "B5FF", "D3EB")
DATASETS = ("T-W", "B-W")  # 1FEA stood beside the reference for a fifth of T-W only: too little by itself
TRIALS = 6  # of the search for hyperparameters; 15 give the same R² on the road
SPEED_UP = 900  # a window a second
SEED = 1
FITS_AT_ONCE = 2
HOST = "127.0.0.1"
LIBC = ctypes.CDLL(None)
MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")

Process = subprocess.Popen[bytes]

say = Console(stderr=True, highlight=False)


def main() -> int:
    """Run the demo; 0 however it ends, 1 if a part of it fails."""
    parser = argparse.ArgumentParser(
        description="A van on your desk.", epilog="example: make demo SECONDS=60"
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="how long to drive, default: until Ctrl-C"
    )
    options = parser.parse_args()
    if not options.seconds > 0.0:
        parser.error(f"--seconds: expected more than 0, got {options.seconds:g}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.ExitStack() as stack:
            demonstrate(stack, options.seconds)
    except KeyboardInterrupt:
        say.print("stopped")
    except Failure as failure:
        say.print(f"demo: {failure}", markup=False)
        return 1
    return 0


class Failure(Exception):
    """A part of the demo did not do what it should; the text is the end of its log."""


def demonstrate(stack: contextlib.ExitStack, seconds: float) -> None:
    """Everything, in the order a user would do it by hand."""
    place = stack.enter_context(workplace())
    with building(place) as built:
        simulate(place)
        fit(place)
        has_page = built()
    mqtt, ws, brokering = stack.enter_context(broker(place))
    page = stack.enter_context(dashboard(ws)) if has_page else ""
    serving = stack.enter_context(agent(place, mqtt))
    truth = place / "truth.csv"
    with van(place, mqtt, seconds, truth) as driving:
        print(json.dumps({"dashboard": page, "mqtt": f"{HOST}:{mqtt}", "truth": str(truth)}), flush=True)
        welcome(page, mqtt, place / "agent.log", seconds)
        watch(driving, serving, brokering, place)
        if driving.returncode:
            raise Failure(tail(place / "van.log"))
    time.sleep(1.0 if seconds < float("inf") else 0.0)  # the last windows are on their way
    if serving.poll() is not None:
        raise Failure(f"the agent had ended with {serving.returncode}; {tail(place / 'agent.log')}")


def watch(driving: Process, serving: Process, brokering: Process, place: Path) -> None:
    """Until the van is home; an agent that dies is told, and the page shows what that looks like."""
    told = False
    while driving.poll() is None:
        if brokering.poll() is not None:
            raise Failure(f"the broker ended with {brokering.returncode}; {tail(place / 'broker.log')}")
        if serving.poll() is not None and not told:
            say.print(f"the agent ended with {serving.returncode}; its sensors are offline now")
            told = True
        time.sleep(0.1)


def welcome(page: str, port: int, log: Path, seconds: float) -> None:
    """Where to look; addresses stay on one line."""
    if page:
        say.print(f"[bold]open {page}[/bold]", soft_wrap=True)
    say.print(f"the agent's log: tail -f {log.relative_to(ROOT)}", soft_wrap=True)
    say.print(f"MQTT: {HOST}:{port}, topic calibrated/+/co")
    say.print("5092 and D3EB have their CO and NOx cells swapped, as in the paper: see how wide they are")
    until = "until the van has caught up with the clock" if seconds == float("inf") else f"for {seconds:g} s"
    say.print(f"a window a second, {until}; Ctrl-C ends it")


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A folder of this demo's own under the project's tmp, gone afterwards."""
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
    """A co-location of six packages with a reference: what there is to learn from."""
    say.print("simulating a winter of six sensors beside a reference, at two sites in Lucknow")
    out = place / "colocation"
    run(place, script("model-export"), "simulate", out, "--seed", SEED, "--datasets", ",".join(DATASETS))


def fit(place: Path) -> None:
    """One bundle a sensor, two at a time, with a progress bar."""
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
    options = ["--sensor", sensor, "--out", place / "bundles" / f"{sensor}.bundle", "--trials", TRIALS]
    return child(place / f"fit-{sensor}.log", script("model-export"), "fit", *data, *options)


@contextlib.contextmanager
def broker(place: Path) -> Iterator[tuple[int, int, Process]]:
    """A broker with MQTT and WebSockets on free ports: mosquitto, or the embedded amqtt."""
    mqtt, ws = free_port(), free_port()
    config = place / "broker.conf"
    if MOSQUITTO:
        config.write_text(
            f"allow_anonymous true\nmax_queued_messages 100000\nlog_type error\n"
            f"listener {mqtt} {HOST}\nlistener {ws} {HOST}\nprotocol websockets\n"
        )
        start = [MOSQUITTO, "-c", config]
    else:
        listeners = {
            "default": {"type": "tcp", "bind": f"{HOST}:{mqtt}"},
            "ws": {"type": "ws", "bind": f"{HOST}:{ws}"},
        }
        config.write_text(json.dumps({"listeners": listeners}))  # JSON is YAML too
        start = [script("amqtt"), "-c", config]
    say.print(f"starting {'mosquitto' if MOSQUITTO else 'amqtt, for want of mosquitto'}")
    with child(place / "broker.log", *start) as process:
        wait_for(lambda: listening(mqtt) and listening(ws), process, place / "broker.log")
        yield mqtt, ws, process


@contextlib.contextmanager
def agent(place: Path, port: int) -> Iterator[Process]:
    """The real agent, as systemd would run it."""
    config = place / "edge-agent.toml"
    config.write_text(
        f'agent = "van-1"\nclock = "trusted"\nbundles = "{place}/bundles"\nstate = "{place}/state"\n'
        f"[broker]\nhost = '{HOST}'\nport = {port}\nkeepalive_s = 5\n[health]\ninterval_s = 5\n"
    )
    say.print("starting the agent")
    log = place / "agent.log"
    with child(log, script("edge-agent"), "run", "--config", config) as process:
        wait_for(lambda: "broker.connected" in log.read_text(), process, log)
        yield process


@contextlib.contextmanager
def van(place: Path, port: int, seconds: float, truth: Path) -> Iterator[Process]:
    """The simulated van, driving at speed."""
    options = ["--broker", f"{HOST}:{port}", "--speed-up", SPEED_UP, "--seed", SEED, "--truth", truth]
    limit = ["--seconds", seconds] if seconds < float("inf") else []
    with child(place / "van.log", script("model-export"), "simulate", "--live", *options, *limit) as process:
        yield process


@contextlib.contextmanager
def dashboard(ws: int) -> Iterator[str]:
    """The page, served on a free port; its address."""
    handler = functools.partial(Quiet, directory=str(DASHBOARD / "dist"))
    with http.server.ThreadingHTTPServer((HOST, 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}/?broker=ws://{HOST}:{ws}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that keeps its requests to itself."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def building(place: Path) -> Iterator[Callable[[], bool]]:
    """Build the page, if need be, while other things are done; what is given waits and tells if there is one.

    A second demo waits for the first one's build. Without a page the rest is still worth seeing.
    """
    npm, log = shutil.which("npm"), place / "npm.log"
    with (DASHBOARD / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if npm and not is_built():
            say.print("building the dashboard meanwhile")
            steps = f"{npm} ci --no-audit --no-fund && exec {npm} run build"
            with child(log, "sh", "-c", steps, directory=DASHBOARD) as process:
                yield lambda: process.wait() == 0 or no_page(tail(log))
                return
    yield lambda: is_built() or no_page("npm is not installed; the rest runs")


def is_built() -> bool:
    """Whether the page is newer than its sources."""
    page = DASHBOARD / "dist" / "index.html"
    sources = [*(DASHBOARD / "src").rglob("*"), *DASHBOARD.glob("*.*")]
    return page.exists() and page.stat().st_mtime > max(source.stat().st_mtime for source in sources)


def no_page(reason: str) -> bool:
    say.print(f"no dashboard: {reason}", markup=False)
    return False


def script(name: str) -> str:
    """A command as it was installed beside this Python."""
    return str(Path(sys.executable).with_name(name))


def run(place: Path, *arguments: object) -> None:
    """Run one command to its end."""
    log = place / f"{Path(str(arguments[0])).name}.log"
    with child(log, *arguments) as process:
        if process.wait():
            raise Failure(tail(log))


@contextlib.contextmanager
def child(log: Path, *arguments: object, directory: Path = ROOT) -> Iterator[Process]:
    """A process in a session of its own, so that Ctrl-C reaches us first; ended when we are done with it."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            [str(argument) for argument in arguments],
            stdout=file,
            stderr=file,
            cwd=directory,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - it only makes one system call
        )
    try:
        yield process
    finally:
        with uninterrupted():
            end(process)


def end(process: Process) -> None:
    """End a process and those that it started."""
    for number, patience_s in ((signal.SIGTERM, 10.0), (signal.SIGKILL, None)):
        if process.poll() is None:
            os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience_s)


def die_with_parent() -> None:
    """Linux ends a child when its parent dies, however that came about."""
    pr_set_pdeathsig = 1
    LIBC.prctl(pr_set_pdeathsig, signal.SIGTERM)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """A second Ctrl-C does not cut the tidying short."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_for(condition: Callable[[], bool], process: Process, log: Path) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            raise Failure(tail(log))
        time.sleep(0.05)


def tail(log: Path) -> str:
    return f"{log.stem}: {log.read_text(errors='replace').strip()[-600:] or 'ended without a word'}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def listening(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=0.5):
        return True
    return False


if __name__ == "__main__":
    sys.exit(main())
