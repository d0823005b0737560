"""For every reader: no barrier that axe-core knows, names by ear, targets for a thumb, nothing cut off."""

import json
from typing import Any

import pytest

from deploy.demo.page import DASHBOARD
from tests.support.browser import Chromium, Page
from tests.support.dashboard import WebBroker, choose_other, newest_start, show
from tests.support.van import WINDOW_S, Van, consensus, estimate, score


def test_axe_finds_no_barrier(page: Page, van: Van, packages: None) -> None:
    """axe-core looks at the overview and at a sensor with a map and a comparison, in light and dark."""
    axe = (DASHBOARD / "node_modules" / "axe-core" / "axe.min.js").read_text()
    position = {"lat": 52.5, "lon": 13.4, "spread_m": 3.0, "speed_kmh": 0.0, "fixes": 90}
    start = newest_start(van, "5A2D") + WINDOW_S
    van.publish(estimate("5A2D", start, position=position, site="Harbour"))
    van.publish(estimate("7777", start))
    van.publish_consensus(consensus(start, {"5A2D": 0.5, "5CB6": 0.5}, {"7777": "no_interval", "X": "alone"}))
    van.publish_score(score("5A2D", start, coverage=0.5))
    page.wait_for_text("X", ".left-out")
    page.wait_for_text("7777", ".cards")
    page.evaluate(axe)
    assert barriers(page) == []
    show(page, "5A2D")
    page.wait("document.querySelector('.map-place .spot') !== null")
    choose_other(page, "van-1/5CB6")
    assert barriers(page) == []


def barriers(page: Page) -> Any:
    """What axe-core finds, with an example of each; in dark only colours can differ."""
    found = []
    for scheme, rules in (("dark", "color-contrast"), ("light", None)):
        page.call(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        chosen = json.dumps({"runOnly": [rules]} if rules else {})
        pairs = "({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html])"
        found += page.evaluate(f"axe.run({chosen}).then({pairs})")
    return found


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


@pytest.mark.usefixtures("van")
def test_a_device_without_a_language_shows_the_page(chromium: Chromium, site: str, broker: WebBroker) -> None:
    """WebKitGTK calls the language of such a system "C", which is none."""
    page = chromium.open("about:blank")
    none = "Object.defineProperty(navigator, 'language', { value: 'C', configurable: true });"
    page.call("Page.addScriptToEvaluateOnNewDocument", {"source": none})
    page.call("Page.navigate", {"url": f"{site}?broker={broker.websocket}"})
    page.wait_for_text("All 6 sensors report.", "h1")
    assert page.complaints() == []


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
