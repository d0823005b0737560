"""The agent in this process, its clocks turned by hand, at a real broker."""

import json
import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path
from queue import SimpleQueue

import msgpack  # type: ignore[import-untyped]
from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import MQTTErrorCode

from edge_agent.agent import Agent
from edge_agent.core.messages import Estimate, Reading, decode_estimate
from edge_agent.settings import Settings
from tests.edge_agent.test_clock import HandClock
from tests.support.agents import START_MS
from tests.support.broker import AT_MOST_S, Broker, wait_until

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


class Driven:
    """An agent whose loop we turn, and its van and consumer."""

    def __init__(
        self,
        directory: Path,
        broker: Broker,
        clock: HandClock,
        van: Client,
        max_mb: int = 256,
        commit_messages: int = 1,
    ) -> None:
        (directory / "bundles").mkdir(exist_ok=True)
        self.state, self.clock, self._van = directory / "state", clock, van
        settings = Settings(
            agent="van-1",
            state=self.state,
            bundles=directory / "bundles",
            broker={"port": broker.port},
            journal={
                "commit_messages": commit_messages,
                "durability": "process-crash",
                "max_mb": max_mb,
            },
        )
        self._agent = Agent(settings, clock)
        self._came, self._numbers = SimpleQueue[bytes](), count()
        self._listen_in(self._agent._ingress._client)
        self.acknowledged: list[int] = []  # the numbers of the broker's messages
        self._note_acknowledgements(self._agent._ingress._client)
        self._heard: list[tuple[str, bytes]] = []
        van.on_message = lambda *message: self._heard.append((message[2].topic, message[2].payload))
        van.subscribe("respire/van-1/#", 1)
        self._agent.start()
        self.turn_until(lambda: ("respire/van-1/status", b"online") in self._heard)

    def turn_until(self, condition: object) -> None:
        """Turns until something is the case."""

        def turn() -> object:
            self._agent.step()
            return condition()  # type: ignore[operator]

        wait_until(turn, what="the agent")

    def _listen_in(self, client: Client) -> None:
        """Note what is in the agent's inbox, also before the loop takes it."""
        put = client.on_message

        def put_and_note(client: Client, data: object, message: MQTTMessage) -> None:
            assert put
            put(client, data, message)
            self._came.put(bytes(message.payload))

        client.on_message = put_and_note

    def _note_acknowledgements(self, client: Client) -> None:
        send = client.ack

        def send_and_note(mid: int, qos: int) -> MQTTErrorCode:
            self.acknowledged.append(mid)
            return send(mid, qos)

        client.ack = send_and_note  # type: ignore[method-assign]

    @property
    def connected(self) -> bool:
        """Whether the agent's connection is up, taken notice of or not."""
        return self._agent._ingress.connected

    def turn(self, times: int = 1) -> None:
        """So many whole turns; all that the van has sent is in the inbox before each."""
        for _ in range(times):
            asked = b"turn %d" % next(self._numbers)
            self._van.publish("respire/van-1/request", asked, qos=1)
            while self._came.get(timeout=AT_MOST_S) != asked:
                pass
            self._agent.step()

    def say(self, channel: str, payload: object, sensor: str = "5A2D") -> None:
        """A reading comes in and is on disk."""
        before = self.seen()
        self._van.publish(f"sensors/{sensor}/{channel}", json.dumps(payload), qos=1)
        self.turn_until(lambda: self.seen() > before)

    def seen(self) -> int:
        """How many readings the journal has, held or not."""
        return len(self._journalled("batch")) + len(self._journalled("held"))

    def readings(self) -> list[Reading]:
        """Those that have their time."""
        return self._journalled("batch")

    def history(self) -> list[int]:
        """The numbers of the estimates that are still on disk."""
        with closing(sqlite3.connect(f"file:{self.state}/journal.db?mode=ro", uri=True)) as db:
            return [decode_estimate(payload).seq for (payload,) in db.execute("SELECT payload FROM estimate")]

    def _journalled(self, table: str) -> list[Reading]:
        with closing(sqlite3.connect(f"file:{self.state}/journal.db?mode=ro", uri=True)) as db:
            blobs = db.execute(f"SELECT readings FROM {table}").fetchall()  # noqa: S608
        return [Reading(*each) for (blob,) in blobs for each in msgpack.unpackb(blob)[0]]

    def estimates(self, number: int) -> list[Estimate]:
        """All that was published, once there are so many."""
        self.turn_until(lambda: len(self._estimates()) >= number)
        self.turn(3)
        return self._estimates()

    def _estimates(self) -> list[Estimate]:
        return [
            decode_estimate(payload)
            for topic, payload in self._heard
            if topic == "respire/van-1/calibrated/5A2D/co"
        ]

    def stop(self) -> None:
        self._agent.stop()


def booted(boot: str = "boot-1") -> HandClock:
    """A Pi just after boot: its clock stands years ago, and the kernel knows that it is wrong."""
    return HandClock(wall_ms=1_600_000_000_000, since_boot_ms=30_000, good=False, boot=boot)


def synchronise(driven: Driven) -> None:
    """NTP answers: a step to the truth, START_MS being thirty seconds after boot."""
    driven.clock.step_ms(START_MS - 30_000 + driven.clock.since_boot_ms - driven.clock.wall_ms)
    driven.clock.good = True
    driven.clock.pass_ms(2_000)
    driven.turn(2)


def minute(driven: Driven, number: int) -> None:
    """A minute goes by, with a reading whose sensor knows the time."""
    driven.say("op1", {"value": 231.0 + number, "at": START_MS + number * MINUTE_MS})
    driven.clock.pass_ms(MINUTE_MS)
    driven.turn()
