"""Every page: its links lead somewhere, its lines are short, and the table of rooms is the tested one."""

import re
from pathlib import Path

import pytest

from tests.test_rooms import ROOMS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "deploy/dashboard/README.md"]
LINK = re.compile(r"\]\((?!https?:)([^)]+)\)")


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as hosting sites make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_are_at_most_110_columns(page: Path) -> None:
    """Tables, code and addresses may be longer."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    long = [
        line for line in text.splitlines() if len(line) > 110 and not re.match(r"\s*\||    |.*https?:", line)
    ]
    assert long == []


def test_the_rooms_of_the_architecture_are_those_that_are_tested() -> None:
    rows = re.findall(
        r"^\| `([\w.]+)` \|.*\| (.*) \|$", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE
    )
    described = {room: set(re.findall(r"`([\w.]+)`", imports)) for room, imports in rows}
    assert described == {room: imports for room, imports in ROOMS.items() if room != "model_export"}
