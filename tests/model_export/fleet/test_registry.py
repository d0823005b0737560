"""Which van has which bundle: from real retained messages at a real broker."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from edge_agent.core import bundle
from edge_agent.core.card import card, valid_until
from edge_agent.core.messages import format_time, parse_time
from edge_agent.core.model import Model
from model_export.cli.main import main
from model_export.fleet import vans
from model_export.fleet.ledger import COLUMNS, Ledger
from model_export.fleet.registry import Place, places, write
from model_export.fleet.vans import QUIET_S, Heard
from tests.conftest import make_model
from tests.support.broker import AT_MOST_S, Broker, Proxy, client

NOW_MS = parse_time("2024-06-01T12:00:00Z")


def made(sensor: str, seed: int = 0, until: str = "2024-11-01T00:00:00Z") -> Model:
    """A model as the agent reads it."""
    facts = {"dataset": f"{sensor}_T-W.csv", "to": "2023-01-01T00:00:00Z", "exporter": "respire-edge 0.1.0"}
    return bundle.decode(
        bundle.encode(make_model(sensor, seed=seed, provenance=facts, valid_until_ms=parse_time(until)))
    )


def health(agent: str, at_ms: int = NOW_MS, **models: Model | None) -> dict[str, Any]:
    sensors = {
        sensor: {"model": model.id if model else None, "valid_until": valid_until(model)}
        for sensor, model in models.items()
    }
    return {"v": 1, "agent": agent, "at": format_time(at_ms), "interval_s": 60, "sensors": sensors}


def run_of(**models: Model) -> list[dict[str, Any]]:
    return [
        {**dict.fromkeys(COLUMNS), "sensor": sensor, "bundle": model.id, "valid_until": valid_until(model)}
        for sensor, model in models.items()
    ]


def test_every_sensor_has_a_state() -> None:
    """Old and missing models come first; a sensor that no van reports is there too."""
    heard, fresh, old = Heard(), made("A"), made("B", seed=9, until="2023-07-01T00:00:00Z")
    heard.health = {
        "van-1": health("van-1", A=fresh, B=old, C=None),
        "van-2": health("van-2", at_ms=NOW_MS - 3_600_000, D=made("D")),
    }
    heard.cards = {("van-1", "A"): card(fresh), ("van-1", "B"): card(old)}
    rows = run_of(A=fresh, B=made("B"), E=made("E", until="2024-06-01T11:59:59Z"))
    found = places(heard, rows, NOW_MS)
    assert [(one.sensor, one.van, one.state, one.overdue, one.silent) for one in found] == [
        ("B", "van-1", "old", True, False),
        ("C", "van-1", "none", False, False),
        ("D", "van-2", "unknown", False, True),
        ("E", None, "nowhere", True, False),
        ("A", "van-1", "current", False, False),
    ]
    assert (found[0].dataset, found[0].version) == ("B_T-W.csv", "respire-edge 0.1.0")
    assert (found[0].until, found[0].valid_until) == ("2023-01-01T00:00:00Z", "2023-07-01T00:00:00Z")


def test_a_table_without_an_end_of_calibrations_is_read() -> None:
    """A run of before that column: the sensor is there, and nothing is overdue."""
    [row] = run_of(E=made("E"))
    del row["valid_until"]
    [found] = places(Heard(), [row], NOW_MS)
    assert (found.state, found.valid_until, found.overdue) == ("nowhere", None, False)


@pytest.mark.parametrize("payload", [b"", b"{", b"[" * 100_000, b"null", b"7", b'{"sensors": 3}', b"\xff"])
def test_a_message_that_is_no_record_is_counted(payload: bytes) -> None:
    heard = Heard()
    heard.take("respire/van-1/health", payload)
    assert (heard.health, heard.bad) == ({}, 0 if payload in (b"", b"null") else 1)


def test_the_command_reads_the_broker_and_writes_the_registry(
    tmp_path: Path, broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh, old = made("5A2D"), made("5CB6", seed=9)
    Ledger(tmp_path).finish(run_of(**{"5A2D": fresh, "5CB6": made("5CB6")}), "page")
    with client(broker) as publisher:
        for topic, record in (
            ("respire/van-1/health", health("van-1", NOW_MS, **{"5A2D": fresh, "5CB6": old})),
            ("respire/van-1/calibrated/5CB6/model", card(old)),
        ):
            publisher.publish(topic, json.dumps(record), qos=1, retain=True).wait_for_publish(AT_MOST_S)
    options = ["--broker", f"{broker.host}:{broker.port}", "--out", str(tmp_path)]
    assert main(["fleet", "status", *options]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["vans"], figures["states"]["old"], figures["states"]["current"]) == (1, 1, 1)
    table = pq.read_table(tmp_path / "registry.parquet").to_pylist()
    assert [(row["sensor"], row["state"], row["model"]) for row in table] == [
        ("5CB6", "old", old.id),
        ("5A2D", "current", fresh.id),
    ]


class Halting(threading.Event):
    """A network that carries nothing for a while, after a few packets."""

    packets = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.packets += 1
        if self.packets == 4:
            time.sleep(1.5 * QUIET_S)
        return super().wait(timeout)


def test_a_network_that_halts_loses_no_van(broker: Broker) -> None:
    """The messages end when the broker says so, not when none comes for a while."""
    topics = [f"respire/van-{number}/calibrated/S/model" for number in range(200)]
    proxy = Proxy(broker.port, halting := Halting())
    with client(broker) as publisher:
        for topic in topics:
            record = json.dumps({"text": "x" * 2000})
            publisher.publish(topic, record, qos=1, retain=True).wait_for_publish(AT_MOST_S)
        try:
            heard = vans.listen(vans.Broker("127.0.0.1", proxy.port))
        finally:
            proxy.close()
            for topic in topics:
                publisher.publish(topic, b"", qos=1, retain=True).wait_for_publish(AT_MOST_S)
    assert len(heard.cards) == len(topics)
    assert halting.packets > 4


def test_no_broker_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Ledger(tmp_path).finish([], "page")
    assert main(["fleet", "status", "--broker", "127.0.0.1:1", "--out", str(tmp_path)]) == 1
    assert "expected an MQTT broker" in capsys.readouterr().err


def test_a_registry_has_the_same_columns_whatever_was_heard(tmp_path: Path) -> None:
    """Programs read it by the names and types of its columns, also while no van reports."""
    write([], tmp_path / "none.parquet")
    nowhere = Place("5A2D", None, "nowhere", None, "sha256:1", None, None, None, None, False, None, False)
    write([nowhere], tmp_path / "one.parquet")
    schemas = [pq.read_schema(tmp_path / name) for name in ("none.parquet", "one.parquet")]
    assert schemas[0] == schemas[1]
    assert {str(column.type) for column in schemas[0]} == {"string", "bool"}
