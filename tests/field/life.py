"""What docs/operations.md promises, on a machine: each check is a promise, and runs in this order."""

import time
from collections.abc import Callable
from pathlib import Path
from subprocess import TimeoutExpired

from tests.field.gateway import FEED, Gateway
from tests.field.machine import BOOT_S, Failed, Machine
from tests.field.ntp import Ntp
from tests.field.package import configure, install
from tests.field.report import say

SETTINGS = """agent = "van-1"
[broker]
username = "van-1"
password_file = "broker-password"
status_port = 1884
[health]
interval_s = 10.0
"""
UNIT = """[Service]
LoadCredential=broker-password:/etc/edge-agent/secrets/broker-password
IPAddressDeny=any
IPAddressAllow=localhost
"""
DYNAMIC = range(61_184, 65_520)  # systemd's numbers for DynamicUser
USERS = ("van-1", "5A2D", "5CB6", "consumer")
OTHER_BUNDLE = "tests/edge_agent/core/golden/format-1.bundle"


class Life:
    """One gateway from its installation to its end; a broken promise does not stop the others."""

    def __init__(self, image: Path, disk: Path, work: Path, bundle: Path) -> None:
        self._bundle = bundle
        self._machine = Machine(image, str(disk), work)
        self._gateway = Gateway(self._machine)
        self._ntp = Ntp()

    def run(self) -> bool:
        """Whether every promise was kept."""
        checks: tuple[Callable[[], str], ...] = (
            *(self.boots, self.installs, self.is_configured, self.is_active_by_notify),
            *(self.is_barely_exposed, self.estimates),
            *(self.answers_an_ordinary_user, self.is_ready_without_a_broker),
            *(self.survives_kill_9, self.is_restarted_by_the_watchdog, self.survives_no_memory),
            *(self.waits_after_exit_78, self.reloads_a_bundle, self.stops_in_order),
            *(self.survives_a_full_disk, self.moves_its_state, self.upgrades_under_load),
            *(self.survives_a_reboot, self.waits_for_the_clock, self.is_purged),
        )
        try:
            holds = [self._holds(check) for check in checks]
            return all(holds)
        finally:
            self._machine.cut()

    def _holds(self, check: Callable[[], str]) -> bool:
        name, began = check.__name__.replace("_", " "), time.monotonic()
        try:
            figure = check()
        except (Failed, AssertionError, TimeoutExpired) as error:
            say(f"FAIL {name}: {error}")
            return False
        say(f"ok   {name}: {figure} ({time.monotonic() - began:.0f} s)")
        return True

    def boots(self) -> str:
        """Debian starts, and its clock is synchronised."""
        seconds = self._machine.boot()
        self._synchronised()
        return f"ssh after {seconds:.0f} s"

    def _synchronised(self) -> None:
        self._machine.run("systemctl restart systemd-timesyncd")
        question = "timedatectl show -p NTPSynchronized --value"
        self._machine.wait(lambda: self._machine.run(question) == "yes", "a synchronised clock")

    def installs(self) -> str:
        """The package enables the agent and does not start it before there are settings."""
        machine = self._machine
        began = time.monotonic()
        install(machine)
        seconds = time.monotonic() - began
        assert machine.code("systemctl is-enabled edge-agent")[1] == "enabled"
        assert machine.code("systemctl is-active edge-agent")[1] == "inactive"
        return f"{seconds:.0f} s"

    def is_configured(self) -> str:
        """A broker with users, a secret that only root can read, settings in edge-agent.d."""
        machine = self._machine
        self._broker()
        machine.run("install -m 600 /dev/null /etc/edge-agent/secrets/broker-password")
        machine.put("pw-van-1\n", "/etc/edge-agent/secrets/broker-password")
        machine.run("mkdir -p /etc/systemd/system/edge-agent.service.d")
        machine.put(UNIT, "/etc/systemd/system/edge-agent.service.d/override.conf")
        machine.run("systemctl daemon-reload")
        machine.put(FEED, "/srv/feed.py")
        configure(machine, self._bundle, SETTINGS)
        return "started"

    def _broker(self) -> None:
        examples = "/usr/share/doc/edge-agent/examples"
        self._machine.run(f"cp {examples}/mosquitto.conf {examples}/mosquitto.acl /etc/mosquitto/")
        files = "/etc/mosquitto/passwords /etc/mosquitto/mosquitto.acl"
        self._machine.run(f"touch {files} && chown mosquitto: {files} && chmod 600 {files}")
        for user in USERS:
            self._machine.run(f"mosquitto_passwd -b /etc/mosquitto/passwords {user} pw-{user}")
        self._machine.run("systemctl enable --now mosquitto")

    def is_active_by_notify(self) -> str:
        """Type=notify, an account of its own that no file has, and a credential that reaches the broker."""
        gateway, machine = self._gateway, self._machine
        gateway.wait_active()
        gateway.wait_event("broker.connected")
        assert (gateway.show("Type"), gateway.show("DynamicUser")) == ("notify", "yes")
        assert machine.code("grep -q edge-agent /etc/passwd")[0] == 1
        assert int(self._user()) in DYNAMIC
        machine.wait(lambda: "connected" in gateway.show("StatusText"), "a status line", 60)
        rss = int(machine.run(f"ps -o rss= -p {gateway.pid()}")) / 1024
        return f"{gateway.show('StatusText')}; {self._started_in():.1f} s from exec to READY, {rss:.0f} MB"

    def _user(self) -> str:
        """The number of the agent's account."""
        return self._machine.run(f"stat -c %u /proc/{self._gateway.pid()}")

    def _started_in(self) -> float:
        began, ended = (
            int(self._gateway.show(f"{name}TimestampMonotonic")) for name in ("ExecMainStart", "ActiveEnter")
        )
        return (ended - began) / 1e6

    def is_barely_exposed(self) -> str:
        """systemd's own judgement, with the addresses of docs/operations.md: at most 1.3 of 10."""
        line = self._machine.run("systemd-analyze security --no-pager edge-agent | tail -1")
        exposure = float(line.split(":")[1].split()[0])
        assert exposure <= 1.3, line
        return f"exposure {exposure}"

    def estimates(self) -> str:
        """Fifteen minutes of readings become a value."""
        start = int(time.time()) // 900 * 900 - 3_600
        lines = [
            f'{{"at": {start + 60 * minute}, "op1": 231.4, "op2": 206.1, "temperature": 24.3}}'
            for minute in range(18)
        ]
        self._machine.put("\n".join(lines) + "\n", "/run/readings")
        self._machine.run("mosquitto_pub -u 5A2D -P pw-5A2D -q 1 -t sensors/5A2D -l < /run/readings")
        closed = "journalctl -u edge-agent -b -o cat | grep window.closed | grep 5A2D"
        self._machine.wait(lambda: self._machine.code(closed)[0] == 0, "window.closed")
        estimate = self._machine.run("edge-agent export --sensor 5A2D --format jsonl | head -1")
        assert '"value":0' in estimate.replace(" ", ""), estimate
        return estimate[:60]

    def answers_an_ordinary_user(self) -> str:
        """check and status say what they cannot see, status --broker works with a password of one's own."""
        machine = self._machine
        as_anna = "sudo -u anna -H edge-agent"
        code, text = machine.code(f"{as_anna} check")
        assert code == 0, f"check: exit {code}: {text}"
        code, text = machine.code(f"{as_anna} status")
        assert (code, "try sudo" in text) == (1, True), f"status: exit {code}: {text}"
        machine.put("pw-van-1\n", "/home/anna/password")
        password = "EDGE_AGENT_BROKER__PASSWORD_FILE=/home/anna/password"  # noqa: S105 - a variable's name
        code, text = machine.code(f"sudo -u anna -H {password} edge-agent status --broker")
        assert (code, '"agent"' in text) == (0, True), f"status --broker: exit {code}: {text}"
        assert machine.code("edge-agent status")[0] == 0
        return "check 0, status asks for sudo, status --broker 0"

    def is_ready_without_a_broker(self) -> str:
        """READY does not wait for the broker: a boot never waits for the agent's connection."""
        self._machine.run("systemctl stop mosquitto && systemctl restart edge-agent")
        seconds = self._started_in()
        assert self._gateway.show("ActiveState") == "active"
        assert not self._gateway.has_event("agent.failed")
        self._machine.run("systemctl start mosquitto")
        self._machine.wait(lambda: "connected" in self._gateway.show("StatusText"), "connected", 60)
        return f"active {seconds:.1f} s after exec"

    def survives_kill_9(self) -> str:
        """Nothing is lost or doubled, and systemd restarts it."""
        load, pid = self._gateway.load(), self._gateway.pid()
        time.sleep(1.5)
        began = time.monotonic()
        self._machine.run(f"kill -9 {pid}")
        self._gateway.wait_active(pid)
        seconds = time.monotonic() - began
        return f"active again after {seconds:.0f} s; {load.arrived()}"

    def is_restarted_by_the_watchdog(self) -> str:
        """An agent that hangs is killed and started again."""
        load, pid = self._gateway.load(), self._gateway.pid()
        began = time.monotonic()
        self._machine.run(f"kill -STOP {pid}")
        self._gateway.wait_active(pid, 180)
        seconds = time.monotonic() - began
        assert "watchdog" in self._machine.run("journalctl -u edge-agent -b -o cat | grep -i watchdog")
        return f"active again after {seconds:.0f} s; {load.arrived()}"

    def survives_no_memory(self) -> str:
        """The kernel's killer ends it; with memory it continues."""
        pid = self._gateway.pid()
        self._machine.run("systemctl set-property --runtime edge-agent MemoryMax=20M")
        load = self._gateway.load()
        logged = "journalctl -u edge-agent -b -o cat | grep -q oom-kill"
        self._machine.wait(lambda: self._machine.code(logged)[0] == 0, "oom-kill")
        self._machine.run("systemctl set-property --runtime edge-agent MemoryMax=200M")
        self._gateway.wait_active(pid)
        return load.arrived()

    def waits_after_exit_78(self) -> str:
        """A wrong setting stops it for good, with one line that names the file and the key."""
        file = "/etc/edge-agent/edge-agent.d/wrong.toml"
        self._machine.put("[windows]\nlength_s = 100\n", file)
        self._machine.code("systemctl restart edge-agent")
        time.sleep(8)
        found = [self._gateway.show(name) for name in ("ActiveState", "ExecMainStatus", "NRestarts")]
        assert found == ["failed", "78", "0"], found
        line = self._machine.run("journalctl -u edge-agent -b -p err -o cat | grep length_s | tail -1")
        assert line == f"edge-agent: {file}: windows.length_s: expected a multiple of 60, got 100", line
        self._machine.run(f"rm {file} && systemctl start edge-agent")
        return line

    def reloads_a_bundle(self) -> str:
        """A changed bundle serves after systemctl reload."""
        self._machine.put(Path(OTHER_BUNDLE), "/etc/edge-agent/bundles/.new")
        self._machine.run("cd /etc/edge-agent/bundles && mv .new 5A2D.bundle && systemctl reload edge-agent")
        self._gateway.wait_event("bundle.loaded", 30)
        self._machine.put(self._bundle, "/etc/edge-agent/bundles/.new")
        self._machine.run("cd /etc/edge-agent/bundles && mv .new 5A2D.bundle")
        return "bundle.loaded"

    def stops_in_order(self) -> str:
        """systemctl stop ends it with success, in a few seconds."""
        began = time.monotonic()
        self._machine.run("systemctl stop edge-agent")
        seconds = time.monotonic() - began
        assert self._gateway.has_event("agent.stopped")
        assert (self._gateway.show("Result"), self._gateway.show("ExecMainStatus")) == ("success", "0")
        self._machine.run("systemctl start edge-agent")
        return f"{seconds:.1f} s"

    def survives_a_full_disk(self) -> str:
        """It stays active, acknowledges nothing, and continues when there is space."""
        self._machine.code("fallocate -l $(df --output=avail -B1 / | tail -1) /srv/fill; sync")
        pid, load = self._gateway.pid(), self._gateway.load()
        try:
            # The system's log has no space either; its status line is in memory.
            self._machine.wait(lambda: "refuses" in self._gateway.show("StatusText"), "the status line")
            assert (self._gateway.show("ActiveState"), self._gateway.pid()) == ("active", pid)
        finally:
            self._machine.run("rm -f /srv/fill")
        return load.arrived()

    def moves_its_state(self) -> str:
        """A copy of the state directory, made by root, works on another gateway; systemd sets the owner."""
        before = self._machine.run("edge-agent export 2>/dev/null | wc -l")
        self._machine.run("systemctl stop edge-agent && cp -r /var/lib/edge-agent/. /srv/moved")
        self._machine.run("rm -rf /var/lib/private/edge-agent /var/lib/edge-agent")
        self._machine.run("cp -r /srv/moved /var/lib/edge-agent && rm -r /srv/moved")
        self._machine.run("systemctl start edge-agent")
        self._gateway.wait_active()
        owner = self._machine.run("stat -c %u /var/lib/private/edge-agent/journal.db")
        after = self._machine.run("edge-agent export 2>/dev/null | wc -l")
        assert (owner, after) == (self._user(), before), (owner, before, after)
        return f"{int(after) - 1} estimates, {self._gateway.load().arrived()}"

    def upgrades_under_load(self) -> str:
        """A newer package replaces it and restarts it, while readings come."""
        pid, load = self._gateway.pid(), self._gateway.load(seconds=60)
        began = time.monotonic()
        self._machine.run("apt-get install -q -y --no-install-recommends /srv/newer.deb", 1800)
        seconds = time.monotonic() - began
        assert self._machine.run("edge-agent --version") == "edge-agent 99.0"
        self._gateway.wait_active(pid)
        assert "van-1" in self._machine.run("cat /etc/edge-agent/edge-agent.d/van.toml")
        return f"{seconds:.0f} s; {load.arrived()}"

    def survives_a_reboot(self) -> str:
        """It is active after a boot, and the boot does not wait for it longer than it starts."""
        load, boot = self._gateway.load(seconds=1), self._machine.run("cat /proc/sys/kernel/random/boot_id")
        said = load.arrived()
        self._machine.code("systemctl reboot")
        question = "cat /proc/sys/kernel/random/boot_id"
        self._machine.wait(lambda: self._machine.code(question)[1] not in ("", boot), "a new boot", BOOT_S)
        self._gateway.wait_active(seconds=BOOT_S)
        waited = self._machine.run(
            "systemctl show -p ActiveEnterTimestampMonotonic --value multi-user.target"
        )
        active = int(self._gateway.show("ActiveEnterTimestampMonotonic")) / 1e6
        figures = f"READY {active:.1f} s after the kernel, {self._started_in():.1f} s after exec"
        return f"{figures}; multi-user.target at {int(waited) / 1e6:.1f} s; {said}; {load.arrived()}"

    def waits_for_the_clock(self) -> str:
        """After a boot with a wrong clock, readings without a stamp wait, and then have the right time."""
        self._machine.power_off()
        self._ntp.answers = False
        self._machine.boot("-rtc", "base=2020-01-01T00:00:00")
        self._gateway.wait_active()
        self._gateway.wait_event("clock.unsynchronised")
        send = "seq 50 | mosquitto_pub -u 5A2D -P pw-5A2D -q 1 -t sensors/5A2D/op1 -l"
        self._machine.wait(lambda: self._machine.code(send)[0] == 0, "a broker")
        sent = time.time()
        pid = self._gateway.pid()
        self._machine.run(f"sleep 3; kill -9 {pid}")
        self._gateway.wait_active(pid)
        self._ntp.answers = True
        self._synchronised()
        self._gateway.wait_event("readings.stamped")
        since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(sent - 60))
        command = f"edge-agent export --what readings --sensor 5A2D --format jsonl --from {since}"
        self._machine.wait(lambda: self._machine.code(command)[1].count('"sensor"') == 50, "50 readings")
        return "50 readings without a stamp waited, over a kill -9, and got the right time"

    def is_purged(self) -> str:
        """Removing keeps settings, bundles and journal; purging keeps nothing and asks nothing."""
        machine = self._machine
        machine.run("apt-get remove -q -y edge-agent < /dev/null")
        assert machine.code("systemctl is-active edge-agent")[0] != 0
        machine.run("test -f /etc/edge-agent/bundles/5A2D.bundle -a -f /var/lib/edge-agent/journal.db")
        machine.run("apt-get purge -q -y edge-agent < /dev/null")
        machine.run(
            "test ! -e /etc/edge-agent -a ! -e /var/lib/edge-agent -a ! -e /var/lib/private/edge-agent"
        )
        return "nothing left"
