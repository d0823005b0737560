"""docs/SECURITY.md: every attack has something that stops it, and a test that exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "SECURITY.md").read_text()
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows() -> list[list[str]]:
    """The cells of every attack."""
    lines = [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith("| attack")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_row_has_an_attack_a_defence_and_a_test() -> None:
    assert len(rows()) >= 25
    for row in rows():
        assert len(row) == 3, row
        assert all(row), row
        assert TEST.sub("", row[2]).strip(", ") == "", row[2]


def test_the_tests_exist() -> None:
    for file, name in TEST.findall(TEXT):
        functions = {
            node.name
            for node in ast.parse((ROOT / file).read_text()).body
            if isinstance(node, ast.FunctionDef)
        }
        assert name in functions, f"{file}::{name}"


def test_the_threats_of_a_van_in_the_field_are_there() -> None:
    headings = re.findall(r"^### (.+)$", TEXT, re.MULTILINE)
    for word in ("stolen", "network", "city broker", "sensor", "bundle", "recording"):
        assert any(word in heading for heading in headings), word
