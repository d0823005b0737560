"""Pictures of the dashboard for eyes: every state on a phone and a desk, in light and dark.

    python -m tests.bench.screenshots OUT [SCENE...]

The page is the built one, in a real Chromium, with a real broker and a van that speaks the wire contract.
"""

import functools
import itertools
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from deploy.demo.page import DASHBOARD
from tests.support.browser import Chromium, Page
from tests.support.dashboard import (
    SENSORS,
    QuietFiles,
    WebBroker,
    choose_other,
    full_van,
    newest_start,
    serving,
)
from tests.support.van import CONSENSUS, WINDOW_S, Json, Van, consensus, estimate, score

SCREENS = {"phone": (390, 844), "desk": (1280, 860)}
SITES = ("Charbagh", "Hazratganj", "Alambagh", "Indira Nagar")


def warm_up(van: Van) -> None:
    """The van started an hour ago."""
    newest = newest_start(van, "5A2D")
    for sensor in SENSORS:
        flagged: Json = {"quality": 3, "reasons": ["temperature_history_incomplete"]}
        van.past[sensor] = [
            estimate(sensor, newest - i * WINDOW_S, revision=1, **flagged) for i in reversed(range(4))
        ]
        van.publish(van.past[sensor][-1])


def be_well(van: Van) -> None:
    """Nothing to add."""


def be_poor(van: Van) -> None:
    """One model is poor, and its interval is wide."""
    van.publish_card("D3EB", provenance={"r2_test": 0.31})
    wide: list[Json] = [
        {**each, "low": each["value"] - 0.9, "high": each["value"] + 0.9, "revision": 1}
        for each in van.past["D3EB"]
    ]
    van.past["D3EB"] = wide
    van.publish(wide[-1])


def rise(van: Van) -> None:
    """12 ppm at one sensor, within an hour."""
    start, values = newest_start(van, "5CB6"), (1.4, 3.8, 7.9, 12.0)
    for i, value in enumerate(values, 1):
        changes: Json = {"value": value, "low": value - 0.3, "high": value + 0.3}
        van.publish(estimate("5CB6", start + (i - 4) * WINDOW_S, revision=1, **changes))


def agree(van: Van) -> None:
    """One value for the van; two sensors are left out, and a reference is beside it."""
    start = newest_start(van, "5A2D")
    left_out = {"5092": "swapped_suspected", "D3EB": "far_from_others"}
    shares = {sensor: 0.25 for sensor in SENSORS if sensor not in left_out}
    van.publish(estimate("5092", start, revision=1, quality=3, reasons=["swapped_suspected"]))
    van.past[CONSENSUS] = [consensus(start - i * WINDOW_S, shares, left_out) for i in reversed(range(96))]
    van.publish_consensus(van.past[CONSENSUS][-1])
    for sensor, coverage in (("5A2D", 0.885), ("5CB6", 0.42)):
        van.publish_score(score(sensor, start + WINDOW_S, coverage=coverage))


def go_off(van: Van) -> None:
    """Its last will says so."""
    van.die()


def drive(van: Van) -> None:
    """Four sites in a day, with bad air on the way between two of them."""
    day = van.past["5A2D"]
    for i, each in enumerate(day):
        stop, step = divmod(i, 24)
        share = max(0.0, (step - 18) / 6)  # it leaves after four and a half hours
        places = [(26.833, 80.923), (26.850, 80.946), (26.812, 80.902), (26.876, 80.996), (26.833, 80.923)]
        (lat, lon), (to_lat, to_lon) = places[stop], places[stop + 1]
        bend = 0.006 * math.sin(math.pi * share)
        each["position"] = {
            "lat": lat + share * (to_lat - lat) + bend + 0.0003 * math.sin(7 * i),
            "lon": lon + share * (to_lon - lon) - bend + 0.0003 * math.cos(5 * i),
            "spread_m": 4.0,
            "speed_kmh": 30.0 if share else 0.0,
            "fixes": 90,
        }
        each["site"] = None if share else SITES[stop]
        peak = {44: 4.2, 45: 12.6, 46: 36.0, 47: 9.8}.get(i)
        each.update({"value": peak, "low": peak - 0.3, "high": peak + 0.3} if peak else {})
        each["revision"] = 1
    van.publish(day[-1])


def remember(van: Van) -> None:
    """Thirty days, with a day off and a week of bad evenings."""
    newest = newest_start(van, "5A2D")
    month = [estimate("5A2D", newest - i * WINDOW_S) for i in reversed(range(30 * 96))]
    for i, each in enumerate(month):
        worse = 1 + 2.2 * max(0.0, math.sin(i / 96 / 30 * 3 * math.pi))
        each.update({name: round(each[name] * worse, 4) for name in ("value", "low", "high")})
    van.past["5A2D"] = [each for i, each in enumerate(month) if not 12 * 96 <= i < 13 * 96 + 30]


def show_month(page: Page) -> None:
    page.evaluate("[...document.querySelectorAll('.downloads [aria-pressed]')].at(-1).click()")
    page.wait("Number(document.querySelector('.day').dataset.points) > 2700", timeout_s=60)


def show_map(page: Page) -> None:
    page.wait("document.querySelectorAll('.map-place .spot').length === 96")


def compare(page: Page) -> None:
    choose_other(page, "van-1/5CB6")
    page.evaluate("document.querySelector('.day').focus()")
    for _ in range(9):
        page.press("ArrowLeft")


@dataclass(frozen=True, slots=True)
class Scene:
    """A state of the van, the sensor to look at, if any, what to wait for and what to do then."""

    prepare: Callable[[Van], None]
    headline: str = ""
    sensor: str = ""
    act: Callable[[Page], None] = lambda page: None


SCENES = {
    "warming": Scene(warm_up, "Warming up"),
    "well": Scene(be_well, "All 6 sensors report."),
    "poor": Scene(be_poor, "1 of 6 sensors is uncertain."),
    "12ppm": Scene(rise, "Carbon monoxide is high at 5CB6."),
    "consensus": Scene(agree, "1 of 6 sensors is uncertain."),
    "score": Scene(agree, sensor="5CB6"),
    "off": Scene(go_off, "van-1 has been offline"),
    "sensor": Scene(rise, sensor="5CB6"),
    "map": Scene(drive, sensor="5A2D", act=show_map),
    "month": Scene(remember, sensor="5A2D", act=show_month),
    "two": Scene(be_well, sensor="5A2D", act=compare),
}


def take(chromium: Chromium, site: str, name: str, scene: Scene, out: Path) -> None:
    """Four pictures of one scene."""
    with tempfile.TemporaryDirectory() as place:
        broker = WebBroker(Path(place))
        van = full_van(broker.port)
        scene.prepare(van)
        for (screen, (width, height)), dark in itertools.product(SCREENS.items(), (False, True)):
            route = f"#/sensor/van-1/{scene.sensor}" if scene.sensor else ""
            address = f"{site}?broker={broker.websocket}{route}"
            page = chromium.open(address, width=width, height=height, dark=dark)
            if scene.sensor:
                page.wait("Number(document.querySelector('.day')?.dataset.points) > 90")
            page.wait_for_text(scene.headline, "h1")
            scene.act(page)
            settle(page)
            page.screenshot(out / f"{name}-{screen}-{'dark' if dark else 'light'}.png", whole=True)
            assert page.complaints() == [], page.complaints()
            chromium.close_tabs()
        van.leave()
        broker.stop()


def strip(out: Path, mode: str, cuts: dict[str, int]) -> None:
    """Three phones side by side, for the documents; `cuts` says how far down each begins."""
    phones = [(Image.open(out / f"{name}-phone-{mode}.png"), top) for name, top in cuts.items()]
    parts = [phone.crop((0, top, phone.width, top + 1500)) for phone, top in phones]
    sheet = Image.new("RGB", (sum(part.width for part in parts) + 80, 1500), "#8a8f91")
    for i, part in enumerate(parts):
        sheet.paste(part, (i * (part.width + 40), 0))
    smaller = sheet.resize((sheet.width * 2 // 5, sheet.height * 2 // 5))
    smaller.save(out / f"dashboard-phone-{mode}.webp", quality=70)


def settle(page: Page) -> None:
    """Wait until every card has its day and nothing has been drawn for a while."""
    shown = "document.querySelector('main').innerHTML"
    before, quiet_since = "", time.monotonic()
    while time.monotonic() - quiet_since < 0.7:
        if (now := page.evaluate(shown)) != before:
            before, quiet_since = now, time.monotonic()
        time.sleep(0.1)


def main(out: Path, names: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    files = functools.partial(QuietFiles, directory=str(DASHBOARD / "dist"))
    with (
        tempfile.TemporaryDirectory() as profile,
        Chromium(Path(profile)) as chromium,
        serving(files) as site,
    ):
        for name in names or SCENES:
            take(chromium, site, name, SCENES[name], out)
            print(name, flush=True)
    if not names:
        strip(out, "light", {"12ppm": 0, "two": 700, "map": 1700})
        strip(out, "dark", {"warming": 0, "off": 0, "month": 0})


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
