"""The demo as a newcomer runs it: real commands, a real broker, a real agent, a real Chromium."""

import csv
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from statistics import fmean

import pytest

from edge_agent.messages import Estimate, Reading, parse_time
from edge_agent.pipeline import Pipeline
from edge_agent.shelf import Shelf
from edge_agent.windows import Windows
from model_export.van import drive
from tests.broker import Broker, client, wait_until
from tests.browser import Chromium, chromium_path
from tests.test_agent import Collector

ROOT = Path(__file__).parent.parent
SOUND = ("1FEA", "5A2D", "5CB6", "B5FF")
SENSORS = (*SOUND, "5092", "D3EB")
WINDOWS = 20


class Demo:
    """`make demo`, running; `told` is the line it prints for programs."""

    def __init__(self, seconds: int | None = None) -> None:
        limit = [f"SECONDS={seconds}"] if seconds else []
        self.process = subprocess.Popen(
            ["make", "--no-print-directory", "demo", *limit], cwd=ROOT, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the demo ended before it told its address"
        self.told: dict[str, str] = json.loads(line)

    @property
    def broker(self) -> Broker:
        host, _, port = self.told["mqtt"].partition(":")
        return Broker(host, int(port))

    @property
    def place(self) -> Path:
        return Path(self.told["truth"]).parent

    def interrupt(self) -> None:
        """Ctrl-C, as a terminal sends it: to make and to the demo alike."""
        os.killpg(self.process.pid, signal.SIGINT)

    def close(self) -> None:
        if self.process.poll() is None:
            self.interrupt()
        self.process.wait(30)
        assert self.process.stdout
        self.process.stdout.close()


def processes_of(place: Path) -> list[str]:
    """Command lines that name the demo's folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(entry.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return [line for line in found if str(place) in line]


def truth(file: Path) -> dict[int, float]:
    """The true CO of every window that is complete: start -> mean."""
    minutes: dict[int, list[float]] = {}
    with file.open() as lines:
        for row in csv.DictReader(lines):
            minutes.setdefault(parse_time(row["timestamp"]) // 900_000 * 900_000, []).append(float(row["co"]))
    return {start: fmean(values) for start, values in minutes.items() if len(values) == 15}


def r2(estimates: list[Estimate], true: dict[int, float]) -> float:
    pairs = [(e.value, true[e.start_ms]) for e in estimates if e.value is not None and e.start_ms in true]
    mean = fmean(wanted for _, wanted in pairs)
    return 1 - sum((v - w) ** 2 for v, w in pairs) / sum((w - mean) ** 2 for _, w in pairs)


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    with closing(Demo()) as running:
        yield running


def test_the_demo_streams_sound_calibrated_co(demo: Demo) -> None:
    """Six sensors, twenty windows each, and close to the simulator's truth.

    The van breaks nothing on purpose, so every window is of quality 1. That holds for the two whose pairs are
    swapped as well: they were calibrated as they are, and no agent can know what they should have measured.
    """
    with client(demo.broker) as consumer:
        collector = Collector(consumer)
        wait_until(lambda: len(collector.payloads) >= len(SENSORS) * (WINDOWS + 4), 90, "the demo's windows")
    true = truth(Path(demo.told["truth"]))
    by_sensor = {sensor: [e for e in collector.estimates if e.sensor == sensor] for sensor in SENSORS}
    assert all(len(estimates) >= WINDOWS for estimates in by_sensor.values())
    assert [(e.sensor, e.start_ms, e.reasons) for e in collector.estimates if e.quality != 1] == []
    assert {
        sensor: round(r2(by_sensor[sensor], true), 3) for sensor in SOUND if r2(by_sensor[sensor], true) < 0.9
    } == {}


@pytest.mark.parametrize("hour", range(1, 24, 3))
def test_whatever_the_hour_it_sets_out_at_nothing_is_flagged(demo: Demo, hour: int) -> None:
    """The demo's own bundles, offline, for two days: the air is always air that the sensors have seen."""
    pipeline = Pipeline(Windows(), Shelf(demo.place / "bundles").models)
    for minute in islice(drive(1, hour * 3_600_000), 2 * 1_440):
        for sensor, channels in minute.readings.items():
            for channel, value in channels.items():
                pipeline.add(Reading(sensor, channel, minute.at_ms, value), minute.at_ms)
    estimates = [pipeline.estimate(window) for window in pipeline.windows.close_all()]
    assert len(estimates) == len(SENSORS) * 2 * 96
    assert [(e.sensor, e.start_ms, e.reasons) for e in estimates if e.quality != 1] == []


def test_the_dashboard_shows_the_running_demo(demo: Demo, tmp_path: Path) -> None:
    """Values appear, charts have points; README's picture is one of these (DASHBOARD_PICTURE=FILE)."""
    if not demo.told["dashboard"] or chromium_path() is None:
        pytest.skip("the dashboard needs npm and a Chromium")
    with Chromium(tmp_path / "profile") as chromium:
        page = chromium.open(demo.told["dashboard"], width=1280, height=860)
        for sensor in SENSORS:
            page.wait(
                f"document.querySelector('[data-sensor=\"{sensor}\"]')?.textContent.includes('ppm')", 30
            )
        page.wait("document.querySelector('[data-agent=\"van-1\"]') !== null")
        picture = Path(os.environ.get("DASHBOARD_PICTURE", tmp_path / "overview.png"))
        page.screenshot(picture)
        assert page.complaints() == []
        assert picture.stat().st_size > 10_000


def test_two_demos_do_not_disturb_each_other_and_ctrl_c_leaves_nothing(demo: Demo) -> None:
    """A second demo has its own ports and folder; Ctrl-C ends it whole while the first goes on."""
    with closing(Demo()) as second:
        assert second.place != demo.place
        place = second.place
        with client(second.broker) as consumer:
            collector = Collector(consumer)
            wait_until(lambda: collector.payloads, 60, "a window of the second demo")
    assert not place.exists()
    wait_until(lambda: processes_of(place) == [], what="every process of the second demo gone")
    assert demo.process.poll() is None
    assert demo.place.exists()


@pytest.mark.parametrize("after_s", [0.3, 3.0])
def test_ctrl_c_while_it_prepares_leaves_nothing(after_s: float) -> None:
    before = set((ROOT / "tmp").glob("demo-*"))
    process = subprocess.Popen(["make", "demo"], cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True)
    time.sleep(after_s)  # a moment in the middle of simulating or fitting
    os.killpg(process.pid, signal.SIGINT)
    process.wait(30)
    wait_until(lambda: set((ROOT / "tmp").glob("demo-*")) <= before, 10, "the demo's folder gone")
