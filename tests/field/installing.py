"""A new gateway: the package, its settings, and an agent that systemd calls active."""

import time
from collections.abc import Iterable

from tests.field.gateway import FEED
from tests.field.machine import HOST
from tests.field.package import configure, install
from tests.field.van import Van

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
"""
ADDRESSES = """[Service]
IPAddressAllow=
IPAddressAllow=localhost
"""
# In the control group of the agent, whose addresses are limited: is a packet sent or refused?
SEND = """echo $$ > /sys/fs/cgroup/system.slice/edge-agent.service/cgroup.procs
exec python3 - ADDRESS <<END
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
    end.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    try:
        end.sendto(b"", (sys.argv[1], 9))
    except PermissionError:
        print("refused")
    else:
        print("sent")
END
"""
DYNAMIC = range(61_184, 65_520)  # systemd's numbers for DynamicUser
USERS = ("van-1", "5A2D", "5CB6", "consumer")


def boots(van: Van) -> str:
    """Debian starts, and its clock is synchronised."""
    seconds = van.machine.boot()
    van.synchronise()
    return f"ssh after {seconds:.0f} s"


def installs(van: Van) -> str:
    """The package enables the agent and does not start it before there are settings."""
    machine = van.machine
    began = time.monotonic()
    install(machine)
    seconds = time.monotonic() - began
    assert machine.code("systemctl is-enabled edge-agent")[1] == "enabled"
    assert machine.code("systemctl is-active edge-agent")[1] == "inactive"
    return f"{seconds:.0f} s"


def is_configured(van: Van) -> str:
    """A broker with users, a secret that only root can read, settings in edge-agent.d."""
    machine = van.machine
    _broker(van)
    machine.run("install -m 600 /dev/null /etc/edge-agent/secrets/broker-password")
    machine.put("pw-van-1\n", "/etc/edge-agent/secrets/broker-password")
    machine.run("mkdir -p /etc/systemd/system/edge-agent.service.d")
    machine.put(UNIT, "/etc/systemd/system/edge-agent.service.d/override.conf")
    machine.run("systemctl daemon-reload")
    machine.put(FEED, "/srv/feed.py")
    configure(machine, van.bundle, SETTINGS)
    return "started"


def _broker(van: Van) -> None:
    examples = "/usr/share/doc/edge-agent/examples"
    van.machine.run(f"cp {examples}/mosquitto.conf {examples}/mosquitto.acl /etc/mosquitto/")
    files = "/etc/mosquitto/passwords /etc/mosquitto/mosquitto.acl"
    van.machine.run(f"touch {files} && chown mosquitto: {files} && chmod 600 {files}")
    for user in USERS:
        van.machine.run(f"mosquitto_passwd -b /etc/mosquitto/passwords {user} pw-{user}")
    van.machine.run("systemctl enable --now mosquitto")


def is_active_by_notify(van: Van) -> str:
    """Type=notify, an account of its own that no file has, and a credential that reaches the broker."""
    gateway, machine = van.gateway, van.machine
    gateway.wait_active()
    gateway.wait_event("broker.connected")
    assert (gateway.show("Type"), gateway.show("DynamicUser")) == ("notify", "yes")
    assert machine.code("grep -q edge-agent /etc/passwd")[0] == 1
    assert int(van.gateway.user()) in DYNAMIC
    machine.wait(lambda: "connected" in gateway.show("StatusText"), "a status line", 60)
    rss = int(machine.run(f"ps -o rss= -p {gateway.pid()}")) / 1024
    return f"{gateway.show('StatusText')}; {van.gateway.started_in():.1f} s from exec to READY, {rss:.0f} MB"


def is_barely_exposed(van: Van) -> str:
    """systemd's own judgement: at most 1.3 of 10; the agent's /proc has only processes."""
    line = van.machine.run("systemd-analyze security --no-pager edge-agent | tail -1")
    exposure = float(line.split(":")[1].split()[0])
    assert exposure <= 1.3, line
    listed = van.machine.run(f"nsenter --mount --target {van.gateway.pid()} ls /proc").split()
    assert "sys" not in listed, listed
    return f"exposure {exposure}"


def reaches_only_allowed_addresses(van: Van) -> str:
    """No multicast or broadcast as it is shipped; with the lines of docs/operations.md only the broker."""
    shipped = {"127.0.0.1": "sent", HOST: "sent", "224.0.0.251": "refused", "255.255.255.255": "refused"}
    assert (found := _sent(van, shipped)) == shipped, found
    van.machine.put(ADDRESSES, "/etc/systemd/system/edge-agent.service.d/addresses.conf")
    van.machine.run("systemctl daemon-reload && systemctl restart edge-agent")
    narrow = {"127.0.0.1": "sent", HOST: "refused"}
    assert (found := _sent(van, narrow)) == narrow, found
    van.machine.wait(lambda: "connected" in van.gateway.show("StatusText"), "connected", 60)
    return f"{shipped}, then {narrow}"


def _sent(van: Van, addresses: Iterable[str]) -> dict[str, str]:
    return {each: van.machine.run(SEND.replace("ADDRESS", each)) for each in addresses}
