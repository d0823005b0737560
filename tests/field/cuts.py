"""Power cuts: the broker and the sensors are on this machine, the agent in the guest suffers alone."""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from deploy.demo.processes import free_port
from tests.field.disk import VolatileDisk
from tests.field.judge import Verdict, judge
from tests.field.machine import BOOT_S, HOST, Machine
from tests.field.package import bring
from tests.field.report import say

SETTINGS = """agent = "van-1"
clock = "trusted"
[broker]
host = "{host}"
port = {port}
[windows]
length_s = 60
grace_s = 5.0
# What waited at the broker comes at once; readings without a stamp then fall into one window.
max_readings = 1000000
[journal]
durability = "{durability}"
"""
DRAIN_S = 1_800.0
QUICK_S, SLOW_S = (2.0, 18.0), (2.0, 70.0)  # how long an agent works before the cut, at either pace
# A boot is sooner without them; the last boot has them all.
NOT_NEEDED = (
    "ssh.service",
    "systemd-timesyncd.service",
    "serial-getty@ttyS0.service",
    "dbus.service",
    "dbus.socket",
)
BROKER = """listener {port} 127.0.0.1
allow_anonymous true
persistence false
max_queued_messages 200000
max_inflight_messages 100
"""


class Ear:
    """Hears estimates, and whether the agent is there; its session outlives the cuts."""

    def __init__(self, port: int) -> None:
        self.estimates: list[str] = []
        self.online, self.drained = threading.Event(), threading.Event()
        self._client = Client(CallbackAPIVersion.VERSION2, client_id="ear", clean_session=False)
        self._client.on_connect = lambda client, *_: client.subscribe("+/#", qos=1)
        self._client.on_message = self._hear
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def _hear(self, *arguments: Any) -> None:
        message = arguments[2]
        if message.topic.endswith("/status"):
            if message.payload.startswith(b"online") and not message.retain:
                self.online.set()
        elif message.topic.endswith("/health"):
            if "END" in json.loads(message.payload)["sensors"]:
                self.drained.set()
        elif message.topic.endswith("/co"):
            self.estimates.append(message.payload.decode())

    def close(self) -> None:
        """Disconnect."""
        self._client.disconnect()
        self._client.loop_stop()


class Cuts:
    """One run: boot, stream, cut at a flush, boot again …, then drain and judge.

    With "power-loss" the readings come slowly before every third cut.
    """

    def __init__(self, image: Path, disk: Path, work: Path, durability: str, seed: int) -> None:
        self._work, self._port, self._random = work, free_port(), random.Random(seed)
        self._pace_changes = durability == "power-loss"
        (work / "van.toml").write_text(SETTINGS.format(host=HOST, port=self._port, durability=durability))
        bring(disk, work / "van.toml", "/etc/edge-agent/edge-agent.d/van.toml")
        self._disk = VolatileDisk(disk, work / "disk.sock", seed)
        self._machine = Machine(image, self._disk.address, work)
        self._children: list[subprocess.Popen[bytes]] = []
        self._stream: subprocess.Popen[bytes] | None = None

    def run(self, count: int, minutes: float) -> tuple[int, Verdict]:
        """The number of cuts, at most `count` and in so many minutes, and the verdict."""
        (self._work / "broker.conf").write_text(BROKER.format(port=self._port))
        self._start("/usr/sbin/mosquitto", "-c", str(self._work / "broker.conf"))
        time.sleep(1)
        ear = Ear(self._port)
        try:
            self._cut_again_and_again(ear, count, time.monotonic() + 60 * minutes)
            return len(self._disk.cuts), self._judge(ear)
        finally:
            self._machine.cut()
            ear.close()
            for child in self._children:
                child.terminate()
                child.wait()

    def _cut_again_and_again(self, ear: Ear, count: int, until: float) -> None:
        """Ends with a machine that runs, after the last cut."""
        last = False
        while not last:
            last = len(self._disk.cuts) >= count or time.monotonic() > until
            self._boot(ear, () if last else NOT_NEEDED)
            if not self._stream:
                module = ("-m", "tests.field.stream", str(self._port), str(self._work / "said.jsonl"))
                self._stream = self._start(sys.executable, *module)
            if not last:
                self._cut(slow=self._pace_changes and len(self._disk.cuts) % 3 == 2)

    def _cut(self, slow: bool) -> None:
        """Cut the power at a flush, after a while of many messages or of few; then many wait."""
        assert self._stream
        if slow:
            self._stream.send_signal(signal.SIGUSR1)
        time.sleep(self._random.uniform(*(SLOW_S if slow else QUICK_S)))
        self._disk.kill_at_flush(self._machine.cut, 20)
        if slow:
            self._stream.send_signal(signal.SIGUSR2)
        say(f"cut {len(self._disk.cuts)}, {'slow' if slow else 'quick'}: {self._disk.cuts[-1]}")

    def _boot(self, ear: Ear, without: Sequence[str]) -> None:
        ear.online.clear()
        began = time.monotonic()
        self._machine.start(without=without)
        if not ear.online.wait(BOOT_S):
            raise AssertionError(f"the agent is not online after {BOOT_S} s")
        say(f"online after {time.monotonic() - began:.0f} s; {len(ear.estimates)} estimates so far")

    def _judge(self, ear: Ear) -> Verdict:
        assert self._stream
        time.sleep(10)
        self._stream.terminate()
        self._stream.wait()
        if not ear.drained.wait(DRAIN_S):
            raise AssertionError(f"the agent has not read all after {DRAIN_S} s")
        self._machine.wait(lambda: self._machine.code("true")[0] == 0, "ssh", BOOT_S)
        self._machine.run("systemctl stop edge-agent")
        words = "set_aside|damaged|unavailable|died"
        events = self._machine.code(f"journalctl -u edge-agent -o cat | grep -E '{words}'")[1]
        (self._work / "events").write_text(events)
        readings = self._machine.run("edge-agent export --what readings --format jsonl", timeout_s=900)
        (self._work / "readings.jsonl").write_text(readings)
        (self._work / "estimates.jsonl").write_text("\n".join(ear.estimates))
        said = (self._work / "said.jsonl").read_text().splitlines()
        rows = [line for line in readings.splitlines() if line.startswith("{")]
        return judge(said, rows, ear.estimates, events.splitlines())

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        with (self._work / "children.log").open("ab") as log:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._children.append(child)
        return child
