"""docs/operations.md has every event, exit code and number of the code, and no other."""

import ast
import re
from pathlib import Path

from edge_agent import commit, log, maintenance, publisher, terminal
from edge_agent.core import problems
from edge_agent.core.windows import MAX_TOTAL, Outcome
from edge_agent.settings import Settings

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "operations.md").read_text()
ON_ONE_LINE = " ".join(TEXT.split())


def first_column(heading: str) -> list[str]:
    table = TEXT.split(f"\n| {heading} |")[1].split("\n\n")[0]
    return [line.split("|")[1].strip().strip("`") for line in table.splitlines()[2:]]


def test_every_log_event_is_explained_and_no_other() -> None:
    """Events are the string literals of the form noun.past_participle, and reading.{outcome}."""
    events = {f"reading.{kind}" for kind in Outcome if kind not in ("accepted", "duplicate")}
    for file in (ROOT / "edge_agent").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and re.fullmatch(r"[a-z]+\.(?!db$|toml$)[a-z_]+", text):
                events.add(text)
    assert sorted(first_column("event")) == sorted(events)


def test_every_exit_code_is_explained() -> None:
    assert [int(code) for code in first_column("code")] == [
        terminal.DONE,
        terminal.FAILED,
        2,
        terminal.CONFIGURATION,
    ]


def test_every_problem_is_explained() -> None:
    assert first_column("problem") == list(problems.ADVICE)
    assert f"less than {problems.FREE_BYTES // 1_000_000} MB left" in ON_ONE_LINE
    assert f"more than {problems.WAITED_S // 60} minutes" in ON_ONE_LINE


def test_the_numbers_are_those_of_the_code() -> None:
    settings = Settings()
    windows, journal = settings.windows, settings.journal
    for words in (
        f"| `grace_s` | {windows.grace_s:g} |",
        f"| `patience_s` | {windows.patience_s:g} |",
        f"| `future_s` | {windows.future_s:g} |",
        f"after `keep_days` ({journal.keep_days:g})",
        f"Above `max_mb` ({journal.max_mb})",
        f"or after every {journal.commit_messages} messages (`commit_messages`)",
        f"At most {commit.MAX_HELD:,} readings wait".replace(",", " "),
        f"{publisher.IN_FLIGHT} in flight",
        f"{MAX_TOTAL:,} in all open windows".replace(",", " "),
    ):
        assert words in ON_ONE_LINE, words
    assert (journal.commit_ms, maintenance.LOOK_MS, log.EVERY_MS) == (1_000, 2_000, 10_000)


def test_every_file_it_names_is_there() -> None:
    for name in set(re.findall(r"deploy/[\w.-]+\w", TEXT)):
        assert (ROOT / name).is_file(), name
