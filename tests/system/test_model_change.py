"""A change of a sensor's model is announced on its card."""

import json
from pathlib import Path

from paho.mqtt.client import Client

from edge_agent.core import bundle
from edge_agent.core.messages import format_time
from tests.conftest import make_model
from tests.support.agents import Collector, publish, readings
from tests.support.broker import AgentProcess, Broker, client, wait_until


def test_a_change_of_the_model_is_announced_and_remembered(
    agent: AgentProcess, broker: Broker, publisher: Client, collector: Collector, bundles: Path
) -> None:
    """The card names both models, the time, and then the first window; kill -9 changes nothing."""
    cards: list[dict[str, str | None]] = []
    with client(broker) as page:
        page.on_message = lambda *told: cards.append(json.loads(told[2].payload or "null"))
        page.subscribe("respire/van-1/calibrated/5A2D/model", qos=1)
        wait_until(lambda: cards, what="the card")
        first = cards[-1]
        assert (first["previous"], first["first_window"]) == (None, None)
        publish(publisher, readings(minutes=17, sensors=("5A2D",)))
        wait_until(lambda: cards[-1]["first_window"] == "2024-02-01T09:00:00Z", what="its first window")

        (bundles / "5A2D.bundle").write_bytes(bundle.encode(make_model("5A2D", seed=99)))
        agent.hang_up()
        wait_until(lambda: cards[-1]["id"] != first["id"], what="the new card")
        assert (cards[-1]["previous"], cards[-1]["first_window"]) == (first["id"], None)
        later = [r._replace(at_ms=r.at_ms + 3_600_000) for r in readings(minutes=17, sensors=("5A2D",))]
        publish(publisher, later)
        wait_until(lambda: cards[-1]["first_window"], what="the first window of the new model")
        changed = cards[-1]
        wait_until(lambda: len(collector.estimates) >= 3)
        made = {format_time(each.start_ms): each.model for each in collector.estimates}
        assert min(start for start in made if made[start] == changed["id"]) == changed["first_window"]

        agent.kill()
        agent.start()
        agent.wait_for("broker.connected", 2)
        wait_until(lambda: len(cards) >= 5, what="the card after the restart")
        assert cards[-1] == changed
