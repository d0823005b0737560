"""docs/architecture.md lists how a message and a recording pass through the code; here both are followed."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from edge_agent.agent import Agent
from edge_agent.clock import Clock
from edge_agent.core import bundle
from edge_agent.settings import Settings
from model_export.cli.main import main
from tests.conftest import make_warming_model
from tests.support.agents import Collector, readings, send
from tests.support.broker import Broker, client, wait_until
from tests.support.recordings import saved, tidy

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text()
MOST_CALLS, MOST_FILES = 25, 19
# called in the same iterations of the loop, but neither with the message nor with what became of it
BESIDE = {
    *("commit.GroupCommit.due", "commit.GroupCommit.patience_ms", "commit.GroupCommit.add_delivered"),
    *("change.Change.__bool__", "outbox.Outbox.waiting", "maintenance.Maintenance.run_due"),
    *("revising.Revising.due", "revising.Revising.busy", "revisions.Revisions.due"),
    "revisions.Revisions.any_wait",
    "kernel.gram",  # the curves of the model card
    *("publisher.Publisher.answer", "publisher.Publisher.settle", "publisher.Publisher.announce"),
}
BESIDE_FILES = {
    "averaging",
    "derivations",
    "clock",
    "log",
    "maintenance",
    "systemd",
    "health",
    "history",
    "topics",
    "card",
    "model_changes",
}


@contextmanager
def following(note: Callable[[FrameType], None]) -> Iterator[None]:
    """Every Python call of this thread goes to `note`."""
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: note(frame) if event == "call" else None)
    try:
        yield
    finally:
        sys.setprofile(before)


def place(frame: FrameType | None) -> str:
    """`edge_agent/core/windows` for a frame of this project's, otherwise nothing."""
    file = frame.f_code.co_filename if frame else ""
    return str(Path(file).relative_to(ROOT).with_suffix("")) if file.startswith(f"{ROOT}/") else ""


def section(title: str) -> str:
    return TEXT.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_a_message_goes_the_way_that_is_drawn(tmp_path: Path, broker: Broker) -> None:
    """From the inbox to the published estimate: the calls from one file of the agent into another."""
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles/5A2D.bundle").write_bytes(bundle.encode(make_warming_model()))
    settings = Settings.model_validate(
        {
            "agent": "van-1",
            "clock": "trusted",
            "bundles": tmp_path / "bundles",
            "state": tmp_path / "state",
            "broker": {"port": broker.port},
        }
    )
    agent = Agent(settings, Clock(trusted=True))
    agent.start()
    calls: set[tuple[str, str]] = set()

    def note(frame: FrameType) -> None:
        caller, callee = place(frame.f_back), place(frame)
        if caller != callee and caller.startswith("edge_agent/") and callee.startswith("edge_agent/"):
            function = f"{Path(callee).name}.{frame.f_code.co_qualname}"
            calls.add((caller.removeprefix("edge_agent/"), function))

    with client(broker) as consumer:
        collector = Collector(consumer)
        wait_until(lambda: stepped(agent) and agent._subscribed)
        for reading in readings(minutes=17, sensors=("5A2D",)):
            send(consumer, reading)
        with following(note):
            wait_until(lambda: stepped(agent) and collector.estimates)
    agent.stop()
    way = {
        (caller, callee)
        for caller, callee in calls
        if callee not in BESIDE and not {Path(caller).name, callee.split(".")[0]} & BESIDE_FILES
    }
    listed = re.findall(r"^\d+\. `([\w/]+)` → `([\w.]+)`", section("A message's way"), flags=re.MULTILINE)
    assert set(listed) == way
    assert len(listed) <= MOST_CALLS


def is_of_doctor(frame: FrameType | None) -> bool:
    """Whether a file of the doctor's is here, or further up the calls."""
    while frame is not None:
        if place(frame).startswith("model_export/doctor/"):
            return True
        frame = frame.f_back
    return False


def stepped(agent: Agent) -> bool:
    """One iteration of the loop."""
    agent.step()
    return True


def test_a_recording_goes_the_way_that_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the file to the bundle: every file of the trainer whose code runs.

    The doctor counts as one, with all that it calls.
    """
    recording = saved(tidy(windows=200), tmp_path / "5A2D.csv")
    files: set[str] = set()

    def note(frame: FrameType) -> None:
        inside, imported = place(frame), frame.f_code.co_name == "<module>"
        if inside.startswith("model_export/") and not imported:
            files.add("doctor" if is_of_doctor(frame) else inside.removeprefix("model_export/"))

    line = ["fit", str(recording), "--sensor", "5A2D", "--unit", "ppm"]
    assert main([*line, "--out", str(tmp_path / "imports everything.bundle")]) == 0
    with following(note):
        assert main([*line, "--out", str(tmp_path / "5A2D.bundle")]) == 0
    capsys.readouterr()
    listed = re.findall(r"^\d+\. `([\w/]+)`", section("A recording's way"), flags=re.MULTILINE)
    assert set(listed) == files
    assert len(listed) <= MOST_FILES
