"""What the tests of the dashboard share: a broker for browsers, and ways to look at the page."""

import contextlib
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from deploy.demo.page import DASHBOARD
from deploy.demo.processes import free_port
from tests.support import van as wire
from tests.support.broker import Mosquitto
from tests.support.browser import Page
from tests.support.processes import run_program
from tests.support.van import WINDOW_S, Van, estimate, health, sensor_health

SENSORS = ("1FEA", "5092", "5A2D", "5CB6", "B5FF", "D3EB")
HOSTILE = "<img src=x onerror=window.pwned=1>"
READOUT = "document.querySelector('.readout').innerText"
SPOKEN = "document.querySelector('.day').getAttribute('aria-valuetext')"


def npm(*arguments: str) -> None:
    done = run_program(["npm", *arguments], cwd=DASHBOARD, capture_output=True, text=True)
    assert done.returncode == 0, f"npm {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}"


class QuietFiles(http.server.SimpleHTTPRequestHandler):
    """Static files, without a line on stderr for each."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def serving(handler: Callable[..., http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """A web server on loopback; its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


class WebBroker(Mosquitto):
    """A mosquitto that browsers can speak to."""

    def __init__(self, directory: Path, *lines: str) -> None:
        port = free_port()
        self.websocket = f"ws://127.0.0.1:{port}"
        super().__init__(directory, f"listener {port} 127.0.0.1", "protocol websockets", *lines)


def full_van(port: int) -> Van:
    """An online van with one good day of six sensors in its journal."""
    van = Van(port)
    van.connect()
    newest_s = time.time() // WINDOW_S * WINDOW_S - WINDOW_S
    for sensor in SENSORS:
        van.past[sensor] = [estimate(sensor, newest_s - i * WINDOW_S) for i in reversed(range(96))]
        van.publish_card(sensor)
        van.publish(van.past[sensor][-1])
    van.publish_health(health(time.time(), {sensor: sensor_health(time.time()) for sensor in SENSORS}))
    return van


def newest_start(van: Van, sensor: str) -> float:
    newest = van.past[sensor][-1]["start"]
    return wire.seconds(str(newest))


def date(at_s: float) -> str:
    """A date as the page writes it, in British English: Sep is Sept there."""
    return time.strftime("%-d %b %Y", time.gmtime(at_s)).replace("Sep ", "Sept ")


def fixed(value: float, decimals: int) -> str:
    """A number as JavaScript writes it: Python would round 21.25 to 21.2."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


def show(page: Page, sensor: str) -> None:
    """Look at one sensor, once its day has arrived, with the table of its windows open."""
    page.evaluate(f"location.hash = '#/sensor/van-1/' + encodeURIComponent({json.dumps(sensor)})")
    page.wait_for_text(sensor, "h1")
    page.wait("document.querySelector('.day')?.dataset.points > 0")
    page.evaluate("document.querySelector('.day-section details').open = true")
    page.wait("document.querySelector('.day-section tbody tr') !== null")


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


def choose_other(page: Page, sensor: str) -> None:
    """Add another sensor to the chart."""
    page.evaluate(
        f"(list => {{ list.value = {json.dumps(sensor)}; list.dispatchEvent(new Event('change')) }})"
        "(document.querySelector('.comparison select'))"
    )
