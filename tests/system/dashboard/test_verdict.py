"""The headline: the air, the data and the vans, each in its own words."""

import itertools
import time
from typing import Any

from tests.support import van as wire
from tests.support.browser import Chromium, Page
from tests.support.dashboard import SENSORS, WebBroker, inked_columns, newest_start, show
from tests.support.van import WINDOW_S, Van, estimate, health, sensor_health


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


def test_a_killed_agent_shows_as_offline(page: Page, van: Van) -> None:
    """The last will is enough: no goodbye is needed."""
    page.wait_for_text("All 6 sensors report.", "h1")
    van.die()
    page.wait_for_text("van-1 has been offline since ", "h1")
    page.wait_for_text("Offline", '[data-sensor="5A2D"]')
    page.wait_for_text("Offline since", '[data-agent="van-1"] .state')
    assert page.evaluate("document.querySelectorAll('.mark.look, .mark.bad').length") == 0, "grey"
    assert page.complaints() == []


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


def test_a_sensor_that_falls_silent_has_no_data(page: Page, van: Van) -> None:
    """Two windows without news, here of one second each, and the value no longer passes for new."""
    van.publish(estimate("TEST", time.time() - 1, length_s=1))
    page.wait_for_text("No data", '[data-sensor="TEST"]')
    page.wait_for_text("Nothing new since", ".troubles")


def test_the_van_and_not_this_device_knows_what_time_it_is(
    chromium: Chromium, site: str, broker: WebBroker, van: Van
) -> None:
    """A device three hours slow takes the time from a live report: it says so, and knows what is stale."""

    def true_s() -> float:
        return time.time() + 3 * 3600 + 60

    fresh = {"seq": 10**9}
    for sensor in SENSORS[1:]:
        van.publish(estimate(sensor, true_s() // WINDOW_S * WINDOW_S - WINDOW_S, **fresh))
    page = chromium.open(f"{site}?broker={broker.websocket}", width=390, height=844)
    page.wait_for_text("All 6 sensors report.", "h1")
    van.publish_health(health(true_s(), {}))
    page.wait_for_text("This device’s clock is 3 hours slow.", "[role=status]")
    page.wait_for_text("1 of 6 sensors needs attention.", "h1")
    page.wait_for_text("No data", f'[data-sensor="{SENSORS[0]}"]')
    page.wait_for_text("Online", '[data-agent="van-1"] .state')
    van.publish_health(health(time.time(), {}))
    page.wait("document.querySelector('[role=status]').innerText === ''")


def test_a_replay_of_the_past_is_called_so_and_is_not_stale(page: Page, van: Van) -> None:
    """Arrival counts, and the time of the newest window is told."""
    van.publish(estimate("PAST", wire.seconds("2020-02-01T10:15:00Z")))
    page.wait_for_text("Data OK", '[data-sensor="PAST"]')
    page.wait_for_text("Replay: measured 1 Feb 2020, 10:30", '[data-sensor="PAST"]')
    page.wait_for_text("A replay: the newest window is of 1 Feb 2020, 10:30.", ".summary")
