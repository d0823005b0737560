"""The agent in the guest, as an operator sees it, and sensors that send."""

import json
import time
from datetime import UTC, datetime

from tests.field.machine import Machine

SPAN_S = 1_800  # each load has a span of time of its own
FEED = """import sys, time
base, count, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
for i in range(count):
    at = "%d.%d" % (base + i // 2, i % 2 * 5)
    print('{"at": %s, "op1": %d, "op2": %d}' % (at, 200 + i % 50, 190 + i % 40), flush=True)
    time.sleep(seconds / count)
"""


class Load:
    """Readings of sensor 5CB6 that are on their way; every one must be in the journal, once."""

    def __init__(self, gateway: "Gateway", base: int, count: int, seconds: float) -> None:
        self._gateway, self._base, self._count = gateway, base, count
        feed = f"python3 /srv/feed.py {base} {count} {seconds}"
        send = f"{feed} | mosquitto_pub -u 5CB6 -P pw-5CB6 -q 1 -t sensors/5CB6 -l"
        gateway.machine.run(f"rm -f /srv/sent; ({send} && touch /srv/sent) >/srv/load.log 2>&1 &")

    def arrived(self, seconds: float = 240) -> str:
        """Wait until all are in the journal; none twice."""
        machine = self._gateway.machine
        machine.wait(lambda: machine.code("test -f /srv/sent")[0] == 0, "all readings sent", seconds)
        machine.wait(lambda: len(self._rows()) >= self._count, f"{self._count} readings", seconds)
        rows = self._rows()
        assert len(rows) == len(set(rows)) == self._count, f"{len(rows)} rows, {len(set(rows))} distinct"
        return f"{2 * self._count} readings, lost 0, doubled 0"

    def _rows(self) -> list[str]:
        span = f"--from {_iso(self._base)} --to {_iso(self._base + SPAN_S)}"
        command = f"edge-agent export --what readings --sensor 5CB6 --format jsonl {span}"
        return [line for line in self._gateway.machine.code(command)[1].splitlines() if line.startswith("{")]


class Gateway:
    """A machine with the agent on it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._next = (int(time.time()) - 2 * 86_400) // 900 * 900

    def load(self, count: int = 1_500, seconds: float = 3.0) -> Load:
        """Start to send readings, two of them a message."""
        self._next += SPAN_S
        return Load(self, self._next, count, seconds)

    def show(self, name: str) -> str:
        """A property of the unit."""
        return self.machine.run(f"systemctl show -p {name} --value edge-agent")

    def pid(self) -> str:
        """The agent's process."""
        return self.show("MainPID")

    def user(self) -> str:
        """The number of the agent's account."""
        return self.machine.run(f"stat -c %u /proc/{self.pid()}")

    def started_in(self) -> float:
        """Seconds from exec to READY."""
        began, ended = (
            int(self.show(f"{name}TimestampMonotonic")) for name in ("ExecMainStart", "ActiveEnter")
        )
        return (ended - began) / 1e6

    def wait_active(self, other_than: str = "0", seconds: float = 300) -> None:
        """Wait until systemd calls the agent active, as another process."""
        self.machine.wait(
            lambda: self.show("ActiveState") == "active" and self.pid() not in ("0", other_than),
            "the agent is active again",
            seconds,
        )

    def events(self, since: str = "") -> list[dict[str, object]]:
        """The log events of this boot."""
        lines = self.machine.run(f"journalctl -u edge-agent -b -o cat {since}").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def has_event(self, name: str) -> bool:
        """Whether the agent has logged an event in this boot."""
        return any(each.get("event") == name for each in self.events())

    def wait_event(self, name: str, seconds: float = 90) -> None:
        """Wait until it has."""
        self.machine.wait(lambda: self.has_event(name), name, seconds)


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
