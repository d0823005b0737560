"""The agent at work: estimates, its commands, its settings and bundles."""

import time
from pathlib import Path

from tests.field.van import Van

OTHER_BUNDLE = "tests/edge_agent/core/golden/format-1.bundle"
PASSWORD = "/srv/password"  # noqa: S105 - of a person who is not root


def estimates(van: Van) -> str:
    """Fifteen minutes of readings become a value."""
    start = int(time.time()) // 900 * 900 - 3_600
    lines = [
        f'{{"at": {start + 60 * minute}, "op1": 231.4, "op2": 206.1, "temperature": 24.3}}'
        for minute in range(18)
    ]
    van.machine.put("\n".join(lines) + "\n", "/run/readings")
    van.machine.run("mosquitto_pub -u 5A2D -P pw-5A2D -q 1 -t sensors/5A2D -l < /run/readings")
    closed = "journalctl -u edge-agent -b -o cat | grep window.closed | grep 5A2D"
    van.machine.wait(lambda: van.machine.code(closed)[0] == 0, "window.closed")
    estimate = van.machine.run("edge-agent export --sensor 5A2D --format jsonl | head -1")
    assert '"value":0' in estimate.replace(" ", ""), estimate
    return estimate[:60]


def answers_an_ordinary_user(van: Van) -> str:
    """check and status say what they cannot see, status --broker works with a password of one's own."""
    machine = van.machine
    as_visitor = "sudo -u visitor"
    code, text = machine.code(f"{as_visitor} edge-agent check")
    assert code == 0, f"check: exit {code}: {text}"
    code, text = machine.code(f"{as_visitor} edge-agent status")
    assert (code, "try sudo" in text) == (1, True), f"status: exit {code}: {text}"
    machine.put("pw-van-1\n", PASSWORD)
    machine.run(f"chown visitor {PASSWORD} && chmod 600 {PASSWORD}")
    password = f"EDGE_AGENT_BROKER__PASSWORD_FILE={PASSWORD}"
    code, text = machine.code(f"{as_visitor} {password} edge-agent status --broker")
    assert (code, '"agent"' in text) == (0, True), f"status --broker: exit {code}: {text}"
    assert machine.code("edge-agent status")[0] == 0
    return "check 0, status asks for sudo, status --broker 0"


def waits_after_exit_78(van: Van) -> str:
    """A wrong setting stops it for good, with one line that names the file and the key."""
    file = "/etc/edge-agent/edge-agent.d/wrong.toml"
    van.machine.put("[windows]\nlength_s = 100\n", file)
    van.machine.code("systemctl restart edge-agent")
    time.sleep(8)
    found = [van.gateway.show(name) for name in ("ActiveState", "ExecMainStatus", "NRestarts")]
    assert found == ["failed", "78", "0"], found
    line = van.machine.run("journalctl -u edge-agent -b -p err -o cat | grep length_s | tail -1")
    assert line == f"edge-agent: {file}: windows.length_s: expected a multiple of 60, got 100", line
    van.machine.run(f"rm {file} && systemctl start edge-agent")
    return line


def reloads_a_bundle(van: Van) -> str:
    """A changed bundle serves after systemctl reload."""
    van.machine.put(Path(OTHER_BUNDLE), "/etc/edge-agent/bundles/.new")
    van.machine.run("cd /etc/edge-agent/bundles && mv .new 5A2D.bundle && systemctl reload edge-agent")
    van.gateway.wait_event("bundle.loaded", 30)
    van.machine.put(van.bundle, "/etc/edge-agent/bundles/.new")
    van.machine.run("cd /etc/edge-agent/bundles && mv .new 5A2D.bundle")
    return "bundle.loaded"


def stops_in_order(van: Van) -> str:
    """systemctl stop ends it with success, in a few seconds."""
    began = time.monotonic()
    van.machine.run("systemctl stop edge-agent")
    seconds = time.monotonic() - began
    assert van.gateway.has_event("agent.stopped")
    assert (van.gateway.show("Result"), van.gateway.show("ExecMainStatus")) == ("success", "0")
    van.machine.run("systemctl start edge-agent")
    return f"{seconds:.1f} s"
