"""The past of a sensor: a day, a week or a month from the agent, each window once."""

from pathlib import Path

from tests.support.browser import Chromium, Page
from tests.support.dashboard import SENSORS, SPOKEN, WebBroker, date, newest_start, show
from tests.support.van import WINDOW_S, Van, estimate


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


def test_a_live_estimate_arrives_once_however_often_it_is_sent(page: Page, van: Van) -> None:
    """(sensor, start, revision) is the key: duplicates and old revisions change nothing."""
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    start = newest_start(van, "5A2D") + WINDOW_S
    revised = estimate("5A2D", start, value=7.77, low=7.5, high=8.0, revision=1)
    for message in (revised, estimate("5A2D", start), revised, van.past["5A2D"][-1], van.past["5A2D"][40]):
        van.publish(message)
    page.wait_for_text("7.77", ".now")
    page.wait_for_text("7.77", ".day-section tbody")
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
    page.wait_for_text("7.77", ".day-section tbody")
    assert "6.66" not in page.evaluate("document.querySelector('.day-section tbody').textContent")


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
    page.wait(f"{SPOKEN}.startsWith('{date(newest)[:-5]}, ')")
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
    page.wait("document.querySelector('.day').dataset.points === '2880'")
    page.wait_for_text("Last 30 days", ".day-section h2")
    page.wait("document.querySelectorAll('.day-section tbody tr').length === 2880")
    assert page.complaints() == []
