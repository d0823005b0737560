"""One sensor in full: how its value is made, its model, and where it was."""

import functools
import os
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.page import DASHBOARD
from tests.support import van as wire
from tests.support.broker import wait_until
from tests.support.browser import Chromium, Page
from tests.support.dashboard import HOSTILE, QuietFiles, WebBroker, fixed, newest_start, serving, show
from tests.support.processes import run_program
from tests.support.van import WINDOW_S, Van, estimate


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
    page.wait_for_text("7.77", ".day-section tbody")


def test_inputs_weights_and_model_are_shown(page: Page, van: Van) -> None:
    """The detail tells how the value is made: readings times weights, coverage, domain and model."""
    show(page, "5A2D")
    newest = van.past["5A2D"][-1]
    page.wait_for_text(f"{fixed(newest['inputs']['op1'], 1)} × 0.0", ".terms")
    page.wait_for_text("14 of 15 minutes", ".terms")
    page.wait_for_text(f"now {fixed(newest['inputs']['temperature'], 1)} °C", "[aria-label=Weights]")
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


def test_a_tile_server_is_asked_only_if_the_page_was_built_with_one(
    chromium: Chromium, broker: WebBroker, van: Van, packages: None, tmp_path: Path
) -> None:
    """Its pictures lie under the track, with its attribution; the policy allows that server alone."""
    asked: list[str] = []

    class Tiles(QuietFiles):
        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "image/svg+xml")
            self.end_headers()
            self.wfile.write(b"<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>")

    position = {"lat": 52.5, "lon": 13.4, "spread_m": 3.0, "speed_kmh": 0.0, "fixes": 90}
    van.publish(estimate("5A2D", newest_start(van, "5A2D") + WINDOW_S, position=position))
    with serving(Tiles) as tiles, serving(functools.partial(QuietFiles, directory=str(tmp_path))) as site:
        settings = {"VITE_TILES": f"{tiles}{{z}}/{{x}}/{{y}}.svg", "VITE_TILES_BY": HOSTILE}
        build = ["npx", "vite", "build", "--outDir", str(tmp_path / "page")]
        run_program(build, cwd=DASHBOARD, env={**os.environ, **settings}, capture_output=True, check=True)
        page = chromium.open(f"{site}page/?broker={broker.websocket}#/sensor/van-1/5A2D")
        page.wait_for_text(HOSTILE, ".tiles-by")
        wait_until(lambda: len(asked) > 3, what="requests for tiles")
        chromium.close_tabs()
    zoom, column, row = asked[0].strip("/").removesuffix(".svg").split("/")
    shares = [int(place) / 2 ** int(zoom) for place in (column, row)]
    assert shares == pytest.approx([0.5372, 0.3281], abs=1e-3), "of the world, from the north-west"


def test_a_sensor_that_was_never_heard_has_a_heading(page: Page) -> None:
    """The page of a sensor is about that sensor from the start, for the ear as well."""
    page.evaluate("location.hash = '#/sensor/van-1/NONE'")
    page.wait("document.activeElement.matches('h1')")
    assert page.evaluate("[...document.querySelectorAll('h1')].map((h1) => h1.innerText)") == ["NONE"]
    page.wait_for_text("No data from this sensor yet.", "main")
