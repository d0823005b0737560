"""One value for all sensors of a van, what they say of each other, and the score beside a reference."""

import time

from tests.support.browser import Page
from tests.support.dashboard import SENSORS, fixed, newest_start, show
from tests.support.van import CONSENSUS, WINDOW_S, Van, consensus, estimate, health, score, sensor_health

LEFT_OUT = {"5092": "swapped_suspected", "D3EB": "far_from_others"}
SHARES = {sensor: 0.25 for sensor in SENSORS if sensor not in LEFT_OUT}
CARD = ".agreed[data-van='van-1']"


def test_the_van_has_one_value_and_says_who_was_left_out_and_why(page: Page, van: Van) -> None:
    """Uncertain if it is flagged; gone when it is switched off."""
    page.wait_for_text("All 6 sensors report.", "h1")
    assert page.evaluate("document.querySelector('.consensus').checkVisibility()") is False
    start = newest_start(van, "5A2D")
    day = [consensus(start - i * WINDOW_S, SHARES, LEFT_OUT) for i in reversed(range(96))]
    van.past[CONSENSUS], made = day, day[-1]
    van.publish_consensus(made)
    page.wait_for_text("All sensors of van-1 together", CARD)
    words = page.evaluate(f'document.querySelector("{CARD}").innerText')
    assert f"{fixed(made['value'], 2)}\nppm CO\nlikely between" in words
    assert "From 4 of 6 sensors." in words
    assert "5092\nleft out: it does not follow the others: wrong plug, wrong gas or dead cell" in words
    assert "D3EB\nleft out: its value is far from the others" in words
    assert "Data OK" in words
    link = "document.querySelector('.left-out a').getBoundingClientRect().height"
    assert page.evaluate(link) >= 24, "a thumb meets it"
    page.wait_for_text("24\u00a0h average", f"{CARD} .air")  # its day was asked for
    few = consensus(start + WINDOW_S, {"5A2D": 0.5, "5CB6": 0.5}, {}, quality=3, reasons=["few_sensors"])
    van.publish_consensus(few)
    page.wait_for_text("Uncertain", f"{CARD} .state")
    page.wait_for_text("Only two sensors took part: if one of them is wrong", CARD)
    warming = {"quality": 3, "reasons": ["temperature_history_incomplete"]}
    van.publish_consensus(consensus(start + WINDOW_S, SHARES, {}, revision=1, **warming))
    page.wait_for_text("Warming up", f"{CARD} .state")
    van.clear("respire/van-1/consensus/co/latest")
    page.wait("document.querySelector('.agreed') === null")
    assert page.complaints() == []


def test_suspicions_and_scores_are_said_of_the_sensor(page: Page, van: Van) -> None:
    suspected = {sensor: sensor_health(time.time()) for sensor in SENSORS}
    suspected["5092"] = sensor_health(time.time(), suspected=("drifting",))
    van.publish_health(health(time.time(), suspected))
    page.wait_for_text("It drifts away from the other sensors of its van.", ".troubles")
    start = newest_start(van, "5A2D") + WINDOW_S
    van.publish_score(score("5A2D", start, coverage=0.42))
    van.publish(estimate("5A2D", start))
    show(page, "5A2D")
    page.wait_for_text(
        "On average the estimates were 0.021 ppm higher than the reference, over 24 hours until ", ".score"
    )
    page.wait_for_text("42 % of the reference\u2019s values; it should be 90 %", ".score .alert")
    van.clear("respire/van-1/calibrated/5A2D/co/score")
    page.wait("!document.querySelector('.score').checkVisibility()")
    assert page.complaints() == []
