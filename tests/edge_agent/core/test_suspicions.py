"""A suspicion becomes a reason of the estimates from its window on, and a problem in health."""

from edge_agent.core.model import Model
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.problems import ADVICE, Problems
from edge_agent.core.suspicions import CODES, DAY_MS, HOUR_MS, Suspicion, Suspicions
from edge_agent.core.windows import Windows
from tests.support.agents import START_MS, readings


def test_estimates_have_the_reason_from_the_window_on_that_it_holds_for(model: Model) -> None:
    day = START_MS // DAY_MS
    suspicions = Suspicions(final_ms=START_MS % DAY_MS - HOUR_MS + 900_000 - DAY_MS)
    suspicions.put(model.sensor, model.id, [Suspicion("drifting", raised=day)])
    pipeline = Pipeline(Windows(), {model.sensor: model}, suspicions=suspicions)
    first, second, *_ = pipeline.replay(readings(minutes=31, sensors=(model.sensor,)))
    assert (first.quality, first.reasons) == (1, ())
    assert (second.quality, second.reasons) == (3, ("drifting",))


def test_what_is_cleared_holds_no_more() -> None:
    suspicions = Suspicions(final_ms=0)
    suspicions.put("5A2D", "first", [Suspicion("disagrees", 3, 5), Suspicion("drifting", 4)])
    held = [suspicions.at("5A2D", "first", day * DAY_MS + HOUR_MS) for day in range(3, 8)]
    assert held == [(), ("disagrees",), ("drifting", "disagrees"), ("drifting",), ("drifting",)]
    assert suspicions.at("5A2D", "second", 5 * DAY_MS) == (), "another model is not under suspicion"


def test_every_suspicion_is_a_problem_with_advice() -> None:
    told = {"silent": [], "stuck": [], "suspected": list(CODES)}
    health = {"clock": "synchronised", "readings": {"waiting_for_clock": 0}, "outbox": {"oldest_s": None}}
    record = {**health, "certificates": {}, "sensors": {"5A2D": told}}
    found = Problems().update(record, free_bytes=10**9, settled=True, now_ms=0)
    assert [(each["code"], each["sensor"]) for each in found] == [(code, "5A2D") for code in CODES]
    assert all(each["advice"] == ADVICE[each["code"]] for each in found)
