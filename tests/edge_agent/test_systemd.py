"""Words to systemd, on a real datagram socket, and from the real process."""

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from edge_agent.systemd import Notifier
from tests.support.broker import AT_MOST_S, AgentProcess, Broker


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    """What systemd holds at the other end; its name has an @ in it, though not at the start."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as end:
        end.bind(str(tmp_path / "notify@1"))
        end.settimeout(AT_MOST_S)
        yield end


def test_every_word_is_one_datagram(systemd: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", systemd.getsockname())
    monkeypatch.setenv("WATCHDOG_USEC", "30000000")
    notifier = Notifier()
    notifier.ready("started")
    notifier.alive("connected, 6 sensors")
    notifier.stopping()
    assert [systemd.recv(500) for _ in range(3)] == [
        b"READY=1\nSTATUS=started",
        b"WATCHDOG=1\nSTATUS=connected, 6 sensors",
        b"STOPPING=1",
    ]
    assert notifier.watchdog_s == 30.0


def test_an_abstract_socket_is_written_with_an_at_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as end:
        end.bind("")  # Linux then picks a free abstract name
        end.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", "@" + end.getsockname()[1:].decode())
        Notifier().stopping()
        assert end.recv(100) == b"STOPPING=1"


def test_without_systemd_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)
    notifier = Notifier()
    notifier.ready("started")
    assert notifier.watchdog_s == 0.0


def test_nobody_listening_is_no_reason_to_die(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While systemd re-executes itself its socket refuses; the agent goes on."""
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    Notifier().alive("working")


def test_the_agent_is_ready_alive_and_stopping(
    tmp_path: Path, broker: Broker, systemd: socket.socket
) -> None:
    """In this order, with WATCHDOG again and again before the half of its time is over."""
    (tmp_path / "bundles").mkdir()
    agent = AgentProcess(tmp_path / "agent", broker.port, tmp_path / "bundles")
    agent.start(NOTIFY_SOCKET=systemd.getsockname(), WATCHDOG_USEC="200000")
    heard = [systemd.recv(500).split(b"\n")[0] for _ in range(4)]
    assert heard == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1", b"WATCHDOG=1"]
    assert agent.process
    agent.process.terminate()
    rest: list[bytes] = []
    while not rest or rest[-1] != b"STOPPING=1":
        rest.append(systemd.recv(500).split(b"\n")[0])
    assert set(rest[:-1]) <= {b"WATCHDOG=1"}
    assert agent.process.wait(AT_MOST_S) == 0
