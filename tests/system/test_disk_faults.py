"""Real faults of the disk: full, damaged, deleted, unreadable for a moment."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.agents import (
    QUICK,
    SENSORS,
    Collector,
    expected,
    health,
    publish,
    readings,
    with_closers,
)
from tests.support.broker import AT_MOST_S, AgentProcess, Broker, client, wait_until
from tests.support.needs import require
from tests.support.processes import run_program
from tests.system.test_faults import sequences


def test_a_full_disk_loses_nothing(
    tmp_path: Path, tiny_disk: Path, durable_broker: Broker, bundles: Path
) -> None:
    """Nothing is acknowledged that is not on disk; when there is room again, it all goes on."""
    stream = with_closers(readings())
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, QUICK)
    agent.state.symlink_to(tiny_disk)
    agent.start()
    agent.wait_for("broker.connected")
    with client(durable_broker) as consumer, client(durable_broker) as publisher:
        collector = Collector(consumer)
        publish(publisher, stream[: len(stream) // 2])
        filler = tiny_disk / "filler"
        with pytest.raises(OSError, match="No space left"):
            filler.write_bytes(b"0" * 5_000_000)
        publish(publisher, stream[len(stream) // 2 :])
        agent.wait_for("journal.unavailable")
        assert agent.process
        assert agent.process.poll() is None
        filler.unlink()
        wait_until(lambda: len(collector.payloads) >= 48, what="48 windows")
    agent.stop()
    assert collector.once() == expected(stream[: -len(SENSORS)], bundles)


def test_without_inodes_systemd_tries_again(
    tmp_path: Path, tiny_disk: Path, broker: Broker, bundles: Path
) -> None:
    """A full disk can get room again, so it is no mistake of the settings: exit 1, and later it serves."""
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK)
    agent.state.symlink_to(tiny_disk)
    for left in (0, 1, 2):
        run_program(["mount", "-o", f"remount,nr_inodes={2 + left}", tiny_disk], check=True)
        (tiny_disk / "filler").touch()
        agent.start()
        assert agent.process
        assert agent.process.wait(AT_MOST_S) == 1
        assert agent.log.read_text().splitlines()[-1].startswith(f"edge-agent: {agent.state}")
        for file in tiny_disk.iterdir():
            file.unlink()
    run_program(["mount", "-o", "remount,nr_inodes=20", tiny_disk], check=True)
    agent.start().wait_for("broker.connected")
    assert agent.stop() == 0


def test_a_state_directory_that_cannot_be_written_exits_78(
    tmp_path: Path, broker: Broker, bundles: Path
) -> None:
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK)
    agent.state.write_text("a file where a directory belongs")
    agent.start()
    assert agent.process
    assert agent.process.wait(AT_MOST_S) == 78
    [line] = agent.log.read_text().splitlines()
    assert line.startswith(f"edge-agent: {agent.state}: ")
    assert line.endswith("expected a state directory that can be written")


def test_a_damaged_journal_is_set_aside_and_the_agent_starts_anyway(
    tmp_path: Path, broker: Broker, bundles: Path
) -> None:
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK)
    agent.state.mkdir()
    (agent.state / "journal.db").write_bytes(random.Random(1).randbytes(20_000))
    agent.start()
    agent.wait_for("broker.connected")
    assert agent.events("journal.set_aside") == 1
    [aside] = agent.state.glob("journal.db.corrupt-*")
    assert aside.stat().st_size == 20_000
    with client(broker) as publisher:
        publish(publisher, readings(minutes=1))
        wait_until(lambda: health(broker)["readings"]["accepted"] == 18)  # type: ignore[index]
    agent.stop()


def test_damage_inside_rows_is_set_aside_and_the_rest_goes_on(
    tmp_path: Path, broker: Broker, bundles: Path
) -> None:
    """A reading without sense, a payload without sense: the same start works, and no number falls."""
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK).start()
    agent.wait_for("broker.connected")
    with client(broker) as consumer, client(broker) as publisher:
        collector = Collector(consumer)
        publish(publisher, readings(minutes=16, sensors=("5A2D",)))
        wait_until(lambda: collector.payloads)
        agent.stop()
        with closing(sqlite3.connect(agent.state / "journal.db")) as db:
            db.execute("UPDATE batch SET readings = x'93c1' WHERE id = (SELECT max(id) FROM batch)")
            db.execute("UPDATE estimate SET payload = x'7b', waiting = 1")
            db.commit()
        agent.start()
        agent.wait_for("broker.connected", 2)
        publisher.publish("respire/van-1/request", json.dumps({"id": "a", "sensor": "5A2D"}), qos=1)
        later = [r._replace(at_ms=r.at_ms + 3_600_000) for r in readings(minutes=16, sensors=("5A2D",))]
        publish(publisher, later)
        wait_until(lambda: {e.seq for e in collector.estimates} >= {1, 2})
        assert agent.stop() == 0
    assert set(sequences(collector)) == {"5A2D"}
    assert agent.events("journal.set_aside") == 1
    assert len(list(agent.state.glob("journal.db.corrupt-*[0-9]"))) == 1


def test_a_journal_deleted_at_work_is_an_event_and_nothing_is_lost(
    tmp_path: Path, durable_broker: Broker, bundles: Path
) -> None:
    """The agent ends with exit 1; the next start, which systemd makes, has what the file had."""
    stream = with_closers(readings(minutes=45))
    agent = AgentProcess(tmp_path / "agent", durable_broker.port, bundles, QUICK).start()
    agent.wait_for("broker.connected")
    with client(durable_broker) as consumer, client(durable_broker) as publisher:
        collector = Collector(consumer)
        publish(publisher, stream[:400])
        wait_until(lambda: health(durable_broker)["readings"]["accepted"] == 400)  # type: ignore[index]
        (agent.state / "journal.db").unlink()
        assert agent.process
        assert agent.process.wait(AT_MOST_S) == 1
        assert agent.events("journal.damaged") == 1
        agent.start()
        publish(publisher, stream[400:])
        wait_until(lambda: len(collector.payloads) >= 18, what="18 windows")
        agent.stop()
    assert collector.once() == expected(stream[: -len(SENSORS)], bundles)
    assert sequences(collector) == {sensor: [1, 2, 3] for sensor in SENSORS}


def test_a_disk_that_fails_to_read_for_a_moment_costs_nothing(
    tmp_path: Path, broker: Broker, bundles: Path
) -> None:
    """SQLite calls a sound journal malformed after an EIO; the agent reads again before it believes that."""
    require("strace")
    agent = AgentProcess(tmp_path / "agent", broker.port, bundles, QUICK).start()
    agent.wait_for("broker.connected")
    with client(broker) as publisher:
        publish(publisher, readings(minutes=10))
        wait_until(lambda: health(broker)["readings"]["accepted"] == 180)  # type: ignore[index]
    agent.stop()
    path = str(agent.state / "journal.db")
    for read in (1, 3, 6):
        fault = f"inject=pread64:error=EIO:when={read}"
        agent.start_within(["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-P", path, "-e", fault])
        agent.wait_for("journal.opened", (1, 3, 6).index(read) + 2)
        agent.stop()
    assert agent.log.read_text().count('"readings_restored": 180') == 3
    assert agent.events("journal.set_aside") == 0
