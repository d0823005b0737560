"""The chart of a sensor: what is drawn, and how it is read by finger and key."""

import itertools
import json
from typing import Any

import pytest

from tests.support import van as wire
from tests.support.broker import wait_until
from tests.support.browser import Page
from tests.support.dashboard import READOUT, SPOKEN, choose_other, inked_columns, newest_start, show
from tests.support.van import WINDOW_S, Van, estimate


def test_the_day_is_fetched_from_the_journal_and_drawn(page: Page) -> None:
    """A page just opened asks for the last day, and the line is on the canvas in the accent colour."""
    show(page, "5A2D")
    page.wait("document.querySelector('.day').dataset.points === '96'")
    assert len(page.evaluate(inked_columns("--accent"))) > 500
    page.wait("document.querySelectorAll('.day-section tbody tr').length === 96")
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


def wait_until_shown_h(page: Page, hours: object) -> None:
    """Wait until the chart shows so many hours."""

    def shown_h() -> float:
        from_ms, to_ms = page.evaluate("document.querySelector('.day').dataset.shown").split()
        return (float(to_ms) - float(from_ms)) / 3_600_000

    wait_until(lambda: shown_h() == hours, what=f"{hours} hours")


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
    wait_until_shown_h(page, 24)
    page.tap(left + 0.5 * width, top + 60, to_x=left + 0.75 * width)
    wait_until_shown_h(page, pytest.approx(6, abs=0.2))
    page.pinch(left + 0.5 * width, top + 60, apart=(60, 120))
    wait_until_shown_h(page, pytest.approx(3, abs=0.3))
    before = page.evaluate("document.querySelector('.day').dataset.shown")
    page.evaluate("document.querySelector('[aria-label=Earlier]').click()")
    page.wait(f"document.querySelector('.day').dataset.shown < {json.dumps(before)}")
    page.evaluate("document.querySelector('.day').focus()")
    page.press("0")
    wait_until_shown_h(page, 24)
    page.press("+")
    wait_until_shown_h(page, 12)
    page.press("Home")
    page.wait(f"{READOUT}.includes('ppm')")  # the first window is brought into view
    assert page.complaints() == []
