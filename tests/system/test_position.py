"""Positions over a real broker: in estimates, in health, retained, and the same after a kill."""

import json
import random
import sys
from pathlib import Path

from paho.mqtt.client import Client

from edge_agent.bundles import Bundles
from edge_agent.core.messages import Reading, decode_estimate, encode_estimate
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.places import Position, Site
from edge_agent.core.positions import Fix, Positions
from edge_agent.core.units import Conditions
from edge_agent.core.windows import Windows
from tests.support.agents import QUICK, START_MS, Collector, health, publish, readings, retained
from tests.support.broker import AT_MOST_S, AgentProcess, Broker, client, wait_until
from tests.support.processes import run_program

T = Site("T", 52.5163, 13.3777, 100.0)
SITE = '[[sites]]\nname = "T"\nlatitude = 52.5163\nlongitude = 13.3777\n'
MOVING = f'[position]\ntopic = "van/position"\n{SITE}{QUICK}'


def track(minutes: int, seed: int = 1) -> list[Fix]:
    """A van that stands at site T for twenty minutes and then drives north at 30 km/h."""
    chance = random.Random(seed)
    return [
        Fix(
            START_MS + second * 1000,
            T.lat + max(0, second - 1_200) * 7.5e-5 + chance.gauss(0, 1e-5),
            T.lon + chance.gauss(0, 1e-5),
            30.0 if second > 1_200 else 0.5,
        )
        for second in range(0, minutes * 60, 10)
    ]


def drive(publisher: Client, fixes: list[Fix]) -> None:
    for at_ms, lat, lon, speed_kmh in fixes:
        payload = json.dumps({"lat": lat, "lon": lon, "at": at_ms, "speed_kmh": speed_kmh})
        publisher.publish("van/position", payload, qos=1).wait_for_publish(AT_MOST_S)


def expected(stream: list[Reading], fixes: list[Fix], bundles: Path) -> dict[tuple[str, int], bytes]:
    """What the pure part makes of the same readings and fixes."""
    positions = Positions([T])
    for fix in fixes:
        positions.add(fix, fix.at_ms)
    pipeline = Pipeline(Windows(grace_ms=1_000), Bundles(bundles).models, "van-1", place=positions.place)
    return {(e.sensor, e.start_ms): encode_estimate(e) for e in pipeline.replay(stream)}


def test_a_kill_changes_no_bit_of_a_position(tmp_path: Path, durable_broker: Broker, bundles: Path) -> None:
    """Three windows with a kill -9 in each: standing at a site, leaving it, on the way."""
    fixes, stream = track(46), readings(minutes=46, sensors=("5A2D",))
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, MOVING).start()
    agent.wait_for("broker.connected")
    with client(durable_broker) as van, client(durable_broker) as consumer:
        collector = Collector(consumer)
        for connected, minute in enumerate(range(0, 46, 16), 2):
            until_ms = START_MS + (minute + 16) * 60_000
            drive(van, [fix for fix in fixes if until_ms - 960_000 <= fix.at_ms < until_ms])
            publish(van, [each for each in stream if until_ms - 960_000 <= each.at_ms < until_ms])
            agent.kill()
            agent.start().wait_for("broker.connected", connected)
        wait_until(lambda: len(collector.payloads) >= 3)
        wait_until(lambda: published(durable_broker)["at"] == "2024-02-01T09:45:50Z")
        told = health(durable_broker)["position"]
    agent.stop()
    heard = collector.once()
    assert heard == {
        key: payload for key, payload in expected(stream, fixes, bundles).items() if key in heard
    }
    assert heard.items() <= again(agent, tmp_path, bundles).items()
    first, second, third = (decode_estimate(heard[key]) for key in sorted(heard)[:3])
    assert (first.site, second.site, third.site) == ("T", None, None)
    assert [("moving" in e.reasons, e.quality) for e in (first, second, third)] == [
        (False, 1),
        (True, 3),
        (True, 3),
    ]
    assert first.position
    assert first.position.fixes == 90
    assert told["source"] == "van/position"  # type: ignore[index]


def again(agent: AgentProcess, directory: Path, bundles: Path) -> dict[tuple[str, int], bytes]:
    """What `replay` makes of the readings and fixes that `export` prints."""
    for what, form in (("readings", "csv"), ("fixes", "jsonl")):
        printed = edge_agent("export", "--config", agent.config, "--what", what, "--format", form)
        (directory / what).write_bytes(printed)
    settings = ("--config", agent.config, "--fixes", directory / "fixes")
    lines = edge_agent("replay", "--bundles", bundles, "--sensor", "5A2D", *settings, directory / "readings")
    estimates = ((decode_estimate(line), line) for line in lines.splitlines())
    return {(estimate.sensor, estimate.start_ms): line for estimate, line in estimates}


def edge_agent(*arguments: object) -> bytes:
    command = [sys.executable, "-m", "edge_agent", *arguments]
    return bytes(run_program(command, capture_output=True, check=True).stdout)


def test_a_fixed_position_is_in_every_estimate(tmp_path: Path, broker: Broker, bundles: Path) -> None:
    where = "[estimates]\npublish_unit = 'mg/m3'\ntemperature_c = 25.0\n"
    where += f"[position]\nlatitude = 52.5163\nlongitude = 13.3777\nelevation_m = 34.0\n{SITE}{QUICK}"
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, where).start()
    agent.wait_for("broker.connected")
    with client(broker) as van, client(broker) as consumer:
        collector = Collector(consumer)
        publish(van, readings(minutes=16, sensors=("5A2D",)))
        wait_until(lambda: collector.estimates)
        record = {
            "lat": 52.5163,
            "lon": 13.3777,
            "speed_kmh": 0.0,
            "elevation_m": 34.0,
            "site": "T",
            "at": None,
        }
        assert published(broker) == {"v": 1, "agent": "van-1", **record}
    agent.stop()
    assert collector.estimates[0].position == Position(52.5163, 13.3777, 0.0, 0.0, None)
    assert (collector.estimates[0].site, collector.estimates[0].reasons) == ("T", ())
    assert (collector.estimates[0].unit, collector.estimates[0].unit_at) == (
        "mg/m3",
        Conditions(25.0, 1013.25),
    )


def test_owntracks_and_bad_positions_are_counted(tmp_path: Path, broker: Broker, bundles: Path) -> None:
    """Also from hand: a fix without time gets its arrival; one that was retained has no known time."""
    with client(broker) as van:
        van.publish("van/position", b'{"lat": 1, "lon": 1}', qos=1, retain=True).wait_for_publish(AT_MOST_S)
        agent = AgentProcess(tmp_path / "agent", broker.port, bundles, MOVING).start()
        agent.wait_for("broker.connected")
        wait_until(lambda: counts(broker)["unstampable"] == 1)
        for payload in (
            b'{"_type": "location", "lat": 52.5163, "lon": 13.3777, "tst": 1706778000, "vel": 0}',
            b'{"_type": "location", "lat": 52.5163, "lon": 13.3777, "tst": 1706778005}',
            b'{"lat": 52.5163, "lon": 13.3777, "at": "2099-01-01T00:00:00Z"}',
            b'{"lat": 52.5163, "lon": 13.3777}',
            b'{"_type": "lwt"}',
            b"[" * 9_000,
        ):
            van.publish("van/position", payload, qos=1).wait_for_publish(AT_MOST_S)
        wait_until(lambda: sum(counts(broker).values()) == 7)
        assert counts(broker) == {"accepted": 2, "duplicate": 1, "future": 1, "rejected": 2, "unstampable": 1}
        told = health(broker)["position"]
        assert told["site"] == "T"  # type: ignore[index]
        assert told["age_s"] < 3600  # type: ignore[index]
        agent.stop()
        van.publish("van/position", b"", qos=1, retain=True).wait_for_publish(AT_MOST_S)
    assert agent.events("fix.rejected") == 2, "one of each kind"


def published(broker: Broker) -> dict[str, object]:
    return dict(json.loads(retained(broker, "respire/van-1/position")))


def counts(broker: Broker) -> dict[str, int]:
    return dict(health(broker)["position"]["fixes"])  # type: ignore[index]
