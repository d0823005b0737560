"""docs/integrations.md names what there is: every metric, and files that exist."""

import re
from pathlib import Path

from edge_agent.prometheus import exposition
from tests.edge_agent.test_prometheus import HEALTH

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "integrations.md").read_text()


def test_every_metric_is_described_in_order() -> None:
    told = re.findall(r"^# TYPE (\w+)", exposition(HEALTH, running=True), re.MULTILINE)
    assert re.findall(r"^\| `(edge_agent_\w+)` \|", TEXT, re.MULTILINE) == told


def test_every_file_it_names_is_there() -> None:
    for name in set(re.findall(r"deploy/[\w./*-]+\w", TEXT)):
        assert list(ROOT.glob(name)) or list(ROOT.glob(f"{name}*")), name
