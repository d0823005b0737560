"""The consumer in docs/mqtt.md, as printed: two vans, revisions, restarts of itself and of the broker."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edge_agent.core.messages import Estimate, encode_estimate
from tests.support.broker import AT_MOST_S, Mosquitto, client, wait_until
from tests.support.processes import start

TEXT = (Path(__file__).parents[2] / "docs" / "mqtt.md").read_text()
QUARTER_MS = 900_000


def estimate(agent: str, number: int, revision: int = 0) -> Estimate:
    start_ms = number * QUARTER_MS
    return Estimate(
        "5A2D",
        start_ms,
        start_ms + QUARTER_MS,
        1,
        (),
        {},
        {},
        0.5,
        unit="ppm",
        agent=agent,
        revision=revision,
    )


def send(broker: Mosquitto, *estimates: Estimate) -> bool:
    with client(broker) as vans:
        for each in estimates:
            topic = f"respire/{each.agent}/calibrated/5A2D/co"
            vans.publish(topic, encode_estimate(each), qos=1).wait_for_publish(AT_MOST_S)
    return True


@contextmanager
def consuming(program: Path, broker: Mosquitto, out: Path) -> Iterator[None]:
    """The consumer, from its first connection on; its lines are in `out`."""
    with out.open("ab") as stdout:
        process = start([sys.executable, program, broker.host, str(broker.port)], stdout=stdout)
    yield
    process.terminate()
    process.wait(AT_MOST_S)


def test_it_gets_every_estimate_of_two_vans_over_restarts(tmp_path: Path) -> None:
    """Windows and revisions that came while it, or the broker, was away are printed once."""
    [text] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    program, out = tmp_path / "consumer.py", tmp_path / "out"
    program.write_text(text)
    broker = Mosquitto(tmp_path / "broker")

    def lines() -> list[tuple[str, str]]:
        return [(words[0], words[2][11:16]) for words in map(str.split, out.read_text().splitlines())]

    with consuming(program, broker, out):
        # The first may come before it has subscribed.
        wait_until(lambda: send(broker, estimate("van-1", 0)) and lines(), what="a first line")
        send(broker, estimate("van-2", 0), estimate("van-2", 0), estimate("van-1", 1))
        wait_until(lambda: len(lines()) >= 3, what="three windows")
        broker.stop()
        broker.start()
        send(broker, estimate("van-1", 2))
        wait_until(lambda: len(lines()) >= 4, what="a reconnection")
    before = lines()
    send(broker, estimate("van-1", 3), estimate("van-1", 1, revision=1), estimate("van-2", 3))
    with consuming(program, broker, out):
        wait_until(lambda: len(lines()) >= 7, what="what came meanwhile")
    broker.stop()
    assert before == [("van-1", "00:00"), ("van-2", "00:00"), ("van-1", "00:15"), ("van-1", "00:30")]
    assert lines()[4:] == [("van-1", "00:45"), ("van-1", "00:15"), ("van-2", "00:45")]
