"""The demo as a new user runs it: real commands, a real broker, a real agent, a real Chromium."""

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import islice
from math import sqrt
from pathlib import Path
from statistics import fmean, pstdev

import pytest
from paho.mqtt.client import Client, MQTTMessage

from edge_agent.bundles import Bundles
from edge_agent.core.messages import Estimate, Reading, parse_time
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Windows
from model_export.simulator.van import drive
from tests.support.agents import Collector
from tests.support.broker import AT_MOST_S, Broker, client, wait_until
from tests.support.browser import Chromium, Page
from tests.support.needs import require
from tests.support.processes import run_program, start

ROOT = Path(__file__).parents[2]
SOUND = ("1FEA", "5A2D", "5CB6", "B5FF")
SENSORS = (*SOUND, "5092", "D3EB")
WINDOWS = 20


class Demo:
    """`make demo`, running; `told` is the line it prints for programs."""

    def __init__(self, *options: str) -> None:
        self._words = tempfile.TemporaryFile("w+")  # noqa: SIM115 - `close` closes it
        command = ["make", "--no-print-directory", "demo", *options]
        self.process = start(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, stderr=self._words)
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, self.said()
        self.told: dict[str, str] = json.loads(line)

    @property
    def broker(self) -> Broker:
        host, _, port = self.told["mqtt"].partition(":")
        return Broker(host, int(port))

    @property
    def place(self) -> Path:
        return Path(self.told["truth"]).parent

    def said(self) -> str:
        """The text on the terminal."""
        return os.pread(self._words.fileno(), 1 << 16, 0).decode()

    def interrupt(self) -> None:
        """Ctrl-C, as a terminal sends it: to make and to the demo alike."""
        os.killpg(self.process.pid, signal.SIGINT)

    def close(self) -> None:
        if self.process.poll() is None:
            self.interrupt()
        self.process.wait(AT_MOST_S)
        assert self.process.stdout
        self.process.stdout.close()
        self._words.close()


def processes_of(place: Path) -> dict[int, str]:
    """Command lines that name the demo's folder, by process."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found[int(entry.parent.name)] = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return {process: line for process, line in found.items() if str(place) in line}


def truth(file: Path) -> dict[int, float]:
    """The true CO of every window that is complete: start -> mean."""
    minutes: dict[int, list[float]] = {}
    with file.open() as lines:
        for row in csv.DictReader(lines):
            minutes.setdefault(parse_time(row["timestamp"]) // 900_000 * 900_000, []).append(float(row["co"]))
    return {start: fmean(values) for start, values in minutes.items() if len(values) == 15}


def rmse(estimates: list[Estimate], true: dict[int, float]) -> float:
    """In ppm. Not R²: in the few hours of a test the air may hardly change, whatever the hour."""
    pairs = [(e.value, true[e.start_ms]) for e in estimates if e.value is not None and e.start_ms in true]
    return sqrt(fmean((value - wanted) ** 2 for value, wanted in pairs))


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    with closing(Demo()) as running:
        yield running


@pytest.fixture(scope="module")
def collector(demo: Demo) -> Iterator[Collector]:
    """Its estimates, which come while other tests run."""
    with client(demo.broker) as consumer:
        yield Collector(consumer)


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("hour", range(2, 24, 3))
def test_whatever_the_hour_it_sets_out_at_nothing_is_flagged(demo: Demo, hour: int) -> None:
    """The demo's own bundles, offline, for two days: the air is always air that the sensors have seen."""
    windows, true = Windows(), dict[int, list[float]]()
    pipeline = Pipeline(windows, Bundles(demo.place / "bundles").models)
    for minute in islice(drive(1, hour * 3_600_000), 2 * 1_440):
        true.setdefault(minute.at_ms // 900_000 * 900_000, []).append(minute.co)
        for sensor, channels in minute.readings.items():
            for channel, value in channels.items():
                windows.add(Reading(sensor, channel, minute.at_ms, value), minute.at_ms)
    estimates = [pipeline.estimate(window) for window in windows.close_all()]
    assert len(estimates) == len(SENSORS) * 2 * 96
    assert flagged(estimates) == []
    means = {start_ms: fmean(values) for start_ms, values in true.items()}
    sound = [each for each in estimates if each.sensor in SOUND]
    assert rmse(sound, means) < 0.1 * pstdev(means.values()), "R² is 0.99"


def flagged(estimates: list[Estimate]) -> list[tuple[str, int, tuple[str, ...]]]:
    """What is not of quality 1, but for a sensor's first three hours, before which nothing is known."""
    first_ms: dict[str, int] = {}
    for each in sorted(estimates, key=lambda each: each.start_ms):
        first_ms.setdefault(each.sensor, each.start_ms)
    return [
        (each.sensor, each.start_ms, each.reasons)
        for each in estimates
        if each.quality != 1
        and not (
            each.reasons == ("temperature_history_incomplete",)
            and each.start_ms - first_ms[each.sensor] < 3 * 3_600_000
        )
    ]


@pytest.fixture(scope="module")
def page(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The running demo's page in a real browser."""
    require("npm", "chromium")
    with Chromium(tmp_path_factory.mktemp("profile")) as chromium:
        yield chromium.open(demo.told["dashboard"], width=1280, height=860)


def test_the_dashboard_shows_the_running_demo(page: Page, tmp_path: Path) -> None:
    """Four sound sensors and two swapped ones; README's picture is one of these (DASHBOARD_PICTURE=FILE)."""
    page.wait_for_text("2 of 6 sensors are uncertain.", "h1")
    page.wait_for_text("The model is poor", '[data-sensor="5092"]')
    page.wait_for_text("times as wide as those of the other sensors", '[data-sensor="D3EB"]')
    for sensor in SOUND:
        page.wait_for_text("Data OK", f'[data-sensor="{sensor}"] .state')
    for sensor in SENSORS:
        page.wait_for_text("ppm", f'[data-sensor="{sensor}"]')
    page.wait_for_text("Online", '[data-agent="van-1"]')
    page.wait_for_text("of 6 sensors.", ".agreed .sharers")
    page.wait_for_text("Data OK", ".agreed .state")
    picture = Path(os.environ.get("DASHBOARD_PICTURE", tmp_path / "overview.png"))
    page.screenshot(picture)
    assert page.complaints() == []
    assert picture.stat().st_size > 10_000


def test_the_demo_streams_sound_calibrated_co(demo: Demo, collector: Collector) -> None:
    """Six sensors, twenty windows each, and close to the simulator's truth.

    The van breaks nothing on purpose, so every window is of quality 1 when the temperatures of a few hours
    are known. That holds for the two whose pairs are swapped as well: they were calibrated as they are, and
    no agent can know what they should have measured.
    """
    wait_until(lambda: len(collector.payloads) >= len(SENSORS) * (WINDOWS + 4), what="the demo's windows")
    true = truth(Path(demo.told["truth"]))
    by_sensor = {sensor: [e for e in collector.estimates if e.sensor == sensor] for sensor in SENSORS}
    assert all(len(estimates) >= WINDOWS for estimates in by_sensor.values())
    assert flagged(collector.estimates) == []
    errors = {sensor: round(rmse(by_sensor[sensor], true), 3) for sensor in SOUND}
    assert max(errors.values()) < 0.1, errors


def test_a_broken_sensor_is_flagged_until_it_is_mended(demo: Demo, page: Page) -> None:
    """A loose electrode beside five sound ones: the page shows sensor and reason while it lasts."""
    loose = '[data-sensor="5CB6"]'
    with client(demo.broker) as saboteur:

        def rattle(_client: Client, _data: object, message: MQTTMessage) -> None:
            saboteur.publish("sensors/5CB6/op1", rattled(message.payload))

        saboteur.on_message = rattle
        saboteur.subscribe("sensors/5CB6")
        page.wait_for_text("1 of 6 sensors needs attention, 2 are uncertain.", "h1")
        page.wait_for_text("OP1 is outside the range the model was trained on", ".troubles")
        page.wait_for_text("Uncertain", loose)
    page.wait_for_text("2 of 6 sensors are uncertain.", "h1")
    page.wait_for_text("Data OK", loose)
    assert page.complaints() == []


def rattled(payload: bytes | bytearray) -> str:
    """A second reading in the same minute, as a loose contact gives."""
    return json.dumps({"at": parse_time(json.loads(payload)["at"]) + 30_000, "value": 5_000.0})


def test_two_demos_do_not_disturb_each_other_and_ctrl_c_leaves_nothing(demo: Demo) -> None:
    """A second demo has its own ports and folder; Ctrl-C ends it whole while the first goes on."""
    with closing(Demo(f"BUNDLES={demo.place / 'bundles'}")) as second:
        assert second.place != demo.place
        place = second.place
        with client(second.broker) as consumer:
            collector = Collector(consumer)
            wait_until(lambda: collector.payloads, what="a window of the second demo")
    assert not place.exists()
    wait_until(lambda: processes_of(place) == {}, what="every process of the second demo gone")
    assert demo.process.poll() is None
    assert demo.place.exists()


@pytest.mark.parametrize("after_s", [0.3, 3.0])
def test_ctrl_c_while_it_prepares_leaves_nothing(after_s: float) -> None:
    before = set((ROOT / "tmp").glob("demo-*"))
    process = start(["make", "demo"], cwd=ROOT, stdout=subprocess.DEVNULL)
    time.sleep(after_s)  # a moment in the middle of simulating or fitting
    os.killpg(process.pid, signal.SIGINT)
    process.wait(AT_MOST_S)
    wait_until(lambda: set((ROOT / "tmp").glob("demo-*")) <= before, what="the demo's folder gone")


def test_a_killed_agent_shows_as_offline(demo: Demo, page: Page) -> None:
    """By its last will; the last but one here, for the demo has no agent any more."""
    (agent,) = [pid for pid, line in processes_of(demo.place).items() if "edge-agent run" in line]
    os.kill(agent, signal.SIGKILL)
    page.wait_for_text("van-1 has been offline since ", "h1")
    page.wait_for_text("Offline", '[data-sensor="5A2D"]')
    assert page.complaints() == []
    wait_until(lambda: "the agent ended with -9; its sensors are offline now" in demo.said())


def test_a_demo_without_a_broker_ends_and_says_so(demo: Demo) -> None:
    """The last test: it ends the demo."""
    (broker,) = [pid for pid, line in processes_of(demo.place).items() if "broker.conf" in line]
    os.kill(broker, signal.SIGKILL)
    assert demo.process.wait(AT_MOST_S) != 0
    assert "demo: the broker ended with -9" in demo.said()


def test_bundles_that_are_not_there_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "5A2D.csv").touch()
    for folder in (tmp_path, tmp_path / "nope"):
        command = [sys.executable, "-m", "deploy.demo", "--bundles", folder]
        done = run_program(command, cwd=ROOT, capture_output=True, text=True)
        told = f"demo: error: --bundles: expected a folder with .bundle files, got {folder}\n"
        assert (done.returncode, done.stderr.partition("\n")[2]) == (2, told)
