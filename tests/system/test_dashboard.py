"""The dashboard in a real Chromium, against a real broker, with a van that speaks the wire contract."""

import base64
import csv
import fcntl
import functools
import gzip
import hashlib
import http.server
import itertools
import json
import random
import threading
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.processes import free_port
from edge_agent.core import bundle
from tests.conftest import make_model
from tests.support import van as wire
from tests.support.broker import AgentProcess, Mosquitto, client
from tests.support.browser import Chromium, Page
from tests.support.needs import dynamic_security_plugin, require
from tests.support.processes import run_program
from tests.support.van import WINDOW_S, Van, estimate, health, sensor_health

DASHBOARD = Path(__file__).parents[2] / "deploy" / "dashboard"
LARGEST_BYTES = 300_000
SENSORS = ("1FEA", "5092", "5A2D", "5CB6", "B5FF", "D3EB")
HOSTILE = "<img src=x onerror=window.pwned=1>"


def npm(*arguments: str) -> None:
    done = run_program(["npm", *arguments], cwd=DASHBOARD, capture_output=True, text=True)
    assert done.returncode == 0, f"npm {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="session")
def packages() -> None:
    """The page's packages as the lock file has them, installed once."""
    require("npm")
    lock, installed = DASHBOARD / "package-lock.json", DASHBOARD / "node_modules" / ".package-lock.json"
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # parallel test workers share the folder
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            npm("ci")


@pytest.fixture(scope="session")
def built(packages: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built page."""
    folder = tmp_path_factory.mktemp("dashboard")
    npm("run", "build", "--", "--outDir", str(folder), "--emptyOutDir")
    return folder


class QuietFiles(http.server.SimpleHTTPRequestHandler):
    """Static files, without a line on stderr for each."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(built: Path) -> Iterator[str]:
    """The address of the built page, served as any static web server would."""
    serve = functools.partial(QuietFiles, directory=str(built))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    require("chromium")
    with Chromium(profile=tmp_path_factory.mktemp("profile")) as browser:
        yield browser


class WebBroker(Mosquitto):
    """A mosquitto that browsers can speak to."""

    def __init__(self, directory: Path, *lines: str) -> None:
        port = free_port()
        self.websocket = f"ws://127.0.0.1:{port}"
        super().__init__(directory, f"listener {port} 127.0.0.1", "protocol websockets", *lines)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[WebBroker]:
    running = WebBroker(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def van(broker: WebBroker) -> Iterator[Van]:
    """An online van with one good day of six sensors in its journal."""
    running = Van(broker.port)
    running.connect()
    newest_s = time.time() // WINDOW_S * WINDOW_S - WINDOW_S
    for sensor in SENSORS:
        running.past[sensor] = [estimate(sensor, newest_s - i * WINDOW_S) for i in reversed(range(96))]
        running.publish_card(sensor)
        running.publish(running.past[sensor][-1])
    running.publish_health(health(time.time(), {sensor: sensor_health(time.time()) for sensor in SENSORS}))
    yield running
    running.leave()


@pytest.fixture
def page(chromium: Chromium, site: str, broker: WebBroker, van: Van) -> Page:
    """The overview on a phone, connected."""
    opened = chromium.open(f"{site}?broker={broker.websocket}", width=390, height=844)
    opened.wait_for_text("Live", ".link")
    return opened


def newest_start(van: Van, sensor: str) -> float:
    newest = van.past[sensor][-1]["start"]
    return wire.seconds(str(newest))


def show(page: Page, sensor: str) -> None:
    """Look at one sensor, once its day has arrived, with the table of its windows open."""
    page.evaluate(f"location.hash = '#/sensor/van-1/' + encodeURIComponent({json.dumps(sensor)})")
    page.wait_for_text(sensor, "h1")
    page.wait("document.querySelector('.day')?.dataset.points > 0")
    page.evaluate("document.querySelector('.day-section details').open = true")
    page.wait("document.querySelector('.day-section tbody tr') !== null")


def test_every_sensor_shows_its_value_interval_and_quality(page: Page, van: Van) -> None:
    """What the estimate says is what the card says."""
    page.wait_for_text("All 6 sensors report.", "h1")
    for sensor in SENSORS:
        newest = van.past[sensor][-1]
        shown = page.evaluate(f"document.querySelector('[data-sensor=\"{sensor}\"]').innerText")
        assert f"{newest['value']:.2f}" in shown
        assert f"likely between {newest['low']:.2f} and {newest['high']:.2f} ppm (90 %)" in shown
        assert "Data OK" in shown
    assert page.complaints() == []


def test_the_day_is_fetched_from_the_journal_and_drawn(page: Page) -> None:
    """A page just opened asks for the last day, and the line is on the canvas in the accent colour."""
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    assert len(page.evaluate(inked_columns("--accent"))) > 500
    assert page.evaluate("document.querySelectorAll('.day-section tbody tr').length") == 96
    assert page.complaints() == []


def test_lone_windows_are_dots_and_a_gap_has_no_stub(page: Page, van: Van) -> None:
    """Of a run, a gap, a lone window and a gap, the canvas shows just the run and a dot."""
    newest = newest_start(van, "5A2D")
    for windows_ago, value in ((14, 1.0), (13, 1.0), (12, 1.0), (6, 3.0), (0, 3.0)):
        narrow: wire.Json = {"value": value, "low": value, "high": value}
        van.publish(estimate("LONE", newest - windows_ago * WINDOW_S, **narrow))
    show(page, "LONE")
    page.wait("document.querySelector('.day').dataset.points === '5'")
    xs = page.evaluate(inked_columns("--accent"))
    clusters = [xs[0]] + [x for before, x in itertools.pairwise(xs) if x > before + 1]
    assert len(clusters) == 3, "the run and two dots"
    run = [x for x in xs if x < clusters[1]]
    window_px = (xs[-1] - 3 * 2 - run[0]) / 14  # the last dot's middle is 14 windows after the run's start
    assert max(run) - min(run) == pytest.approx(2 * window_px, abs=2), "two windows long, and no stub"


def test_a_day_that_was_refused_is_asked_for_again(
    chromium: Chromium, site: str, broker: WebBroker, van: Van
) -> None:
    """An agent that is asked too much at once answers with an error; the page asks again after a while."""
    van.busy = len(SENSORS)
    page = chromium.open("about:blank", width=390, height=844)
    hurry = "const now = Date.now, begun = now(); Date.now = () => begun + 20 * (now() - begun);"
    page.call("Page.addScriptToEvaluateOnNewDocument", {"source": hurry})
    page.call("Page.navigate", {"url": f"{site}?broker={broker.websocket}#/sensor/van-1/5A2D"})
    page.wait("document.querySelector('.day')?.dataset.points === '96'")


def test_an_empty_window_is_told_from_one_that_never_came(page: Page, van: Van) -> None:
    """A tick in the colour of alerts stands under it; nothing stands under a gap."""
    start = newest_start(van, "5A2D")
    empty: wire.Json = {
        "value": None,
        "low": None,
        "high": None,
        "quality": 9,
        "reasons": ["insufficient_coverage"],
    }
    for windows_ago, changes in ((9, {}), (8, empty), (2, {}), (1, {}), (0, {})):
        van.publish(estimate("HOLE", start - windows_ago * WINDOW_S, **changes))
    show(page, "HOLE")
    page.wait("document.querySelector('.day').dataset.points === '4'")
    xs = page.evaluate(inked_columns("--alert"))
    assert xs == list(range(xs[0], xs[-1] + 1)), "one column"
    assert len(xs) == pytest.approx((2 * 324) / 96, abs=3)


def inked_columns(colour: str) -> str:
    """A script that gives the columns of the day's canvas that hold this colour, at two pixels a point."""
    return f"""(() => {{
      const canvas = document.querySelector('.day canvas');
      const wanted = getComputedStyle(document.documentElement).getPropertyValue('{colour}').trim();
      const [r, g, b] = wanted.match(/\\w\\w/g).map((pair) => parseInt(pair, 16));
      const {{ width, height }} = canvas;
      const {{ data }} = canvas.getContext('2d').getImageData(0, 0, width, height);
      const at = (x, y) => 4 * (y * width + x);
      const inked = (i) => data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255;
      return [...Array(width).keys()].filter((x) => [...Array(height).keys()].some((y) => inked(at(x, y))));
    }})()"""


def test_a_live_estimate_arrives_once_however_often_it_is_sent(page: Page, van: Van) -> None:
    """(sensor, start, revision) is the key: duplicates and old revisions change nothing."""
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    start = newest_start(van, "5A2D") + WINDOW_S
    revised = estimate("5A2D", start, value=7.77, low=7.5, high=8.0, revision=1)
    for message in (revised, estimate("5A2D", start), revised, van.past["5A2D"][-1], van.past["5A2D"][40]):
        van.publish(message)
    page.wait_for_text("7.77", ".now")
    assert page.evaluate("document.querySelectorAll('.day-section tbody tr').length") == 96


def test_a_window_from_the_future_does_not_freeze_its_sensor(page: Page, van: Van) -> None:
    """`seq` says which window is the newest, whatever the clock said; the day before it stays."""
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    newest = van.past["5A2D"][-1]
    start, seq = newest_start(van, "5A2D"), newest["seq"]
    van.publish(estimate("5A2D", start + 9e8, seq=seq + 1, value=6.66))
    page.wait_for_text("6.66", ".now")
    van.publish(estimate("5A2D", start + WINDOW_S, seq=seq + 2, value=7.77, low=7.5, high=8.0))
    page.wait_for_text("7.77", ".now")
    page.wait("document.querySelector('.day').dataset.points > 90")
    assert "6.66" not in page.evaluate("document.querySelector('.day-section tbody').textContent")


def test_what_is_sent_again_with_other_content_is_shown_everywhere(page: Page, van: Van) -> None:
    """The same window, revision and model id with other numbers: the value, its making and its day agree."""
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    van.publish(estimate("5A2D", newest_start(van, "5A2D"), value=7.77, inputs={"op1": 199.9}))
    van.publish_card("5A2D", domain={"op1": [1.0, 2.0]})
    page.wait_for_text("7.77", ".now")
    page.wait_for_text("199.9 ×", ".terms")
    page.wait_for_text("outside 1 to 2", ".terms")
    page.wait_for_text("Training range unknown", "[aria-label=Weights]")
    assert "7.77" in page.evaluate("document.querySelector('.day-section tbody').textContent")


def test_inputs_weights_and_model_are_shown(page: Page, van: Van) -> None:
    """The detail tells how the value is made: readings times weights, coverage, domain and model."""
    show(page, "5A2D")
    newest = van.past["5A2D"][-1]
    page.wait_for_text(f"{newest['inputs']['op1']:.1f} × 0.0", ".terms")
    page.wait_for_text("14 of 15 minutes", ".terms")
    page.wait_for_text(f"now {newest['inputs']['temperature']:.1f} °C", "[aria-label=Weights]")
    page.wait_for_text(wire.MODEL, "[aria-label=Model]")
    facts = {"r2_test": 0.9810952271676012, "support": 24, "from": "2023-10-05T00:00:00Z"}
    van.publish_card("5A2D", provenance={**facts, "temperature_counts": "1 5 9"})
    page.wait_for_text("R² in test\n0.981", "[aria-label=Model]")
    told = page.evaluate("document.querySelector('[aria-label=Model]').innerText")
    assert "Trained from\n5 Oct 2023" in told
    assert "1 5 9" not in told
    assert told.lower().count("support") == 1
    assert page.evaluate("document.querySelectorAll('.multiples canvas').length") == 3
    assert page.complaints() == []


def test_what_no_sensor_sends_has_no_minutes_to_miss(page: Page, van: Van) -> None:
    """How much warmer it is than it was comes from the hours before, not from readings of this window."""
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    start_s = newest_start(van, "5A2D")
    sound = estimate("5A2D", start_s)
    inputs, weights = {**sound["inputs"], "warming_1h": 0.42}, {**sound["weights"], "warming_1h": -0.01}
    van.publish(estimate("5A2D", start_s, inputs=inputs, weights=weights))
    page.wait_for_text("Warming (1 h)", ".terms")
    page.wait_for_text("0.42 °C × −0.0100", ".terms")
    page.wait_for_text("from the hours before", ".terms")
    assert "0 of 15" not in page.evaluate("document.querySelector('.terms').innerText")
    assert page.complaints() == []


def test_any_gas_unit_and_size_are_shown_as_they_are(page: Page, van: Van) -> None:
    """Labels follow the newest estimate, small numbers keep their digits, and a level is not rounded up."""
    start = newest_start(van, "5A2D")
    tiny: wire.Json = {
        "gas": "NO2",
        "unit": "mg/m³",
        "value": 0.0042,
        "low": 0.0031,
        "high": 0.0053,
        "level": 0.999,
    }
    van.publish(estimate("TINY", start, inputs={"op1": 0.0421, "op2": 0.0312}, **tiny))
    curves = {"humidity": [0.0, 50.0, 100.0], "op1": [0.1, 0.2, 0.3]}
    van.publish_card("TINY", auxiliary="humidity", curves=curves, domain={}, unit="mg/m³")
    show(page, "TINY")
    page.wait_for_text("Last day NO2, mg/m³", ".day-section h2")
    page.wait_for_text("likely between 0.0031 and 0.0053 mg/m³ (99.9 %)", ".now")
    page.wait_for_text("0.04210 ×", ".terms")
    page.wait_for_text("Weights against humidity", "[aria-label=Weights]")
    assert page.evaluate("document.querySelector('.day-section th:nth-child(2)').textContent") == "NO2, mg/m³"
    bare: wire.Json = {"value": 0.0044, "low": None, "high": None}
    van.publish(estimate("TINY", start + WINDOW_S, **{**tiny, **bare, "unit": "ppb"}))
    page.wait_for_text("Last day NO2, ppb", ".day-section h2")
    assert page.evaluate("document.querySelector('.now .interval').innerText") == "no interval"


def test_a_huge_number_neither_breaks_a_line_nor_the_layout(page: Page, van: Van) -> None:
    """Powers of ten for what is large, and the rest of the estimate for what is beyond reckoning."""
    start = newest_start(van, "5A2D")
    van.publish(estimate("HUGE", start - WINDOW_S, value=0.0, low=-1.7e308, high=1.7e308))
    van.publish(estimate("HUGE", start, value=3.21e12, low=-1e90, high=1e90, unit="parts per million"))
    page.wait_for_text("3.21e12", '[data-sensor="HUGE"]')
    assert "NaN" not in page.evaluate("document.querySelector('[data-sensor=HUGE] .spark').outerHTML")
    show(page, "HUGE")
    page.wait_for_text("3.21e12", ".terms .total")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    long = "micrograms per cubic metre of dry air, corrected"
    van.publish(estimate("HUGE", start + WINDOW_S, unit=long))
    page.wait_for_text(long, ".terms .total")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.complaints() == []


def dangerous(van: Van, sensor: str, **changes: Any) -> wire.Json:
    """A window of 120 ppm after the sensor's day."""
    value: wire.Json = {"value": 120.0, "low": 118.0, "high": 122.0}
    return estimate(sensor, newest_start(van, sensor) + WINDOW_S, **value, **changes)


def test_the_air_has_a_level_apart_from_the_data(page: Page, van: Van) -> None:
    """120 ppm is very high at once, with sound data; it comes first, and the title counts it."""
    page.wait_for_text("Carbon monoxide is low.", "h1")
    page.wait_for_text("24\u00a0h average", '[data-sensor="5CB6"] .air')
    page.wait_for_text("Low", '[data-sensor="5CB6"] .air')
    van.publish(dangerous(van, "5CB6"))
    page.wait_for_text("Carbon monoxide is very high at 5CB6.", "h1")
    page.wait_for_text("Very high", '[data-sensor="5CB6"] .air')
    page.wait_for_text("Data OK", '[data-sensor="5CB6"] .state')
    page.wait_for_text("Very high. 15\u00a0min average 120 ppm, above the WHO limit of 87 ppm.", ".troubles")
    assert page.evaluate("document.querySelector('.card').dataset.sensor") == "5CB6"
    assert page.evaluate("document.title") == "(1) RESPIRE"
    van.publish(dangerous(van, "5CB6", quality=4, reasons=["op1_outside_training"]))
    page.wait_for_text("reads very high at 5CB6, but the data are uncertain.", "h1")
    page.wait_for_text("Uncertain", '[data-sensor="5CB6"] .state')
    assert page.evaluate("document.body.innerText").count("not a safety device") == 1
    assert page.complaints() == []


def choose_other(page: Page, sensor: str) -> None:
    """Add another sensor to the chart."""
    page.evaluate(
        f"(list => {{ list.value = {json.dumps(sensor)}; list.dispatchEvent(new Event('change')) }})"
        "(document.querySelector('.comparison select'))"
    )


def test_two_sensors_are_compared_in_one_chart(page: Page, van: Van) -> None:
    """The readout names both; the list offers no sensor of another unit; a click removes it."""
    start = newest_start(van, "5A2D")
    van.publish(estimate("OTHER", start, unit="kOhm"))
    show(page, "5A2D")
    offered = "[...document.querySelectorAll('.comparison option')].map((option) => option.value)"
    page.wait(f"{offered}.includes('van-1/5CB6')")
    assert "van-1/OTHER" not in page.evaluate(offered)
    choose_other(page, "van-1/5CB6")
    page.evaluate("document.querySelector('.day').focus()")
    page.press("ArrowLeft")
    page.wait(f"{SPOKEN}.includes('5CB6: 0.')")
    page.evaluate("document.querySelector('.other').click()")
    page.wait(f"!{SPOKEN}.includes('5CB6')")
    assert page.complaints() == []


def test_the_way_of_a_van_is_a_map(page: Page, van: Van) -> None:
    """Dots at the places of the windows, worse air larger; a name from the network is only text."""
    start = newest_start(van, "5A2D")
    for number, value in enumerate((0.3, 5.0, 60.0, None), 1):
        position = {"lat": 52.5 + number / 100, "lon": 13.4, "spread_m": 3.0, "speed_kmh": 0.0, "fixes": 90}
        site = HOSTILE if number == 1 else "Harbour"
        fields: dict[str, Any] = {
            "value": value,
            "low": value,
            "high": value,
            "position": position,
            "site": site,
        }
        van.publish(estimate("5A2D", start + number * WINDOW_S, **fields))
    show(page, "5A2D")
    page.wait("document.querySelectorAll('.map-place .spot').length === 4")
    levels = (
        "[...document.querySelectorAll('.map-place .spot')].map((spot) => Number(spot.dataset.air)).sort()"
    )
    assert page.evaluate(levels) == [0, 0, 1, 3]
    page.wait_for_text("4 windows of the last day with a position, at 2 sites", ".map")
    page.wait_for_text(HOSTILE, ".map-place")
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.complaints() == []


def test_a_sensor_is_found_by_its_name_and_its_place(page: Page, van: Van) -> None:
    """The search appears where there are many sensors."""
    start = newest_start(van, "5A2D")
    assert not page.evaluate("document.querySelector('[type=search]').checkVisibility()")
    van.publish(estimate("7777", start, site="Harbour"))
    page.wait("document.querySelector('[type=search]').checkVisibility()")
    for words, found in (("harb", ["7777"]), ("5a2d", ["5A2D"]), ("nothing", [])):
        page.evaluate(
            f"(search => {{ search.value = {json.dumps(words)}; search.dispatchEvent(new Event('input')) }})"
            "(document.querySelector('[type=search]'))"
        )
        assert (
            page.evaluate("[...document.querySelectorAll('.card')].map((card) => card.dataset.sensor)")
            == found
        )
    page.wait_for_text("No sensor matches.", ".overview")
    assert page.complaints() == []


def test_two_vans_may_have_sensors_of_one_name(page: Page, van: Van) -> None:
    """Each has its own card, with the name of its van."""
    start = newest_start(van, "5A2D")
    van.send_raw("respire/van-2/status", b"online")
    other = estimate("5A2D", start, agent="van-2", value=7.0, low=6.0, high=8.0)
    van.send_raw("respire/van-2/calibrated/5A2D/co", json.dumps(other).encode())
    page.wait_for_text("5A2D (van-2)", ".cards")
    page.wait_for_text("5A2D (van-1)", ".cards")
    van.send_raw("respire/van-2/calibrated/5A2D/co", json.dumps(estimate("5A2D", start)).encode())
    page.wait_for_text("1 message could not be read.", "footer")
    assert page.complaints() == []


def test_the_limits_are_chosen_and_the_address_keeps_them(page: Page, van: Van) -> None:
    """3 ppm are moderate for WHO and high for India; lines, table and link follow the choice."""
    start = newest_start(van, "5A2D") + WINDOW_S
    van.publish(estimate("5A2D", start, value=3.0, low=2.9, high=3.1))
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    page.wait_for_text("WHO, 24\u00a0h: 4 mg/m³ (3.5 ppm)", "[aria-label=Limits]")
    lines = len(page.evaluate(inked_columns("--limit")))
    assert lines > 100, "the line of WHO's 24 h is near enough to be drawn"
    page.evaluate(
        "(() => { const select = document.querySelector('[name=limits]'); select.value = 'in';"
        " select.dispatchEvent(new Event('change')); })()"
    )
    page.wait_for_text("High", ".now .air")
    page.wait_for_text("India, 8\u00a0h: 2 mg/m³ (1.7 ppm)", "[aria-label=Limits]")
    assert "limits=in" in page.evaluate("location.href")
    page.call("Page.reload")
    page.wait("document.querySelector('[name=limits]')?.value === 'in'")
    page.wait_for_text("India, 8\u00a0h", "[aria-label=Limits]")
    assert page.complaints() == []


def test_a_sound_start_is_not_an_alarm(page: Page, van: Van) -> None:
    """While the history of temperatures grows, the page says until when, and alerts nobody."""
    start = newest_start(van, "5A2D") + WINDOW_S
    for sensor in SENSORS:
        van.publish(estimate(sensor, start, quality=3, reasons=["temperature_history_incomplete"]))
    accurate = wire.iso(start + 3 * 3600)[11:16]
    page.wait_for_text("Warming up: full accuracy from about ", "h1")
    page.wait_for_text(accurate, "h1")
    page.wait_for_text("Warming up", '[data-sensor="5A2D"] .state')
    assert page.evaluate("document.querySelectorAll('.troubles li, .mark.look, .mark.bad').length") == 0
    assert page.evaluate("document.title") == "RESPIRE"


def test_what_cannot_be_relied_on_is_uncertain(page: Page, van: Van) -> None:
    """A poor model, and a sensor that the others of its van contradict."""
    van.publish_card("D3EB", provenance={"r2_test": 0.31})
    page.wait_for_text("The model is poor: R² was 0.31 in its test.", ".troubles")
    start = newest_start(van, "5A2D")
    for sensor, i in itertools.product(SENSORS, range(1, 5)):
        changes: wire.Json = {"value": 2.6, "low": 2.5, "high": 2.7} if sensor == "B5FF" else {}
        van.publish(estimate(sensor, start + i * WINDOW_S, **changes))
    page.wait_for_text("2 of 6 sensors are uncertain.", "h1")
    page.wait_for_text("Disagrees with", '[data-sensor="B5FF"]')
    page.wait_for_text("Data OK", '[data-sensor="5A2D"] .state')


def test_the_day_is_downloaded_as_csv_and_as_a_picture(page: Page, van: Van, tmp_path: Path) -> None:
    """All windows with the numbers as they were published, and a PNG of the chart."""
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    saved = page.download(".save-csv", tmp_path)
    with saved.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    fields = ("sensor", "start", "end", "value", "low", "high", "quality", "seq", "model")
    assert [[row[name] for name in fields] for row in rows] == [
        [str(window[name]) for name in fields] for window in van.past["5A2D"]
    ]
    picture = page.download(".save-png", tmp_path)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 5_000
    assert page.complaints() == []


def test_a_week_is_fetched_when_it_is_asked_for(page: Page, van: Van, tmp_path: Path) -> None:
    """Seven days in the chart, the table and the file; the level of the air stays that of the last day."""
    newest = newest_start(van, "5A2D")
    van.past["5A2D"] = [estimate("5A2D", newest - i * WINDOW_S) for i in reversed(range(7 * 96))]
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    page.evaluate("document.querySelector('.downloads [aria-pressed=false]').click()")
    page.wait("document.querySelector('.day').dataset.points === '672'")
    page.wait_for_text("Last 7 days CO, ppm", ".day-section h2")
    page.evaluate("document.querySelector('.day').focus()")
    page.press("ArrowLeft")
    page.wait(f"{SPOKEN}.startsWith('{time.strftime('%-d %b', time.gmtime(newest))}, ')")
    saved = page.download(".save-csv", tmp_path)
    assert len(saved.read_text().splitlines()) == 1 + 7 * 96
    page.evaluate("document.querySelector('.downloads [aria-pressed=false]').click()")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    assert page.complaints() == []


def test_thirty_days_are_fetched_in_parts(page: Page, van: Van) -> None:
    """2880 windows, more than one request gives; the table has a row for each when it is opened."""
    newest = newest_start(van, "5A2D")
    van.past["5A2D"] = [estimate("5A2D", newest - i * WINDOW_S) for i in reversed(range(30 * 96))]
    show(page, "5A2D")
    page.evaluate("[...document.querySelectorAll('.downloads [aria-pressed]')].at(-1).click()")
    page.wait("document.querySelector('.day').dataset.points === '2880'", timeout_s=60)
    page.wait_for_text("Last 30 days", ".day-section h2")
    page.wait("document.querySelectorAll('.day-section tbody tr').length === 2880")
    assert page.complaints() == []


def test_a_revision_replaces_its_window_and_is_named(page: Page, van: Van) -> None:
    """The chart has one point for the window, and the readout says that it was revised and why."""
    start = newest_start(van, "5A2D")
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    changes: dict[str, Any] = {"value": 0.77, "revision": 1, "supersedes": 0, "cause": "late_readings"}
    van.publish(estimate("5A2D", start, **changes))
    page.wait_for_text("0.77", ".now")
    page.evaluate("document.querySelector('.day').focus()")
    page.press("ArrowLeft")
    page.wait(f"{READOUT}.includes('Revised once, after late readings')")
    assert page.evaluate("document.querySelector('.day').dataset.points") == "96"
    assert page.complaints() == []


def test_a_broker_that_was_never_reached_is_not_called_lost(chromium: Chromium, site: str) -> None:
    """There are no last values; the hint is about the listener."""
    page = chromium.open(f"{site}?broker=ws://127.0.0.1:{free_port()}", width=390, height=844)
    page.wait_for_text("The broker cannot be reached.", "h1")
    page.wait_for_text("WebSockets listener", "[role=status]")
    assert "last values" not in page.evaluate("document.body.innerText")


def test_a_killed_agent_shows_as_offline(page: Page, van: Van) -> None:
    """The last will is enough: no goodbye is needed."""
    page.wait_for_text("All 6 sensors report.", "h1")
    van.die()
    page.wait_for_text("van-1 is offline since ", "h1")
    page.wait_for_text("Offline", '[data-sensor="5A2D"]')
    page.wait_for_text("Offline since", '[data-agent="van-1"] .state')
    assert page.evaluate("document.querySelectorAll('.mark.look, .mark.bad').length") == 0, "grey"
    assert page.complaints() == []


def test_what_is_taken_out_of_service_leaves_the_page(page: Page, van: Van) -> None:
    """Clearing what is retained of a sensor or a van takes it off an open page; it can come back."""
    page.wait_for_text("All 6 sensors report.", "h1")
    van.clear("respire/van-1/calibrated/5A2D/co/latest")
    page.wait_for_text("All 5 sensors report.", "h1")
    van.publish(van.past["5A2D"][-1])
    page.wait_for_text("All 6 sensors report.", "h1")
    page.wait_for_text("Data OK", '[data-sensor="5A2D"]')
    van.clear("respire/van-1/status")
    page.wait_for_text("Unknown", '[data-agent="van-1"]')
    van.clear("respire/van-1/health")
    page.wait("document.querySelector('[data-agent=\"van-1\"]') === null")


def test_a_van_that_stopped_reporting_is_not_called_online(
    chromium: Chromium, site: str, broker: WebBroker, van: Van
) -> None:
    """Its last report is days old though the broker holds it for online: what it said is the last known."""
    van.publish_health(health(time.time() - 3 * 86_400, {}))
    page = chromium.open(f"{site}?broker={broker.websocket}", width=390, height=844)
    page.wait_for_text("No report since", ".troubles")
    page.wait_for_text("No report", '[data-agent="van-1"] .state')
    page.wait_for_text("the van needs attention", "h1")
    page.wait_for_text("last known: all reporting", '[data-agent="van-1"]')
    van.publish_health(health(time.time(), {}))
    page.wait_for_text("Online", '[data-agent="van-1"] .state')
    assert "last known" not in page.evaluate("document.querySelector('.van').innerText")


def test_a_broken_sensor_is_named_with_the_reason_in_words(page: Page, van: Van) -> None:
    """Codes are for programs; the operator reads a sentence, first on the page."""
    start = newest_start(van, "D3EB") + WINDOW_S
    van.publish(estimate("D3EB", start, quality=3, reasons=["op1_outside_training", "stuck_value"]))
    missing: wire.Json = {
        "value": None,
        "low": None,
        "high": None,
        "quality": 9,
        "reasons": ["insufficient_coverage"],
    }
    van.publish(estimate("5092", start, **missing))
    silent = {sensor: sensor_health(time.time(), ("op2",) if sensor == "5092" else ()) for sensor in SENSORS}
    van.publish_health(health(time.time(), silent))
    page.wait_for_text("1 of 6 sensors needs attention, 1 is uncertain.", "h1")
    page.wait_for_text("OP2 is silent.", ".troubles")
    troubles = page.evaluate("[...document.querySelectorAll('.troubles li')].map((li) => li.innerText)")
    van.publish_health(health(time.time(), {"5A2D": sensor_health(time.time(), stuck=("op1",))}))
    page.wait_for_text("Uncertain", '[data-sensor="5A2D"] .state')  # though its value is good
    assert troubles == [
        "5092\nToo few readings in the window. OP2 is silent.",
        "D3EB\nOP1 is outside the range the model was trained on. A channel has not changed at all.",
    ]
    assert page.complaints() == []


def test_a_lost_broker_is_said_and_found_again(page: Page, broker: WebBroker, van: Van) -> None:
    """Nothing is called fine without a connection; the page comes back by itself."""
    page.wait_for_text("All 6 sensors report.", "h1")
    rendered = "getComputedStyle(document.querySelector('[role=status]')).display !== 'none'"
    assert page.evaluate(rendered), "a live region that is not there yet is not spoken"
    broker.stop()
    page.wait_for_text("Disconnected.", "h1")
    page.wait_for_text(f"Disconnected from {broker.websocket}", "[role=status]")
    assert page.evaluate("document.title").startswith("Disconnected")
    page.wait_for_text("Last known: data OK", '[data-sensor="5A2D"] .state')
    page.wait_for_text("Last known: online", '[data-agent="van-1"] .state')
    assert page.evaluate("document.querySelectorAll('main .mark').length") == 0
    assert page.evaluate("getComputedStyle(document.querySelector('.value')).opacity") == "1"
    page.evaluate("location.hash = '#/sensor/van-1/5A2D'")
    page.wait_for_text("Last known: data OK", ".now")
    page.evaluate("(() => { const now = Date.now; Date.now = () => now() + 864e5; })()")
    page.wait_for_text(f"since {time.strftime('%-d %b %Y', time.gmtime())}, ", "[role=status]")  # another day
    broker.start()
    page.wait_for_text("Live", ".link")
    assert page.evaluate("document.querySelector('[role=status]').innerText") == ""


def test_a_sensor_that_falls_silent_has_no_data(page: Page, van: Van) -> None:
    """Two windows without news, here of one second each, and the value no longer passes for new."""
    van.publish(estimate("TEST", time.time() - 1, length_s=1))
    page.wait_for_text("No data", '[data-sensor="TEST"]')
    page.wait_for_text("Nothing new since", ".troubles")


def test_the_van_and_not_this_device_knows_what_time_it_is(
    chromium: Chromium, site: str, broker: WebBroker, van: Van
) -> None:
    """A device three hours slow takes the time from a live report: it says so, and knows what is stale."""
    true_s = time.time() + 3 * 3600 + 60
    fresh = {"seq": 10**9}
    for sensor in SENSORS[1:]:
        van.publish(estimate(sensor, true_s // WINDOW_S * WINDOW_S - WINDOW_S, **fresh))
    page = chromium.open(f"{site}?broker={broker.websocket}", width=390, height=844)
    page.wait_for_text("All 6 sensors report.", "h1")
    van.publish_health(health(true_s, {}))
    page.wait_for_text("This device’s clock is 3 hours slow.", "[role=status]")
    page.wait_for_text("1 of 6 sensors needs attention.", "h1")
    page.wait_for_text("No data", f'[data-sensor="{SENSORS[0]}"]')
    page.wait_for_text("Online", '[data-agent="van-1"] .state')
    van.publish_health(health(time.time(), {}))
    page.wait("document.querySelector('[role=status]').innerText === ''")


def test_a_replay_of_the_past_is_not_called_stale(page: Page, van: Van) -> None:
    """Arrival counts, and the age of the newest window is told."""
    van.publish(estimate("PAST", wire.seconds("2020-02-01T10:15:00Z")))
    page.wait_for_text("Data OK", '[data-sensor="PAST"]')
    page.wait_for_text("years ago", '[data-sensor="PAST"]')


def test_as_many_sensors_as_an_agent_takes_are_shown_and_the_rest_is_told(page: Page, van: Van) -> None:
    """256 sensors, and a sentence at the top for those beyond; their messages are not unreadable."""
    page.wait_for_text("All 6 sensors report.", "h1")
    start = newest_start(van, "5A2D")
    crowd = [f"N{i:03d}" for i in range(250)]
    for sensor in crowd:
        van.send_raw(f"respire/van-1/calibrated/{sensor}/co", json.dumps(estimate(sensor, start)).encode())
    page.wait_for_text("All 256 sensors report.", "h1")
    assert page.evaluate("document.querySelector('.unshown').innerText") == ""
    van.publish_health(
        health(time.time(), {name: sensor_health(time.time()) for name in [*crowd, "X1", "X2"]})
    )
    for sensor in ("X1", "X3"):
        van.publish(estimate(sensor, start))
    page.wait_for_text("3 more sensors are not shown.", ".summary")
    assert "could not be read" not in page.evaluate("document.querySelector('footer').innerText")
    assert page.complaints() == []


def test_hostile_text_is_only_text(page: Page, van: Van) -> None:
    """Markup in an id, a reason or a card is shown as it is written and never becomes part of the page."""
    start = newest_start(van, "5A2D")
    van.publish(
        estimate(HOSTILE, start, quality=3, reasons=[HOSTILE, "constructor"], unit=HOSTILE, model=HOSTILE)
    )
    van.publish_card(HOSTILE, id=HOSTILE, provenance={HOSTILE: HOSTILE})
    turned = "\N{RIGHT-TO-LEFT OVERRIDE}D2A5"  # a name that the agent would not take either
    van.publish(estimate(turned, start))
    van.publish_health(health(time.time(), {turned: sensor_health(time.time())}))
    for payload in (b"\xff\xfe", b"[" * 50_000, b'{"v": 1}', b"x" * 200_000):
        van.send_raw("respire/van-1/calibrated/5A2D/co", payload)
    page.wait_for_text("6 messages could not be read.", "footer")
    assert page.evaluate("document.querySelectorAll('.card').length") == 7
    page.wait_for_text(HOSTILE, ".troubles")
    page.evaluate("document.querySelector('.troubles a').click()")
    page.wait_for_text(HOSTILE, "h1")
    page.wait_for_text(HOSTILE, "[aria-label=Model]")
    assert page.evaluate("[typeof window.pwned, document.querySelectorAll('img').length]") == ["undefined", 0]
    assert page.complaints() == []


def test_the_page_is_read_with_the_keyboard(page: Page, van: Van) -> None:
    """A card opens with Enter, focus goes to the new heading, and arrows read the chart window by window."""
    page.wait_for_text("All 6 sensors report.", "h1")
    page.evaluate("document.querySelector('[data-sensor=\"5A2D\"] a').focus()")
    page.press("Enter")
    page.wait("document.activeElement.matches('h1') && document.activeElement.innerText === '5A2D'")
    page.wait("document.querySelector('.day')?.dataset.points === '96'")
    page.evaluate("document.querySelector('.day').focus()")
    page.press("ArrowLeft")
    start = newest_start(van, "5A2D")
    page.wait(f"{SPOKEN}.startsWith('{wire.iso(start)[11:16]} to')")
    page.press("ArrowLeft")
    page.wait(f"{SPOKEN}.startsWith('{wire.iso(start - WINDOW_S)[11:16]} to')")
    before = page.evaluate(SPOKEN)
    assert page.evaluate("document.querySelector('.readout').innerText") == before
    assert page.evaluate("document.querySelector('.day').role") == "slider"
    van.publish(estimate("5A2D", start + 2 * WINDOW_S, value=7.77))
    page.wait_for_text("7.77", ".now")
    assert page.evaluate(SPOKEN) == before, "what is read does not move with the day"
    for _ in range(2):
        page.press("ArrowRight")
    gap = f"No window from {wire.iso(start + WINDOW_S)[11:16]} to {wire.iso(start + 2 * WINDOW_S)[11:16]}."
    page.wait(f"{SPOKEN} === {json.dumps(gap)}")


def chart_of(page: Page, sensor: str) -> tuple[float, float, float]:
    """Where the chart of a sensor's day is on the screen: left, top and width."""
    show(page, sensor)
    page.wait("document.querySelector('.day').dataset.points === '96'")
    page.evaluate("document.querySelector('.day').scrollIntoView({ block: 'center' })")
    left, top, width = page.evaluate(
        "(({ left, top, width }) => [left, top, width])"
        "(document.querySelector('.day .u-over').getBoundingClientRect())"
    )
    return left, top, width


def shown_h(page: Page) -> float:
    """How many hours the chart shows."""
    from_ms, to_ms = page.evaluate("document.querySelector('.day').dataset.shown").split()
    return (float(to_ms) - float(from_ms)) / 3_600_000


def test_a_finger_reads_the_chart_and_the_readout_stays(page: Page) -> None:
    """A tap reads a window, and the mouse events after it do not clear the readout."""
    left, top, width = chart_of(page, "5A2D")
    page.evaluate(
        "window.mouse = 0; document.querySelector('.day').addEventListener('mousemove', () => window.mouse++)"
    )
    page.tap(left + 0.5 * width, top + 60)
    page.wait("window.mouse > 0")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")
    tapped = page.evaluate(READOUT)
    assert " to " in tapped
    assert "ppm" in tapped
    assert page.evaluate("getComputedStyle(document.querySelector('.day .u-cursor-x')).transform") != "none"
    page.tap(left + 0.8 * width, top + 60)
    page.wait(f"{READOUT} !== {json.dumps(tapped)}")
    assert "ppm" in page.evaluate(READOUT)
    assert page.complaints() == []


def test_the_chart_zooms_and_pans_by_finger_button_and_key(page: Page) -> None:
    """A drag zooms to a part, two fingers spread show less time, and all of it comes back."""
    left, top, width = chart_of(page, "5A2D")
    assert shown_h(page) == 24
    page.tap(left + 0.5 * width, top + 60, to_x=left + 0.75 * width)
    assert shown_h(page) == pytest.approx(6, abs=0.2)
    page.pinch(left + 0.5 * width, top + 60, apart=(60, 120))
    assert shown_h(page) == pytest.approx(3, abs=0.3)
    before = page.evaluate("document.querySelector('.day').dataset.shown")
    page.evaluate("document.querySelector('[aria-label=Earlier]').click()")
    assert page.evaluate("document.querySelector('.day').dataset.shown") < before
    page.evaluate("document.querySelector('.day').focus()")
    page.press("0")
    assert shown_h(page) == 24
    page.press("+")
    assert shown_h(page) == 12
    page.press("Home")
    assert "ppm" in page.evaluate(READOUT), "the first window is brought into view"
    assert page.complaints() == []


READOUT = "document.querySelector('.readout').innerText"
SPOKEN = "document.querySelector('.day').getAttribute('aria-valuetext')"


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_barrier(
    chromium: Chromium, site: str, broker: WebBroker, van: Van, packages: None, dark: bool
) -> None:
    """axe-core looks at the overview and at a sensor with a map and a comparison."""
    axe = (DASHBOARD / "node_modules" / "axe-core" / "axe.min.js").read_text()
    position = {"lat": 52.5, "lon": 13.4, "spread_m": 3.0, "speed_kmh": 0.0, "fixes": 90}
    start = newest_start(van, "5A2D") + WINDOW_S
    van.publish(estimate("5A2D", start, position=position, site="Harbour"))
    van.publish(estimate("7777", start))
    page = chromium.open(f"{site}?broker={broker.websocket}", width=390, height=844, dark=dark)
    page.wait_for_text("Live", ".link")
    page.wait_for_text("7777", ".cards")
    page.evaluate(axe)
    found = "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))"
    assert page.evaluate(found) == []
    show(page, "5A2D")
    page.wait("document.querySelector('.map-place .spot') !== null")
    choose_other(page, "van-1/5CB6")
    assert page.evaluate(found) == []


def test_names_are_told_apart_by_ear_and_links_met_by_a_thumb(page: Page) -> None:
    """The arrow before a link is not read out, no two tables are called the same, and no target is slim."""
    show(page, "5A2D")
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    names = [
        (node["role"]["value"], node["name"]["value"]) for node in tree if "name" in node and "role" in node
    ]
    assert ("link", "All sensors") in names
    summaries = page.evaluate("[...document.querySelectorAll('summary')].map((summary) => summary.innerText)")
    assert len(summaries) == len(set(summaries)) == 2
    targets = "[...document.querySelectorAll('a:not(.skip), summary, button:not(dialog *)')]"
    heights = (
        "filter((target) => target.checkVisibility()).map((target) => target.getBoundingClientRect().height)"
    )
    assert min(page.evaluate(f"{targets}.{heights}")) >= 24


def test_a_sensor_that_was_never_heard_has_a_heading(page: Page) -> None:
    """The page of a sensor is about that sensor from the start, for the ear as well."""
    page.evaluate("location.hash = '#/sensor/van-1/NONE'")
    page.wait("document.activeElement.matches('h1')")
    assert page.evaluate("[...document.querySelectorAll('h1')].map((h1) => h1.innerText)") == ["NONE"]
    page.wait_for_text("No data from this sensor yet.", "main")


@pytest.mark.usefixtures("van")
@pytest.mark.parametrize(("width", "dark"), [(320, True), (1280, False)])
def test_nothing_is_cut_off(chromium: Chromium, site: str, broker: WebBroker, width: int, dark: bool) -> None:
    """No sideways scrolling, on the narrowest phone or on a desk."""
    page = chromium.open(f"{site}?broker={broker.websocket}", width=width, dark=dark)
    page.wait_for_text("All 6 sensors report.", "h1")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    show(page, "5A2D")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.complaints() == []


def test_a_broker_with_a_password_is_signed_in_to(chromium: Chromium, site: str, tmp_path: Path) -> None:
    """The page says that it was refused, the form lets it in, and the address never holds the password."""
    passwords = tmp_path / "passwords"
    passwords.write_text(f"eva:{hashed('sesame')}\n")
    guarded = WebBroker(tmp_path, "allow_anonymous false", f"password_file {passwords}")
    page = chromium.open(f"{site}?broker={guarded.websocket}", width=390, height=844)
    page.wait_for_text("it needs a user and password", "[role=status]")
    page.evaluate("document.querySelector('.link').click()")
    fields = "[...document.querySelectorAll('[name=username], [name=password]')]"
    assert page.evaluate(f"{fields}.map((field) => field.autocomplete)") == ["off", "off"], "a link named it"
    page.evaluate("document.querySelector('[name=username]').value = 'eva'")
    page.evaluate("document.querySelector('[name=password]').value = 'sesame'")
    page.evaluate("document.querySelector('[name=password]').focus()")
    page.press("Enter")
    page.wait_for_text("Live", ".link")
    assert "sesame" not in page.evaluate("location.href")
    page.evaluate("window.before = true; document.querySelector('dialog .primary').click()")
    page.wait("window.before === undefined")
    page.wait_for_text("Live", ".link")  # the password stays when nothing is typed
    page.evaluate("document.querySelector('.forget').click()")
    page.wait_for_text("it needs a user and password", "[role=status]")
    guarded.stop()


@pytest.mark.parametrize("address", ["ws://nosuch host", "ws://nosuch%20host", "ftp://127.0.0.1"])
def test_an_address_that_cannot_be_used_is_said(chromium: Chromium, site: str, address: str) -> None:
    """What the browser will not dial ends in words, not in waiting for ever."""
    page = chromium.open(f"{site}?broker={urllib.parse.quote(address)}", width=390, height=844)
    page.wait_for_text("cannot be used", "[role=status]")
    page.wait_for_text("The broker’s address cannot be used.", "h1")
    assert page.evaluate("document.title") == "No address · RESPIRE"


@pytest.mark.parametrize(
    ("kind", "topic"),
    [("subscribeLiteral", "respire/+/health"), ("subscribePattern", "respire/van-1/response/#")],
)
def test_a_refused_subscription_is_not_live(
    chromium: Chromium, site: str, tmp_path: Path, kind: str, topic: str
) -> None:
    """A broker that lets the page in but not read says so, and the page names the topic."""
    require("mosquitto's dynamic security plugin")
    plugin = dynamic_security_plugin()
    rule = {"acltype": kind, "topic": topic, "allow": False}
    rights = ("publishClientSend", "publishClientReceive", "subscribe", "unsubscribe")
    (tmp_path / "rules.json").write_text(
        json.dumps(
            {
                "defaultACLAccess": dict.fromkeys(rights, True),
                "anonymousGroup": "all",
                "clients": [],
                "groups": [{"groupname": "all", "roles": [{"rolename": "all"}]}],
                "roles": [{"rolename": "all", "acls": [rule]}],
            }
        )
    )
    strict = WebBroker(tmp_path, f"plugin {plugin}", f"plugin_opt_config_file {tmp_path / 'rules.json'}")
    van = Van(strict.port)
    van.connect()
    van.publish(estimate("5A2D", time.time() // WINDOW_S * WINDOW_S))
    page = chromium.open(f"{site}?broker={strict.websocket}", width=390, height=844)
    page.wait_for_text(f"may not read {topic.removesuffix('#')}", "[role=status]")
    page.wait_for_text("Refused", ".link")
    page.wait_for_text("The broker refused access.", "h1")
    van.leave()
    strict.stop()


def hashed(password: str, salt: bytes = b"twelve bytes", rounds: int = 101) -> str:
    """A password as mosquitto keeps it: PBKDF2 with SHA-512, both in base 64."""
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, rounds)
    return f"$7${rounds}${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


@pytest.fixture
def agent(broker: WebBroker, tmp_path: Path) -> Iterator[AgentProcess]:
    """The real agent with one real bundle, connected."""
    bundles = tmp_path / "bundles"
    bundles.mkdir()
    (bundles / "5A2D.bundle").write_bytes(bundle.encode(make_model("5A2D")))
    quick = "[windows]\ngrace_s = 1.0\n[health]\ninterval_s = 0.5\n"
    running = AgentProcess(tmp_path / "agent", broker.port, bundles, quick).start()
    running.wait_for("broker.connected")
    yield running
    running.stop()


def test_the_real_agent_and_the_page_keep_the_same_contract(
    chromium: Chromium, site: str, broker: WebBroker, agent: AgentProcess
) -> None:
    """Readings in, the real agent between, words on the page: value, day, weights, model and health."""
    page = chromium.open(f"{site}?broker={broker.websocket}#/sensor/van-1/5A2D")
    with client(broker) as publisher:
        for topic, payload in two_windows("5A2D"):
            publisher.publish(topic, payload, qos=1).wait_for_publish(10)
    page.wait("document.querySelector('.day')?.dataset.points === '2'", timeout_s=30)
    page.wait_for_text("15 of 15 minutes", ".terms")
    page.wait("document.querySelectorAll('.multiples canvas').length === 3")
    page.wait_for_text("sha256:", "[aria-label=Model]")
    page.evaluate("location.hash = '#/'")
    page.wait_for_text("96 accepted", "[data-agent='van-1']")
    page.wait_for_text("Online", "[data-agent='van-1']")
    agent.kill()
    page.wait_for_text("van-1 is offline since ", "h1")
    assert page.complaints() == []
    again = chromium.open(f"{site}?broker={broker.websocket}#/sensor/van-1/5A2D")
    agent.start()
    again.wait("document.querySelector('.day')?.dataset.points === '2'", timeout_s=30)


def two_windows(sensor: str) -> list[tuple[str, str]]:
    """A reading a minute of every channel: two windows, and the start of a third that closes the second."""
    start_s = time.time() // WINDOW_S * WINDOW_S - 3 * WINDOW_S
    chance = random.Random(5)
    return [
        (
            f"sensors/{sensor}/{channel}",
            json.dumps({"value": chance.gauss(level, 1.0), "at": start_s + 60 * minute}),
        )
        for minute in range(32)
        for channel, level in (("op1", 231.0), ("op2", 206.0), ("temperature", 24.0))
    ]


def test_the_page_is_light_and_loads_nothing_else(page: Page, site: str, built: Path) -> None:
    """Under 300 kB compressed, all of it from where the page itself came from."""
    files = [path for path in built.rglob("*") if path.is_file()]
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in files) < LARGEST_BYTES
    loaded = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    elsewhere = [address for address in loaded if not address.startswith((site, "data:", "blob:"))]
    assert elsewhere == []


def test_the_lock_file_names_no_host() -> None:
    """Any registry, or a mirror of one, can serve what the lock file pins."""
    assert "://" not in (DASHBOARD / "package-lock.json").read_text()


def test_the_logic_of_the_page_holds(packages: None) -> None:
    """The page's own laws: decoders are total, the day is idempotent, the words are right."""
    npm("test")
