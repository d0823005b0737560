"""What many tests need: a small real model, a broker, and the end of every process they start."""

import os

# Before numpy is imported, also by the programs that tests start. Test workers use all cores already, and
# with more threads than cores OpenBLAS takes six times the CPU.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Where compiled modules are not cached, each program that a test starts compiles all of ours again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# A make that a test starts is nobody's sub-make.
os.environ.pop("MAKEFLAGS", None)
os.environ.pop("MAKELEVEL", None)

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from paho.mqtt.client import Client

from edge_agent.core.model import Interval, Model, Scale
from tests.support import needs, processes
from tests.support.broker import Broker, client, make_broker

# The same examples in every run of a commit; no limit of time, which a busy machine would exceed.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
# New examples in every run: make test PYTEST=--hypothesis-profile=searching
settings.register_profile("searching", deadline=None, max_examples=1_000)
settings.load_profile("repeatable")

# Files that take more than half a minute.
SLOWEST = {
    *("test_demo.py", "test_readme.py", "test_faults.py", "test_agent.py"),
    *(
        "test_commands.py",
        "test_evaluation.py",
        "test_resuming.py",
        "test_command.py",
        "test_examination.py",
        "test_revisions.py",
    ),
    *("test_real_recordings.py", "test_network.py", "test_install.py", "test_baselines.py", "test_city.py"),
}


def make_model(sensor: str = "5A2D", support: int = 32, seed: int = 0, **changes: Any) -> Model:
    """A model with every field filled in, as an exporter would; `changes` replace fields."""
    rng = np.random.default_rng(seed)
    fields: dict[str, Any] = {
        "sensor": sensor,
        "gas": "CO",
        "unit": "ppm",
        "channels": ("op1", "op2"),
        "kernel": "matern32",
        "length_scale": 0.7,
        "channel_scales": (Scale(231.4, 20.1), Scale(206.1, 11.3)),
        "auxiliary_scale": Scale(24.3, 6.2),
        "target_scale": Scale(0.83, 0.41),
        "support": np.linspace(-2.0, 2.0, support),
        "coefficients": rng.normal(size=(3, support)) / 10,
        "trend": np.array([[1.2, 0.1], [-0.7, 0.05], [0.02, 0.01]]),
        "interval": Interval(0.12, 0.9),
        "domain": {"op1": (180.0, 300.0), "op2": (170.0, 240.0), "temperature": (8.0, 40.0)},
        "provenance": {
            "dataset": "T-W",
            "n": 2431,
            "support": support,
            "r2": 0.971,
            "from": "2023-10-05",
            "to": "2023-12-20",
            "exporter": "respire-edge 0.1.0",
        },
    }
    return Model(**{**fields, **changes})


def make_warming_model(sensor: str = "5A2D", seed: int = 0, **changes: Any) -> Model:
    """The same with two channels that are not measured."""
    rng, sound = np.random.default_rng(seed), make_model(sensor, seed=seed)
    fields: dict[str, Any] = {
        "channels": (*sound.channels, "warming_1h", "warming_4h"),
        "warming": {"warming_1h": 3_600_000, "warming_4h": 14_400_000},
        "channel_scales": (*sound.channel_scales, Scale(0.1, 0.8), Scale(0.2, 2.1)),
        "coefficients": rng.normal(size=(5, 32)) / 10,
        "trend": np.array([[1.2, 0.1], [-0.7, 0.05], [-0.2, 0.01], [0.1, 0.0], [0.02, 0.01]]),
        "domain": {**sound.domain, "warming_1h": (-5.0, 5.0), "warming_4h": (-9.0, 9.0)},
    }
    return make_model(sensor, seed=seed, **{**fields, **changes})


@pytest.fixture
def model() -> Model:
    """A sound model of sensor 5A2D."""
    return make_model()


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Whatever becomes of a test, the processes it started end with it."""
    before = len(processes.STARTED)
    yield
    processes.end_since(before)


def pytest_unconfigure() -> None:
    """The same for what fixtures of modules and of the session started."""
    processes.end_since(0)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """A real broker of this test's own (unless one is given), in the order README names."""
    made = make_broker(needs.kind_of_broker(), tmp_path / "broker")
    yield made
    made.remove()


@pytest.fixture
def van(broker: Broker) -> Iterator[Client]:
    """A client at the broker."""
    with client(broker) as made:
        yield made


@pytest.fixture
def durable_broker(broker: Broker) -> Broker:
    """A broker that can be stopped and started and keeps its sessions meanwhile."""
    if not broker.persistent:
        pytest.skip(f"needs a durable broker: {broker.name} keeps no sessions over a restart")
    return broker


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    needs.require("root")
    place = tmp_path / "tiny"
    place.mkdir()
    processes.run_program(["mount", "-t", "tmpfs", "-o", "size=4m", "none", place], check=True)
    yield place
    processes.run_program(["umount", "--lazy", place], check=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of durability are those that stop a broker or rely on what it keeps."""
    for item in items:
        if "durable_broker" in getattr(item, "fixturenames", ()):
            item.add_marker("durable")
    # A worker that begins a slow file last keeps the others waiting.
    items.sort(key=lambda item: item.path.name not in SLOWEST)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The closing summary: the broker, the browser, why tests were skipped, how many of durability ran."""
    skipped = terminalreporter.getreports("skipped")
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped, {reason}")
    finished = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    ran, left_out = (sum("durable" in report.keywords for report in these) for these in (finished, skipped))
    terminalreporter.write_line(f"{needs.summary()}; tests of durability: {ran} ran, {left_out} did not")
