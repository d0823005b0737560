"""What some tests need beside Python, and what is not tested without it.

`python -m tests.support.needs` prints in one line what is missing here. A test calls `require` where it uses
something, so every skipped test has a reason.
"""

import contextlib
import functools
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.brokers import mosquitto
from tests.support import browser, confine

RECORDINGS = Path(os.environ.get("RESPIRE_DATA", Path(__file__).parents[3] / "shared" / "data"))
BY_THE_MINUTE = (
    "metasense-elcajon-1[12].*",
    "metasense-*-as-delivered*",
    "airsenseur-ispra-??????.*",
    "satvam-*",
)


@dataclass(frozen=True, slots=True)
class Need:
    """Something outside Python: whether it is installed, and what is not tested without it."""

    there: Callable[[], bool]
    cost: str


def _program(*names: str) -> Callable[[], bool]:
    return lambda: all(shutil.which(name) for name in names)


def _can_mount() -> bool:
    return os.geteuid() == 0 and shutil.which("mount") is not None


def _dynamic_security() -> bool:
    return dynamic_security_plugin() is not None


def dynamic_security_plugin() -> Path | None:
    """mosquitto's plugin that can refuse a subscription, from the system or installed by `make`."""
    places = [Path("/usr/lib"), Path(str(mosquitto())).parent.parent / "mosquitto" / "usr" / "lib"]
    found = (path for place in places for path in place.glob("**/mosquitto_dynamic_security.so"))
    return next(found, None)


NEEDS = {
    "mosquitto": Need(lambda: mosquitto() is not None, "no test of durability, access lists and TLS"),
    "chromium": Need(lambda: browser.chromium_path() is not None, "no test of the dashboard in a browser"),
    "npm": Need(_program("npm"), "no dashboard"),
    "openssl": Need(_program("openssl"), "no test of TLS"),
    "systemd-analyze": Need(_program("systemd-analyze"), "no test of the systemd unit"),
    "libseccomp": Need(lambda: confine.LIBRARY is not None, "no test with denied system calls"),
    "strace": Need(_program("strace"), "no test with a disk that fails to read"),
    "root": Need(_can_mount, "no test with a full disk"),
    "mosquitto's dynamic security plugin": Need(_dynamic_security, "no test of a refused subscription"),
    "prometheus": Need(_program("prometheus", "promtool"), "no test of metrics and their alerts"),
    "node_exporter": Need(_program("prometheus-node-exporter"), "no test of metrics on their way"),
    "influxdb": Need(_program("influxd"), "no test of the consumer that writes to InfluxDB"),
    "homeassistant": Need(_program("hass"), "no test of discovery with Home Assistant"),
    "node-red": Need(_program("node-red"), "no test of the flow for Node-RED"),
    "real recordings": Need(lambda: any(RECORDINGS.glob("*.csv.gz")), "no test on real recordings"),
}


@functools.cache
def is_there(name: str) -> bool:
    """Whether this machine has it; cached."""
    return NEEDS[name].there()


def require(*names: str) -> None:
    """Skip the test unless the machine has all of these."""
    for name in names:
        if not is_there(name):
            pytest.skip(_reason(name))


def _reason(name: str) -> str:
    return f"needs {name}: {NEEDS[name].cost} without"


def real_recordings() -> list[Any]:
    """Parameters of a test: the real recordings with one row a minute."""
    found = sorted(path for pattern in BY_THE_MINUTE for path in RECORDINGS.glob(pattern))
    missing = pytest.param(None, marks=pytest.mark.skip(reason=_reason("real recordings")), id="none")
    return [pytest.param(path, id=path.name.split(".")[0]) for path in found] or [missing]


@functools.cache
def docker_answers() -> bool:
    """Whether a Docker engine runs, not only its client."""
    import docker  # type: ignore[import-untyped]

    if "DOCKER_HOST" not in os.environ and not Path("/var/run/docker.sock").exists():
        return False
    try:
        with contextlib.closing(docker.from_env(timeout=5)) as engine:
            engine.ping()
    except docker.errors.DockerException:
        return False
    return True


def kind_of_broker() -> str:
    """Which broker this run uses: EDGE_AGENT_TEST_BROKER, a container, mosquitto, or else amqtt."""
    chosen = os.environ.get("EDGE_AGENT_TEST_BROKER", "")
    if chosen in ("container", "mosquitto", "amqtt"):
        return chosen
    if chosen:
        return "given"
    if docker_answers():
        return "container"
    return "mosquitto" if is_there("mosquitto") else "amqtt"


def summary() -> str:
    """One line: the broker, the browser, and what is missing."""
    missing = [f"{name} ({need.cost})" for name, need in NEEDS.items() if not is_there(name)]
    without = f"missing: {', '.join(missing)}" if missing else "nothing is missing"
    return f"broker: {kind_of_broker()}; browser: {browser.chromium_path() or 'none'}; {without}"


if __name__ == "__main__":
    print(summary())
