"""The overview: a card for every sensor, the search, and what leaves the page again."""

import json
import time

from tests.support import van as wire
from tests.support.browser import Page
from tests.support.dashboard import HOSTILE, SENSORS, fixed, newest_start, show
from tests.support.van import WINDOW_S, Van, estimate, health, sensor_health


def test_every_sensor_shows_its_value_interval_and_quality(page: Page, van: Van) -> None:
    """What the estimate says is what the card says."""
    page.wait_for_text("All 6 sensors report.", "h1")
    for sensor in SENSORS:
        newest = van.past[sensor][-1]
        shown = page.evaluate(f"document.querySelector('[data-sensor=\"{sensor}\"]').innerText")
        value, low, high = (fixed(newest[name], 2) for name in ("value", "low", "high"))
        assert value in shown
        assert f"likely between {low} and {high} ppm (90 %)" in shown
        assert "Data OK" in shown
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
