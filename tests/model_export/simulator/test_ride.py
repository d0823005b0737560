"""A whole ride over a real broker: every reading arrives, with a time that an agent accepts."""

import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from paho.mqtt.client import Client

from edge_agent.core.errors import RespireError
from edge_agent.core.messages import Decoder, Reading, parse_time
from edge_agent.core.windows import Outcome, Windows
from model_export.simulator.campaign import SENSORS
from model_export.simulator.live import PER_CHANNEL, Sent
from model_export.simulator.ride import Ride, ride
from tests.support.broker import AT_MOST_S, Broker, client, wait_until


class Listener:
    """Decodes what arrives as the agent does, with the wall clock of its arrival."""

    def __init__(self, subscriber: Client) -> None:
        self.readings: list[tuple[int, Reading]] = []
        self.messages = 0
        ready = threading.Event()
        subscriber.on_message = self._received
        subscriber.on_subscribe = lambda *_: ready.set()
        subscriber.subscribe("sensors/#", qos=1)
        assert ready.wait(AT_MOST_S)

    def _received(self, _client: Client, _data: object, message: object) -> None:
        now_ms = time.time_ns() // 1_000_000
        decoded = Decoder().decode(message.topic, message.payload, now_ms)  # type: ignore[attr-defined]
        self.readings += [(now_ms, reading) for reading in decoded]
        self.messages += 1


@pytest.mark.parametrize(("template", "messages"), [("sensors/{sensor}", 180), (PER_CHANNEL, 540)])
def test_every_reading_arrives_and_an_agent_takes_them_all(
    broker: Broker, tmp_path: Path, template: str, messages: int
) -> None:
    """Half an hour in four seconds: 30 minutes of 6 packages, no reading late, none in the future.

    A ride that a busy machine holds up ends before all is sent, so there is more than one.
    """
    assert any(rode(broker, tmp_path, template) >= messages - 2 * messages // 30 for _ in range(3))


def rode(broker: Broker, tmp_path: Path, template: str) -> int:
    """How many messages of a ride arrived, and with them all that was sent."""
    truth = tmp_path / "truth.csv"
    way = Ride(broker.host, broker.port, speed_up=450.0, seconds=4.0, template=template, truth=truth)
    with client(broker) as subscriber:
        listener = Listener(subscriber)
        sent = ride(way, threading.Event())
        wait_until(lambda: listener.messages >= sent.sent)
    assert sent.acknowledged == sent.sent == listener.messages
    windows = Windows()
    outcomes = Counter(windows.add(reading, now_ms) for now_ms, reading in listener.readings)
    assert outcomes == {Outcome.ACCEPTED: len(listener.readings)}
    assert {window.sensor for window in windows.close_all()} == {*SENSORS}
    header, *rows = truth.read_text().splitlines()
    assert header == "timestamp,co"
    stamps = sorted({reading.at_ms for _, reading in listener.readings})
    assert [parse_time(row.split(",")[0]) for row in rows] == stamps[: len(rows)]
    assert len(stamps) - len(rows) <= 1, "the last minute may be sent in part"
    return listener.messages


def test_a_ride_outlives_its_broker(durable_broker: Broker) -> None:
    """The broker restarts during the ride; all messages are acknowledged in the end."""
    stop = threading.Event()
    way = Ride(durable_broker.host, durable_broker.port, speed_up=600.0, max_inflight=5)
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(ride(way, stop)), daemon=True)
    with client(durable_broker) as subscriber:
        listener = Listener(subscriber)
        thread.start()
        wait_until(lambda: listener.messages > 20)
    durable_broker.stop()
    durable_broker.start()
    with client(durable_broker) as subscriber:
        listener = Listener(subscriber)
        wait_until(lambda: listener.messages > 20)
        stop.set()
        thread.join(AT_MOST_S)
    (sent,) = results
    assert sent.acknowledged == sent.sent > 40  # type: ignore[attr-defined]


def test_a_ride_ends_in_time_although_its_broker_is_gone(durable_broker: Broker) -> None:
    """A van with seconds to go does not wait for ever for a broker that has died.

    On a busy machine the ride may end before the broker does.
    """
    rides = (ride_without_broker(durable_broker) for _ in range(3))
    assert any(0 < sent.sent - sent.acknowledged <= 5 for sent in rides)


def ride_without_broker(durable_broker: Broker) -> Sent:
    """A ride whose broker stops after the first messages."""
    way = Ride(
        durable_broker.host,
        durable_broker.port,
        speed_up=600.0,
        seconds=4.0,
        max_inflight=5,
        last_answers_s=0.5,
    )
    results: list[Sent] = []
    thread = threading.Thread(target=lambda: results.append(ride(way, threading.Event())), daemon=True)
    with client(durable_broker) as subscriber:
        listener = Listener(subscriber)
        thread.start()
        wait_until(lambda: listener.messages > 5)
    durable_broker.stop()
    thread.join(AT_MOST_S)
    durable_broker.start()
    (sent,) = results
    return sent


def test_a_truth_that_cannot_be_written_is_named_before_anything_is_sent(
    broker: Broker, tmp_path: Path
) -> None:
    with pytest.raises(RespireError, match="expected a file to write, got Is a directory; name another"):
        ride(Ride(broker.host, broker.port, truth=tmp_path), threading.Event())
