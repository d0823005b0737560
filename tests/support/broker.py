"""Real brokers for tests: a given one, a container, the mosquitto program, or amqtt."""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from deploy.demo.brokers import amqtt_command, mosquitto_command
from deploy.demo.processes import HOST, Process, free_port, listening
from tests.support.needs import require
from tests.support.processes import start

AT_MOST_S = 120.0  # only what is broken takes so long; a busy machine may stand still for seconds


def wait_until(condition: Callable[[], object], timeout_s: float = AT_MOST_S, what: str = "") -> None:
    """Wait for a condition; never for a length of time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what or condition} did not come true in {timeout_s} s")
        time.sleep(0.01)


class Broker:
    """The address of a broker; a `persistent` one can be restarted and keeps its sessions."""

    name = "given"
    persistent = False

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    def start(self) -> None:
        """Do nothing: it is running."""

    def stop(self) -> None:
        """Do nothing: it is not ours."""

    def remove(self) -> None:
        """Stop it for good."""
        self.stop()


class Own(Broker):
    """A broker that we start, with its own folder, always on the same port."""

    def __init__(self, command: list[str], port: int) -> None:
        super().__init__(HOST, port)
        self._command = command
        self._log = Path(command[-1]).with_suffix(".log")
        self.process: Process | None = None
        self.start()

    def start(self) -> None:
        """Start it on its port."""
        with self._log.open("ab") as log:
            process = self.process = start(self._command, stdout=log, stderr=log)
        wait_until(lambda: process.poll() is not None or listening(self.port), what=self.name)
        assert process.poll() is None, self._log.read_text()

    def stop(self) -> None:
        """Stop it as an operator would."""
        if self.process:
            self.process.terminate()
            self.process.wait(AT_MOST_S)
            self.process = None


class Mosquitto(Own):
    """The mosquitto program; it keeps sessions and queues over a restart."""

    name = "the mosquitto program"
    persistent = True

    def __init__(self, directory: Path, *lines: str, anonymous: bool = True) -> None:
        require("mosquitto")
        directory.mkdir(parents=True, exist_ok=True)
        port = free_port()
        settings = (
            f"allow_anonymous {str(anonymous).lower()}",
            f"persistence true\npersistence_location {directory}/",
            "max_queued_messages 1000000",
        )
        super().__init__(mosquitto_command(directory, port, *settings, *lines), port)


class Amqtt(Own):
    """The amqtt program; it delivers messages, but it may lose some."""

    name = "amqtt"

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        port = free_port()
        super().__init__(amqtt_command(directory, port), port)


class Container(Broker):
    """Mosquitto in a container, on a fixed port so that it can be stopped and started."""

    name = "a mosquitto container"
    persistent = True
    image = "eclipse-mosquitto:2.0.20"

    def __init__(self, directory: Path) -> None:
        from testcontainers.core.container import DockerContainer

        super().__init__("127.0.0.1", free_port())
        directory.mkdir(parents=True, exist_ok=True)
        config = directory / "mosquitto.conf"
        config.write_text(
            "listener 1883\nallow_anonymous true\npersistence true\npersistence_location /mosquitto/data/\n"
            "autosave_on_changes true\nautosave_interval 1\nmax_queued_messages 1000000\n"
        )
        self._container = (
            DockerContainer(self.image)
            .with_bind_ports(1883, self.port)
            .with_volume_mapping(str(config), "/mosquitto/config/mosquitto.conf", "ro")
        )
        self._container.start()
        wait_until(lambda: listening(self.port), what="the container")

    def start(self) -> None:
        """Start the stopped container again; its data are still inside."""
        self._container.get_wrapped_container().start()
        wait_until(lambda: listening(self.port), what="the container")

    def stop(self) -> None:
        """Stop it, keeping its data."""
        self._container.get_wrapped_container().stop(timeout=10)

    def remove(self) -> None:
        """Stop it for good."""
        self._container.stop()


def make_broker(kind: str, directory: Path) -> Broker:
    """A broker of that kind, running."""
    if kind == "given":
        host, _, port = os.environ["EDGE_AGENT_TEST_BROKER"].rpartition(":")
        return Broker(host, int(port))
    if kind == "container":
        return Container(directory)
    return Mosquitto(directory) if kind == "mosquitto" else Amqtt(directory)


@contextlib.contextmanager
def client(broker: Broker, client_id: str = "", keep: bool = False, in_flight: int = 200) -> Iterator[Client]:
    """A connected paho client, its loop running; paho may change the order of more than `in_flight` messages.

    0: it keeps the order of any number.
    """
    # amqtt mixes up the messages of clients without a name.
    named = client_id or f"test-{uuid.uuid4()}"
    made = Client(CallbackAPIVersion.VERSION2, client_id=named, clean_session=not keep)
    made.max_inflight_messages_set(in_flight)
    made.max_queued_messages_set(0)
    made.connect(broker.host, broker.port)
    made.loop_start()
    try:
        wait_until(made.is_connected, what="the test's client")
        yield made
    finally:
        made.disconnect()
        made.loop_stop()


def subscribe(listener: Client, *topics: str) -> None:
    """Return when the broker has the subscription: what is published from now on arrives."""
    done = threading.Event()
    listener.on_subscribe = lambda *_: done.set()
    listener.subscribe([(topic, 1) for topic in topics])
    wait_until(done.is_set, what="a subscription")


class Proxy:
    """A TCP proxy on loopback that can reset connections, or delay the broker's answers."""

    def __init__(self, target: int, answering: threading.Event | None = None) -> None:
        self.port = free_port()
        self._target = target
        self._pairs: list[socket.socket] = []
        self._answering = answering or threading.Event()
        self._answering.set()
        self._server = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Reset every connection; the pumps close them."""
        pairs, self._pairs = self._pairs, []
        for end in pairs:
            _shut(end)

    @contextlib.contextmanager
    def deaf(self) -> Iterator[None]:
        """Delay everything from the broker inside the `with` block."""
        self._answering.clear()
        try:
            yield
        finally:
            self._answering.set()

    def close(self) -> None:
        """Stop listening and close all connections."""
        self._server.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._target))
                except OSError:
                    near.close()
                    continue
                self._pairs += [near, far]
                for ends in ((near, far), (far, near, self._answering)):
                    threading.Thread(target=_pump, args=ends, daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket, gate: threading.Event | None = None) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            if gate:
                gate.wait()
            sink.sendall(data)
    _shut(sink)
    source.close()


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


class AgentProcess:
    """The agent as a process, with its settings in a file and its log in another."""

    def __init__(self, directory: Path, broker_port: int, bundles: Path, extra: str = "") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.state = directory / "state"
        self.log = directory / "agent.log"
        self.config = directory / "edge-agent.toml"
        self.config.write_text(
            f'agent = "van-1"\nclock = "trusted"\nbundles = "{bundles}"\nstate = "{self.state}"\n'
            f"{extra}\n[broker]\nport = {broker_port}\n"
        )
        self.process: Process | None = None
        self.python = sys.executable

    def start(self, **environment: str) -> "AgentProcess":
        """Start it; it appends to its log."""
        return self.start_within([], **environment)

    def start_within(self, wrapper: list[str], **environment: str) -> "AgentProcess":
        """Start it through a program that executes it."""
        log = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        command = [*wrapper, self.python, "-m", "edge_agent", "run", "--config", str(self.config)]
        # Tests send one message and look; the default waits a minute for more.
        soon = {} if "commit_ms" in self.config.read_text() else {"EDGE_AGENT_JOURNAL__COMMIT_MS": "1000"}
        self.process = start(command, stderr=log, env={**os.environ, **soon, **environment})
        os.close(log)
        return self

    def wait_for(self, event: str, count: int = 1, timeout_s: float = AT_MOST_S) -> None:
        """Wait until the log has an event this many times."""
        wait_until(lambda: self.events(event) >= count, timeout_s, f"{event} in the agent's log")

    def events(self, event: str) -> int:
        return self.log.read_text().count(f'"{event}"') if self.log.exists() else 0

    def hang_up(self) -> None:
        """Make it reload its bundles."""
        assert self.process
        self.process.send_signal(signal.SIGHUP)

    def kill(self) -> None:
        """End the process with SIGKILL."""
        assert self.process
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Stop it as systemd does; return the exit code."""
        if self.process is None or self.process.poll() is not None:
            return self.process.returncode if self.process else 0
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(AT_MOST_S)
