"""What happens to an agent: no broker, a kill, a hang, no memory, a full disk."""

import time

from tests.field.van import Van


def is_ready_without_a_broker(van: Van) -> str:
    """READY does not wait for the broker: a boot never waits for the agent's connection."""
    van.machine.run("systemctl stop mosquitto && systemctl restart edge-agent")
    seconds = van.gateway.started_in()
    assert van.gateway.show("ActiveState") == "active"
    assert not van.gateway.has_event("agent.failed")
    van.machine.run("systemctl start mosquitto")
    van.machine.wait(lambda: "connected" in van.gateway.show("StatusText"), "connected", 60)
    return f"active {seconds:.1f} s after exec"


def survives_kill_9(van: Van) -> str:
    """Nothing is lost or doubled, and systemd restarts it."""
    load, pid = van.gateway.load(), van.gateway.pid()
    time.sleep(1.5)
    began = time.monotonic()
    van.machine.run(f"kill -9 {pid}")
    van.gateway.wait_active(pid)
    seconds = time.monotonic() - began
    return f"active again after {seconds:.0f} s; {load.arrived()}"


def is_restarted_by_the_watchdog(van: Van) -> str:
    """An agent that hangs is killed and started again."""
    load, pid = van.gateway.load(), van.gateway.pid()
    began = time.monotonic()
    van.machine.run(f"kill -STOP {pid}")
    van.gateway.wait_active(pid, 180)
    seconds = time.monotonic() - began
    assert "watchdog" in van.machine.run("journalctl -u edge-agent -b -o cat | grep -i watchdog")
    return f"active again after {seconds:.0f} s; {load.arrived()}"


def survives_no_memory(van: Van) -> str:
    """The kernel's killer ends it; with memory it continues."""
    pid = van.gateway.pid()
    van.machine.run("systemctl set-property --runtime edge-agent MemoryMax=20M")
    load = van.gateway.load()
    logged = "journalctl -u edge-agent -b -o cat | grep -q oom-kill"
    van.machine.wait(lambda: van.machine.code(logged)[0] == 0, "oom-kill")
    van.machine.run("systemctl set-property --runtime edge-agent MemoryMax=200M")
    van.gateway.wait_active(pid)
    return load.arrived()


def survives_a_full_disk(van: Van) -> str:
    """It stays active, acknowledges nothing, and continues when there is space."""
    van.machine.code("fallocate -l $(df --output=avail -B1 / | tail -1) /srv/fill; sync")
    pid, load = van.gateway.pid(), van.gateway.load()
    try:
        # The system's log has no space either; its status line is in memory.
        van.machine.wait(lambda: "refuses" in van.gateway.show("StatusText"), "the status line")
        assert (van.gateway.show("ActiveState"), van.gateway.pid()) == ("active", pid)
    finally:
        van.machine.run("rm -f /srv/fill")
    return load.arrived()
