"""What people do to a gateway: move it, upgrade it, reboot it without the time, remove it."""

import time

from tests.field.machine import BOOT_S
from tests.field.van import Van


def moves_its_state(van: Van) -> str:
    """A copy of the state directory, made by root, works on another gateway; systemd sets the owner."""
    before = van.machine.run("edge-agent export 2>/dev/null | wc -l")
    van.machine.run("systemctl stop edge-agent && cp -r /var/lib/edge-agent/. /srv/moved")
    van.machine.run("rm -rf /var/lib/private/edge-agent /var/lib/edge-agent")
    van.machine.run("cp -r /srv/moved /var/lib/edge-agent && rm -r /srv/moved")
    van.machine.run("systemctl start edge-agent")
    van.gateway.wait_active()
    owner = van.machine.run("stat -c %u /var/lib/private/edge-agent/journal.db")
    after = van.machine.run("edge-agent export 2>/dev/null | wc -l")
    assert (owner, after) == (van.gateway.user(), before), (owner, before, after)
    return f"{int(after) - 1} estimates, {van.gateway.load().arrived()}"


def upgrades_under_load(van: Van) -> str:
    """A newer package replaces it and restarts it, while readings come."""
    pid, load = van.gateway.pid(), van.gateway.load(seconds=60)
    began = time.monotonic()
    van.machine.run("apt-get install -q -y --no-install-recommends /srv/newer.deb", 1800)
    seconds = time.monotonic() - began
    assert van.machine.run("edge-agent --version") == "edge-agent 99.0"
    van.gateway.wait_active(pid)
    assert "van-1" in van.machine.run("cat /etc/edge-agent/edge-agent.d/van.toml")
    return f"{seconds:.0f} s; {load.arrived()}"


def survives_a_reboot(van: Van) -> str:
    """It is active after a boot, and the boot does not wait for it longer than it starts."""
    load, boot = van.gateway.load(seconds=1), van.machine.run("cat /proc/sys/kernel/random/boot_id")
    said = load.arrived()
    van.machine.code("systemctl reboot")
    question = "cat /proc/sys/kernel/random/boot_id"
    van.machine.wait(lambda: van.machine.code(question)[1] not in ("", boot), "a new boot", BOOT_S)
    van.gateway.wait_active(seconds=BOOT_S)
    waited = van.machine.run("systemctl show -p ActiveEnterTimestampMonotonic --value multi-user.target")
    active = int(van.gateway.show("ActiveEnterTimestampMonotonic")) / 1e6
    figures = f"READY {active:.1f} s after the kernel, {van.gateway.started_in():.1f} s after exec"
    return f"{figures}; multi-user.target at {int(waited) / 1e6:.1f} s; {said}; {load.arrived()}"


def waits_for_the_clock(van: Van) -> str:
    """After a boot with a wrong clock, readings without a stamp wait, and then have the right time."""
    van.machine.power_off()
    van.ntp.answers = False
    van.machine.boot("-rtc", "base=2020-01-01T00:00:00")
    van.gateway.wait_active()
    van.gateway.wait_event("clock.unsynchronised")
    send = "seq 50 | mosquitto_pub -u 5A2D -P pw-5A2D -q 1 -t sensors/5A2D/op1 -l"
    van.machine.wait(lambda: van.machine.code(send)[0] == 0, "a broker")
    sent = time.time()
    pid = van.gateway.pid()
    van.machine.run(f"sleep 3; kill -9 {pid}")
    van.gateway.wait_active(pid)
    van.ntp.answers = True
    van.synchronise()
    van.gateway.wait_event("readings.stamped")
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(sent - 60))
    command = f"edge-agent export --what readings --sensor 5A2D --format jsonl --from {since}"
    van.machine.wait(lambda: van.machine.code(command)[1].count('"sensor"') == 50, "50 readings")
    return "50 readings without a stamp waited, over a kill -9, and got the right time"


def is_purged(van: Van) -> str:
    """Removing keeps settings, bundles and journal; purging keeps nothing and asks nothing."""
    machine = van.machine
    machine.run("apt-get remove -q -y edge-agent < /dev/null")
    assert machine.code("systemctl is-active edge-agent")[0] != 0
    machine.run("test -f /etc/edge-agent/bundles/5A2D.bundle -a -f /var/lib/edge-agent/journal.db")
    machine.run("apt-get purge -q -y edge-agent < /dev/null")
    machine.run("test ! -e /etc/edge-agent -a ! -e /var/lib/edge-agent -a ! -e /var/lib/private/edge-agent")
    return "nothing left"
