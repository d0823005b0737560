"""The systemd unit: valid, barely exposed, and an agent that works inside its walls."""

import json
import sys
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from edge_agent.clock import BOOT_ID, Clock
from edge_agent.settings import DEFAULT_FILE, Settings
from edge_agent.terminal import CONFIGURATION
from tests.support.broker import AgentProcess, Broker, client, wait_until
from tests.support.needs import require
from tests.support.processes import run_program

UNIT = Path(__file__).parents[2] / "deploy" / "edge-agent.service"
OPERATIONS = UNIT.parents[1] / "docs" / "operations.md"
INSTALLED = "/opt/edge-agent/bin/edge-agent"


def values(key: str) -> list[str]:
    """Every value of a key, in order."""
    pairs = (line.partition("=") for line in UNIT.read_text().splitlines() if not line.startswith("#"))
    return [value for name, _, value in pairs if name == key]


def analyze(*arguments: str | Path) -> CompletedProcess[str]:
    require("systemd-analyze")
    return run_program(["systemd-analyze", *arguments], capture_output=True, text=True)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that exists on this machine."""
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace(INSTALLED, sys.executable))
    return copy


def test_systemd_finds_nothing_wrong_with_the_unit(unit: Path) -> None:
    told = analyze("verify", unit)
    assert (told.returncode, told.stderr) == (0, "")


def exposed(unit: Path) -> None:
    """Whether systemd gives at most 1.3, which is 13 tenths; 10.0 is the worst."""
    told = analyze("security", "--offline=yes", "--threshold=13", unit)
    assert told.returncode == 0, told.stdout


def test_the_unit_is_barely_exposed(unit: Path) -> None:
    """What is left is the network, which is its job, and asking the clock."""
    exposed(unit)


def test_the_lines_of_the_document_leave_the_addresses_they_name(unit: Path) -> None:
    """An empty line takes back what the unit allows; without it they would add to that."""
    lines = [line.strip() for line in OPERATIONS.read_text().splitlines() if line.startswith("    IPAddress")]
    assert lines == ["IPAddressAllow=", "IPAddressAllow=localhost"]
    drop_in = unit.with_name(f"{unit.name}.d") / "override.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("\n".join(["[Service]", *lines, ""]))
    exposed(unit)
    told = json.loads(analyze("security", "--offline=yes", "--json=short", unit).stdout)
    [found] = [row["description"] for row in told if row["name"] == "IPAddressDeny="]
    assert found == "Service defines IP address allow list with only localhost entries"


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        *((each, True) for each in ("127.0.0.1", "10.0.0.5", "100.64.0.1", "169.254.7.7", "192.0.0.1")),
        *((each, True) for each in ("172.16.0.1", "192.168.1.1", "203.0.113.9", "223.255.255.255")),
        *((each, True) for each in ("::1", "64:ff9b::cb00:7109", "2001:db8::1", "fd00::1", "fe80::1")),
        *((each, False) for each in ("224.0.0.251", "239.1.1.1", "255.255.255.255", "ff02::fb", "ff0e::1")),
    ],
)
def test_the_unit_allows_every_address_of_one_machine(address: str, allowed: bool) -> None:
    networks = [ip_network(each) for value in values("IPAddressAllow") for each in value.split()]
    assert values("IPAddressDeny") == ["any"]
    assert any(ip_address(address) in network for network in networks) == allowed


def test_the_unit_and_the_agent_agree() -> None:
    """On where things are, on the exit code that ends it, and on a watchdog longer than the loop naps."""
    settings = Settings()
    assert f"/var/lib/{values('StateDirectory')[0]}" == str(settings.state)
    assert f"/etc/{values('ConfigurationDirectory')[0]}" == str(DEFAULT_FILE.parent)
    assert settings.bundles.parent == DEFAULT_FILE.parent
    assert values("RestartPreventExitStatus") == [str(CONFIGURATION)]
    assert values("Type") == ["notify"]
    assert int(values("WatchdogSec")[0]) >= 10
    assert values("ProtectClock") == [], "it denies adjtimex"
    assert f"{BOOT_ID}=%b" in values("Environment")


def allowed_calls() -> list[str]:
    """The system calls that the unit leaves, with systemd's sets spelt out."""
    allowed: set[str] = set()
    for value in values("SystemCallFilter"):
        calls = {call for word in value.removeprefix("~").split() for call in _expanded(word)}
        allowed = allowed - calls if value.startswith("~") else allowed | calls
    return sorted(allowed)


def _expanded(word: str) -> Iterator[str]:
    if not word.startswith("@"):
        yield word
        return
    for line in analyze("syscall-filter", word).stdout.splitlines()[1:]:
        if (inner := line.strip()) and not inner.startswith("#"):
            yield from _expanded(inner)


def test_the_filter_leaves_the_question_whether_the_clock_is_synchronised() -> None:
    """The C library asks by either name; only setting the clock is for others."""
    allowed = set(allowed_calls())
    assert {"adjtimex", "clock_adjtime", "clock_adjtime64"} <= allowed
    assert not {"settimeofday", "clock_settime", "mount", "ptrace", "setuid"} & allowed


def test_the_agent_works_under_the_units_own_filter_of_system_calls(tmp_path: Path, broker: Broker) -> None:
    """It starts, journals a reading, asks the kernel's clock and stops, with what the unit denies denied."""
    require("libseccomp")
    (tmp_path / "bundles").mkdir()
    often = "[health]\ninterval_s = 0.2\n"
    agent = AgentProcess(tmp_path / "agent", broker.port, tmp_path / "bundles", often)
    agent.config.write_text(agent.config.read_text().replace('"trusted"', '"kernel"'))
    limits = json.dumps({"allow": allowed_calls(), "no_exec_memory": True})
    agent.start_within([sys.executable, "-m", "tests.support.confine", limits])
    agent.wait_for("broker.connected")
    told: list[dict[str, object]] = []
    with client(broker) as ear:
        ear.on_message = lambda *message: told.append(json.loads(message[2].payload))
        ear.subscribe("respire/van-1/health", qos=1)
        ear.publish("sensors/5A2D/op1", '{"value": 231.4, "at": "2024-02-01T10:15:30Z"}', qos=1)
        wait_until(lambda: told and told[-1]["readings"]["accepted"] == 1, what="a reading")  # type: ignore[index]
    assert agent.stop() == 0
    assert told[-1]["clock"] == ("synchronised" if Clock().synchronised() else "unsynchronised")
